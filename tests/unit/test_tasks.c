// The tasks that already exist when a recording begins.
#include "spool_keeper.h"

#include "capture/tasks.h"

#include <sys/prctl.h>

static void test_this_process_is_there_with_its_odd_name(void **state) {
	prctl(PR_SET_NAME, "a) (b 7");
	struct spool spool = open_spool(in_folder("spool"));
	spool_tasks(&spool, getpid());
	spool_close(&spool);
	prctl(PR_SET_NAME, "test_tasks");
	struct keeper keeper;
	read_file(&keeper, in_folder("spool"));
	assert_int_equal(count_kind(&keeper, EVENT_TASK), 1);
	const struct event *task = nth(&keeper, EVENT_TASK, 0);
	assert_int_equal(task->tid, getpid());
	assert_int_equal(task->pid, getpid());
	assert_int_equal(task->task.parent_pid, getppid());
	assert_string_equal(TEXT(&keeper, task->task.name), "a) (b 7");
	assert_non_null(strstr(TEXT(&keeper, task->task.command_line), "test_tasks"));
	keeper_free(&keeper);
}

static void test_a_process_that_is_gone_is_nothing(void **state) {
	pid_t pid = fork();
	if (pid == 0)
		_exit(0);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	struct buffer line = {0};
	task_command_line(pid, &line);
	assert_int_equal(line.size, 0);
	buffer_free(&line);
	struct spool spool = open_spool(in_folder("spool"));
	spool_tasks(&spool, pid);
	spool_close(&spool);
	struct keeper keeper;
	read_file(&keeper, in_folder("spool"));
	assert_int_equal(count_kind(&keeper, EVENT_TASK), 0);
	keeper_free(&keeper);
}

static void test_all_processes_are_there_with_this_one(void **state) {
	struct spool spool = open_spool(in_folder("spool"));
	spool_tasks(&spool, 0);
	spool_close(&spool);
	struct keeper keeper;
	read_file(&keeper, in_folder("spool"));
	bool found = false;
	for (size_t i = 0; i < keeper.events.count; i++)
		found |= keeper.events.items[i].kind == EVENT_TASK &&
			 keeper.events.items[i].tid == (uint32_t)getpid();
	assert_true(found);
	assert_string_equal(keeper.said, "");
	keeper_free(&keeper);
}

// A child and its child; both live until the pipe they hold is closed.
static void test_a_tree_has_grandchildren_and_leaves_out_one_child(void **state) {
	int ends[2], told[2];
	pid_t grandchild, other;
	assert_int_equal(pipe(ends), 0);
	assert_int_equal(pipe(told), 0);
	pid_t child = fork();
	if (child == 0) {
		close(ends[1]);
		pid_t inner = fork();
		if (inner && write(told[1], &inner, sizeof(inner)) != sizeof(inner))
			_exit(1);
		char byte;
		ssize_t got = read(ends[0], &byte, 1); // returns when the parent closes its end
		if (inner)
			waitpid(inner, NULL, 0);
		_exit(got == 0 ? 0 : 1);
	}
	if ((other = fork()) == 0) {
		close(ends[1]);
		char byte;
		_exit(read(ends[0], &byte, 1) == 0 ? 0 : 1);
	}
	assert_int_equal(read(told[0], &grandchild, sizeof(grandchild)), sizeof(grandchild));
	pid_array tree = {0};
	task_tree(getpid(), other, &tree);
	close(ends[1]);
	assert_int_equal(waitpid(child, NULL, 0), child);
	assert_int_equal(waitpid(other, NULL, 0), other);
	assert_int_equal(tree.count, 3);
	assert_int_equal(tree.items[0], getpid());
	assert_int_equal(tree.items[1], child);
	assert_int_equal(tree.items[2], grandchild);
	array_free(&tree);
	close(ends[0]);
	close(told[0]);
	close(told[1]);
}

int main(void) {
	const struct CMUnitTest tests[] = {
		IN_FOLDER(test_this_process_is_there_with_its_odd_name),
		IN_FOLDER(test_a_process_that_is_gone_is_nothing),
		cmocka_unit_test(test_a_tree_has_grandchildren_and_leaves_out_one_child),
		IN_FOLDER(test_all_processes_are_there_with_this_one),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
