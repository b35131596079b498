// Which sessions are recording, according to a folder of small files, whatever happened to the
// processes that wrote them.
#include "aside.h"

#include "session/state.h"

#include <errno.h>
#include <sched.h>
#include <sys/stat.h>

static int begin(void **state) {
	if (folder_setup(state))
		return -1;
	setenv("TRACELET_STATE_DIR", in_folder("state"), 1);
	return 0;
}

static struct state session(const char *name, bool operation) {
	struct state state = {.operation = operation, .artifact = "/out/a b.pb", .spool = "/out/a b.spool"};
	snprintf(state.name, sizeof(state.name), "%s", name);
	snprintf(state.marks, sizeof(state.marks), "/proc/1/fd/2:3");
	return state;
}

static const char *state_file(const char *name) {
	CLEANUP_FREE char *path = memory_format("state/%s", name);
	return in_folder(path);
}

static size_t listed(state_array *sessions) {
	*sessions = (state_array){0};
	assert_int_equal(state_list(sessions), 0);
	return sessions->count;
}

static size_t list_count(void) {
	state_array sessions;
	size_t count = listed(&sessions);
	array_free(&sessions);
	return count;
}

// ---- one session ----

static void test_a_session_that_registers_is_listed_with_all_it_said(void **state) {
	struct state own = session("mine", true);
	state_array sessions;
	assert_int_equal(state_register(&own), 0);
	assert_int_equal(listed(&sessions), 1);
	const struct state *found = &sessions.items[0];
	assert_string_equal(found->name, "mine");
	assert_true(found->operation);
	assert_int_equal(found->pid, getpid());
	assert_string_equal(found->artifact, own.artifact);
	assert_string_equal(found->spool, own.spool);
	assert_string_equal(found->socket, own.socket);
	assert_string_equal(found->marks, own.marks);
	assert_int_equal(found->since, own.since);
	assert_false(found->stale);
	array_free(&sessions);
}

static void test_it_is_gone_when_it_is_removed_and_can_be_removed_once(void **state) {
	struct state own = session("mine", true);
	snprintf(own.log, sizeof(own.log), "%s", in_folder("log"));
	put_file(own.log, "", 0);
	assert_int_equal(state_register(&own), 0);
	put_file(own.socket, "", 0);
	assert_true(state_remove(&own));
	assert_false(state_remove(&own));
	assert_int_equal(list_count(), 0);
	assert_int_equal(access(own.log, F_OK), -1);
	assert_int_equal(access(own.socket, F_OK), -1);
}

static void test_tests_may_share_a_name_and_operations_may_not(void **state) {
	struct state test = session("one", false), operation = session("one", true),
		     again = session("one", true);
	assert_int_equal(state_register(&test), 0);
	assert_int_equal(state_register(&operation), 0);
	assert_int_equal(list_count(), 2);
	assert_int_equal(state_register(&again), 0);
	assert_int_equal(list_count(), 2);
}

static void test_the_earliest_comes_first(void **state) {
	struct state own = session("late", true);
	state_array sessions;
	assert_int_equal(state_register(&own), 0);
	static const char early[] = "{\"name\":\"early\",\"operation\":true,\"pid\":7,\"since\":5}\n";
	put_file(state_file("early.session"), early, strlen(early));
	assert_int_equal(listed(&sessions), 2);
	assert_string_equal(sessions.items[0].name, "early");
	array_free(&sessions);
}

// ---- processes that have ended ----

static bool is_stale_with(const char *key, const char *value) {
	struct state own = session("mine", true);
	state_array sessions;
	assert_int_equal(state_register(&own), 0);
	CLEANUP_FREE char *command = memory_format("sed -i 's/\"%s\":[^,}]*/\"%s\":%s/' %s", key, key, value,
						   state_file("mine.session"));
	assert_int_equal(system(command), 0);
	assert_int_equal(listed(&sessions), 1);
	bool stale = sessions.items[0].stale;
	array_free(&sessions);
	return stale;
}

static void test_a_session_of_another_boot_is_stale(void **state) {
	assert_true(is_stale_with("boot", "\"00000000-0000-0000-0000-000000000000\""));
}

static void test_a_number_that_another_process_has_now_is_stale(void **state) {
	assert_true(is_stale_with("started", "1"));
}

static void test_nothing_else_makes_it_stale(void **state) {
	assert_false(is_stale_with("since", "1"));
}

static void test_a_tracer_that_was_killed_leaves_a_stale_session(void **state) {
	state_array sessions;
	pid_t child = fork();
	if (child == 0) {
		struct state own = session("killed", true);
		_exit(state_register(&own) ? 1 : 0);
	}
	int status = -1;
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
	assert_int_equal(listed(&sessions), 1);
	assert_int_equal(sessions.items[0].pid, child);
	assert_true(sessions.items[0].stale);
	array_free(&sessions);
}

// ---- files that are not ours ----

static void test_what_is_no_session_is_left_alone(void **state) {
	static const char *const contents[] = {"",
					       "\n\n\n",
					       "no equals sign",
					       "name = only a name\n",
					       "pid = 5\n",
					       "name = zero\npid = 0\n",
					       "name = minus\npid = -1\n",
					       " = \n",
					       "\xff\xfe = \x80\n"};
	assert_int_equal(list_count(), 0);
	for (size_t i = 0; i < ARRAY_SIZE(contents); i++) {
		CLEANUP_FREE char *name = memory_format("%zu.session", i);
		put_file(state_file(name), contents[i], strlen(contents[i]));
	}
	put_file(state_file("not.one"), "name = a\npid = 5\n", 17);
	put_file(state_file(".session"), "", 0);
	assert_int_equal(list_count(), 0);
	assert_int_equal(mkdir(state_file("folder.session"), 0700), 0);
	assert_int_equal(list_count(), 0);
}

