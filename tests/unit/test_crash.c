// Crashes: the meaning of their numbers, their way to the trace; and which processes belong to a
// test.
#include "aside.h"

#include "event/crash.h"
#include "flow/convert.h"
#include "process/tree.h"
#include "sample_spool.h"

#include <sys/prctl.h>

static void assert_words(uint32_t signal, int32_t code, uint64_t address, const char *expected) {
	char words[128];
	crash_words(signal, code, address, 17, words, sizeof(words));
	assert_string_equal(words, expected);
}

static void test_a_crash_in_words(void **state) {
	assert_words(11, 1, 0x10, "SIGSEGV, address 0x10 is not mapped");
	assert_words(11, 2, 0x7fff00000000, "SIGSEGV, address 0x7fff00000000 does not permit this access");
	assert_words(11, 128, 0, "SIGSEGV");
	assert_words(7, 2, 0x1000, "SIGBUS, address 0x1000 is beyond the end of its file");
	assert_words(8, 1, 0x401000, "SIGFPE, integer division by zero");
	assert_words(6, -6, 17, "SIGABRT");
	assert_words(6, 0, 18, "SIGABRT, sent by process 18");
	assert_words(64, 5, 1, "signal 64");
}

static void test_only_faults_and_aborts_are_crashes(void **state) {
	static const int crashes[] = {4, 5, 6, 7, 8, 11, 31};
	size_t found = 0;
	for (uint32_t signal = 0; signal < 100; signal++)
		found += crash_signal_name(signal) != NULL;
	assert_int_equal(found, ARRAY_SIZE(crashes));
	for (size_t i = 0; i < ARRAY_SIZE(crashes); i++)
		assert_non_null(crash_signal_name((uint32_t)crashes[i]));
}

// ---- from the spool to the trace ----

static void add_crash(struct buffer *spool, uint32_t size) {
	static struct record_crash crash;
	crash = (struct record_crash){.head = {.kind = RECORD_CRASH, .size = (uint16_t)size},
				      .tid = 18,
				      .pid = 17,
				      .signal = 11,
				      .code = 1,
				      .address = 0x10,
				      .name = "culprit"};
	size_t mark = batch_begin(spool, 0, SAMPLE_START + 500);
	buffer_append(spool, &crash, size);
	batch_end(spool, mark);
}

static void add_stack(struct buffer *spool, uint64_t time, const char *text, size_t size) {
	struct buffer content = {0};
	struct spool_crash crash = {.time = time, .tid = 18};
	buffer_append(&content, &crash, sizeof(crash));
	buffer_append(&content, text, size);
	add_block(spool, SPOOL_CRASH, content.data, content.size);
	buffer_free(&content);
}

// Converts a spool; what is logged goes to `said`.
static struct input convert_spool(struct buffer *spool, char **said) {
	struct conversion conversion = {
		.input = in_folder("a.spool"), .output = in_folder("a.pb"), .writer = &perfetto_writer};
	struct conversion_result result;
	struct input trace;
	put_file(conversion.input, spool->data, spool->size);
	struct captured captured = capture_begin();
	assert_int_equal(convert(&conversion, &result), 0);
	*said = capture_end(captured);
	assert_int_equal(input_open(&trace, conversion.output), 0);
	buffer_free(spool);
	return trace;
}

static bool has(const struct input *trace, const char *text) {
	return memmem(trace->data, trace->size, text, strlen(text)) != NULL;
}

static void test_a_crash_and_its_stack_are_in_the_trace(void **state) {
	struct buffer spool = {0};
	char *said;
	spool_begin(&spool, SAMPLE_START);
	add_crash(&spool, sizeof(struct record_crash));
	add_stack(&spool, SAMPLE_START + 500, "#0 inner\n#1 main\n", 18);
	add_stack(&spool, SAMPLE_START + 501, "#0 of another crash\n", 21);
	struct input trace = convert_spool(&spool, &said);
	assert_true(has(&trace, "crash: SIGSEGV, address 0x10 is not mapped"));
	assert_true(has(&trace, "#0 inner\n#1 main\n"));
	assert_false(has(&trace, "of another crash"));
	assert_string_equal(said, "");
	input_close(&trace);
	free(said);
}

