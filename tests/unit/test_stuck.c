// What threads waited for at a time limit: from the text of saved stacks to a fact, and back.
#include "unit.h"

#include "format/stuck.h"

#include <stdio.h>

static const char stacks[] =
	"Stacks of test\n\n"
	"process 10: ./test\n"
	"  thread 10 \"test\": sleeping in futex_do_wait\n"
	"    waits for the end of thread 11 \"transfer\"\n"
	"    kernel futex_do_wait+0x46/0x90\n"
	"    #0   0x00007f538d7cdf16 main+0x1  /test+0x1\n"
	"  thread 11 \"transfer\": sleeping\n"
	"    waits for the lock 0x55bf7c149080 (bank::lock(int)+8), which is held by thread 12 \"report\"\n"
	"  thread 12 \"report\": sleeping\n"
	"    waits for the lock 0x55bf7c1490c0, which is held by thread 11 \"transfer\"\n"
	"\nprocess 13: cat\n"
	"  thread 13 \"cat\": sleeping\n"
	"    waits for descriptor 0: pipe:[17]\n"
	"  thread 14 \"cat\": sleeping\n"
	"    waits for descriptor 3: /tmp/file: name\n"
	"\ndescriptors\n"
	"  pipe:[17]: read by cat (13), written by test (10)\n";

static void assert_next(const char **fact, struct stuck expected) {
	struct stuck found;
	assert_true(stuck_next(fact, &found));
	assert_int_equal(found.tid, expected.tid);
	assert_int_equal(found.kind, expected.kind);
	assert_int_equal(found.other, expected.other);
	assert_int_equal(found.address, expected.address);
	assert_string_equal(found.words, expected.words);
}

static void test_stacks_become_a_fact(void **state) {
	struct buffer fact = {0};
	stuck_from_stacks(stacks, &fact);
	buffer_append(&fact, "", 1);
	const char *at = (const char *)fact.data;
	assert_next(&at, (struct stuck){.tid = 10, .kind = STUCK_THREAD, .other = 11});
	assert_next(&at, (struct stuck){.tid = 11,
					.kind = STUCK_LOCK,
					.other = 12,
					.address = 0x55bf7c149080,
					.words = "bank::lock(int)+8"});
	assert_next(&at,
		    (struct stuck){.tid = 12, .kind = STUCK_LOCK, .other = 11, .address = 0x55bf7c1490c0});
	assert_next(&at, (struct stuck){.tid = 13,
					.kind = STUCK_DESCRIPTOR,
					.words = "read by cat (13), written by test (10)"});
	assert_next(
		&at,
		(struct stuck){.tid = 14, .kind = STUCK_DESCRIPTOR, .other = 3, .words = "/tmp/file: name"});
	assert_false(stuck_next(&at, &(struct stuck){0}));
	buffer_free(&fact);
}

static void take(void *context, uint32_t pid, const char *target) {
	struct buffer *found = context;
	buffer_printf(found, "%u %s|", (unsigned)pid, target);
}

static void test_descriptors_have_their_process(void **state) {
	struct buffer found = {0};
	stuck_descriptors(stacks, take, &found);
	buffer_append(&found, "", 1);
	assert_string_equal(found.data, "13 pipe:[17]|13 /tmp/file: name|");
	buffer_free(&found);
}

static void test_lines_that_are_none_are_skipped(void **state) {
	const char *fact = "lock\n-1 thread\n7 lock 0x 3\n7 lock x 3 y\n\n8 descriptor\n9 thread 3";
	struct stuck found;
	assert_true(stuck_next(&fact, &found));
	assert_int_equal(found.tid, 9);
	assert_false(stuck_next(&fact, &found));
}

static void test_long_names_are_cut(void **state) {
	struct buffer text = {0}, fact = {0};
	buffer_text(&text, "process 1: x\n  thread 1 \"x\": y\n    waits for the lock 0x10 (");
	for (int i = 0; i < 2000; i++)
		buffer_text(&text, "n");
	buffer_text(&text, "), which is held by thread 2 \"z\"\n");
	buffer_append(&text, "", 1);
	stuck_from_stacks((const char *)text.data, &fact);
	buffer_append(&fact, "", 1);
	const char *at = (const char *)fact.data;
	struct stuck found;
	assert_true(stuck_next(&at, &found));
	assert_int_equal(strlen(found.words), sizeof(found.words) - 1);
	buffer_free(&text);
	buffer_free(&fact);
}

int main(void) {
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_stacks_become_a_fact),
		cmocka_unit_test(test_descriptors_have_their_process),
		cmocka_unit_test(test_lines_that_are_none_are_skipped),
		cmocka_unit_test(test_long_names_are_cut),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