static void test_a_file_with_a_value_that_is_too_long_is_ignored(void **state) {
	static const char *const keys[] = {"name", "boot", "artifact", "marks", "instance"};
	assert_int_equal(list_count(), 0); // the folder is created
	for (size_t i = 0; i < ARRAY_SIZE(keys); i++) {
		struct buffer text = {0};
		buffer_printf(&text, "{\"name\":\"long\",\"operation\":true,\"pid\":5,\"%s\":\"", keys[i]);
		for (int byte = 0; byte < 10000; byte++)
			buffer_append(&text, "x", 1);
		buffer_printf(&text, "\"}\n");
		put_file(state_file("long.session"), text.data, text.size);
		buffer_free(&text);
		assert_int_equal(list_count(), 0);
	}
}

// ---- the folder ----

static void test_the_folder_is_the_users_alone(void **state) {
	char path[STATE_FOLDER_SIZE];
	struct stat status;
	assert_int_equal(state_folder(path), 0);
	assert_string_equal(path, in_folder("state"));
	assert_int_equal(stat(path, &status), 0);
	assert_int_equal(status.st_mode & 0777, 0700);
}

static void test_a_folder_that_others_may_write_to_is_refused(void **state) {
	char path[STATE_FOLDER_SIZE];
	state_array sessions = {0};
	struct state own = session("mine", true);
	assert_int_equal(mkdir(in_folder("state"), 0700), 0);
	assert_int_equal(chmod(in_folder("state"), 0777), 0);
	assert_int_equal(state_folder(path), -EACCES);
	assert_int_equal(state_register(&own), -EACCES);
	assert_int_equal(state_list(&sessions), -EACCES);
	assert_int_equal(state_lock("mine"), -EACCES);
}

static void test_a_link_in_its_place_is_refused(void **state) {
	char path[STATE_FOLDER_SIZE];
	assert_int_equal(mkdir(in_folder("elsewhere"), 0700), 0);
	assert_int_equal(symlink(in_folder("elsewhere"), in_folder("state")), 0);
	assert_int_equal(state_folder(path), -EACCES);
}

static void test_a_folder_that_leaves_no_room_for_a_socket_is_refused(void **state) {
	char path[STATE_FOLDER_SIZE], name[200];
	memset(name, 'n', sizeof(name) - 1);
	name[sizeof(name) - 1] = 0;
	setenv("TRACELET_STATE_DIR", in_folder(name), 1);
	assert_int_equal(state_folder(path), -ENAMETOOLONG);
}

// ---- one controller at a time ----

static bool is_asleep(pid_t pid) {
	char path[64], letter = 0;
	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	FILE *file = fopen(path, "re");
	assert_non_null(file);
	assert_int_equal(fscanf(file, "%*d (%*[^)]) %c", &letter), 1);
	fclose(file);
	return letter == 'S';
}

static void test_a_second_controller_waits_for_the_first(void **state) {
	bool *released = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	assert_ptr_not_equal(released, MAP_FAILED);
	int lock = state_lock("mine"), other = state_lock("other");
	assert_true(lock >= 0 && other >= 0); // another name means another lock
	pid_t child = fork();
	if (child == 0) {
		close(lock);
		close(other);
		_exit(state_lock("mine") >= 0 && *(volatile bool *)released ? 0 : 1);
	}
	while (!is_asleep(child))
		sched_yield();
	*(volatile bool *)released = true;
	close(lock);
	int status = -1;
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
	close(other);
	munmap(released, 4096);
}

static void test_a_lock_that_is_a_link_is_not_followed(void **state) {
	assert_int_equal(list_count(), 0);
	assert_int_equal(symlink(in_folder("elsewhere"), state_file("mine.lock")), 0);
	assert_int_equal(state_lock("mine"), -ELOOP);
	assert_int_equal(access(in_folder("elsewhere"), F_OK), -1);
}

#define WITH_STATE(test) cmocka_unit_test_setup_teardown(test, begin, folder_teardown)

int main(void) {
	const struct CMUnitTest tests[] = {
		WITH_STATE(test_a_session_that_registers_is_listed_with_all_it_said),
		WITH_STATE(test_it_is_gone_when_it_is_removed_and_can_be_removed_once),
		WITH_STATE(test_tests_may_share_a_name_and_operations_may_not),
		WITH_STATE(test_the_earliest_comes_first),
		WITH_STATE(test_a_session_of_another_boot_is_stale),
		WITH_STATE(test_a_number_that_another_process_has_now_is_stale),
		WITH_STATE(test_nothing_else_makes_it_stale),
		WITH_STATE(test_a_tracer_that_was_killed_leaves_a_stale_session),
		WITH_STATE(test_what_is_no_session_is_left_alone),
		WITH_STATE(test_a_file_with_a_value_that_is_too_long_is_ignored),
		WITH_STATE(test_the_folder_is_the_users_alone),
		WITH_STATE(test_a_folder_that_others_may_write_to_is_refused),
		WITH_STATE(test_a_link_in_its_place_is_refused),
		WITH_STATE(test_a_folder_that_leaves_no_room_for_a_socket_is_refused),
		WITH_STATE(test_a_second_controller_waits_for_the_first),
		WITH_STATE(test_a_lock_that_is_a_link_is_not_followed),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