static void test_a_crash_without_a_stack_is_in_the_trace(void **state) {
	struct buffer spool = {0};
	char *said;
	spool_begin(&spool, SAMPLE_START);
	add_crash(&spool, offsetof(struct record_crash, modules)); // what the reader needs
	struct input trace = convert_spool(&spool, &said);
	assert_true(has(&trace, "crash: SIGSEGV"));
	assert_string_equal(said, "");
	input_close(&trace);
	free(said);
}

static void test_crashes_that_are_cut_off_are_left_out(void **state) {
	struct buffer spool = {0};
	char *said;
	spool_begin(&spool, SAMPLE_START);
	add_crash(&spool, 64);
	add_stack(&spool, SAMPLE_START, "no end", 6);
	add_block(&spool, SPOOL_CRASH, "", 0);
	struct input trace = convert_spool(&spool, &said);
	assert_false(has(&trace, "crash"));
	assert_non_null(strstr(said, "3 records could not be decoded"));
	input_close(&trace);
	free(said);
}

// ---- the processes of a test ----

static pid_t spawn_sleeper(void) {
	pid_t pid = fork();
	if (pid == 0) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		prctl(PR_SET_NAME, "a) R 1 1 (b"); // a name that looks like more fields
		for (;;)
			pause();
	}
	return pid;
}

static bool is_in(const struct processes *processes, pid_t pid) {
	for (size_t i = 0; i < processes->list.count; i++)
		if (processes->list.items[i].pid == pid)
			return true;
	return false;
}

static void test_the_tree_is_what_came_after_it_began(void **state) {
	struct tree tree;
	struct processes found = {0};
	int status;
	pid_t stranger = spawn_sleeper();
	tree_begin(&tree);
	pid_t own = spawn_sleeper(), tracer = spawn_sleeper();
	tree.tracer = tracer;
	tree_list(&tree, &found);
	assert_int_equal(found.list.count, 1);
	assert_true(is_in(&found, own));
	assert_int_equal(tree_signal(&found, SIGKILL), 1);
	siginfo_t ended;
	assert_int_equal(waitid(P_PID, (id_t)own, &ended, WEXITED | WNOWAIT), 0);
	tree_list(&tree, &found); // a zombie no longer belongs to it
	assert_int_equal(found.list.count, 0);
	pid_t others[] = {own, tracer, stranger};
	for (size_t i = 0; i < ARRAY_SIZE(others); i++) {
		kill(others[i], SIGKILL);
		assert_int_equal(waitpid(others[i], &status, 0), others[i]);
	}
	array_free(&found.list);
	tree_free(&tree);
}

static void test_an_id_that_is_another_process_now_gets_no_signal(void **state) {
	struct tree tree;
	struct processes found = {0};
	tree_begin(&tree);
	pid_t pid = spawn_sleeper();
	tree_list(&tree, &found);
	assert_int_equal(found.list.count, 1);
	found.list.items[0].start--; // as if it had started at another time
	assert_int_equal(tree_signal(&found, SIGKILL), 0);
	found.list.items[0].start++;
	assert_int_equal(tree_signal(&found, SIGKILL), 1);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	assert_int_equal(tree_signal(&found, SIGKILL), 0);
	array_free(&found.list);
	tree_free(&tree);
}

int main(void) {
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_crash_in_words),
		cmocka_unit_test(test_only_faults_and_aborts_are_crashes),
		IN_FOLDER(test_a_crash_and_its_stack_are_in_the_trace),
		IN_FOLDER(test_a_crash_without_a_stack_is_in_the_trace),
		IN_FOLDER(test_crashes_that_are_cut_off_are_left_out),
		cmocka_unit_test(test_the_tree_is_what_came_after_it_began),
		cmocka_unit_test(test_an_id_that_is_another_process_now_gets_no_signal),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
