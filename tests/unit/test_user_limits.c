// Which lines of limits.conf mean a user, and what they say.
#include "process/user_limits.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static bool is_developer(const char *group) {
	return strcmp(group, "developers") == 0;
}

static bool is_number_of_a_group(gid_t group) {
	return group == 100 || group == 4242;
}

static struct user_limits read_for(uid_t uid, const char *text) {
	const struct limits_owner user = {.name = uid ? "ann" : "root",
					  .uid = uid,
					  .gid = 100,
					  .is_member = is_developer,
					  .is_member_of_number = is_number_of_a_group};
	struct user_limits limits = {0};
	char copy[1024];
	FILE *file = fmemopen(copy, strlen(strcpy(copy, text)), "r");
	for (int i = 0; i < RLIM_NLIMITS; i++)
		limits.of[i] = (struct rlimit){7, 77};
	user_limits_read(&limits, &user, file);
	fclose(file);
	return limits;
}

// What the lines make of the limit for files of ann, whose number is 1000.
static void check_files(const char *text, rlim_t soft, rlim_t hard) {
	struct user_limits limits = read_for(1000, text);
	assert_int_equal(limits.of[RLIMIT_NOFILE].rlim_cur, soft);
	assert_int_equal(limits.of[RLIMIT_NOFILE].rlim_max, hard);
}

static void test_soft_hard_and_both(void **state) {
	(void)state;
	check_files("ann soft nofile 10\n", 10, 77);
	check_files("ann hard nofile 10\n", 7, 10);
	check_files("\tann  -\tnofile 10 # both\r\n", 10, 10);
	check_files("ANN - nofile 10\n#ann - nofile 11\n\n", 7, 77);
}

static void test_the_most_exact_line_counts_then_the_last(void **state) {
	(void)state;
	check_files("ann - nofile 1\n@developers - nofile 2\n* - nofile 3\n", 1, 1);
	check_files("@developers - nofile 2\n* - nofile 3\n", 2, 2);
	check_files("* - nofile 3\n* soft nofile 4\n", 4, 3);
	check_files("ann soft nofile 1\n* - nofile 3\n", 1, 3);
}

static void test_ranges(void **state) {
	(void)state;
	check_files("1000: - nofile 1\n", 1, 1);
	check_files(":1000 - nofile 1\n", 1, 1);
	check_files("500:2000 - nofile 1\n", 1, 1);
	check_files("1001:2000 - nofile 1\n:999 - nofile 1\n: - nofile 1\n", 7, 77);
	check_files("@:4242 - nofile 1\n", 1, 1);
	check_files("@4000:5000 - nofile 1\n", 7, 77); // only of the first group
	check_files("@99:101 - nofile 1\n", 1, 1);
}

static void test_others_are_not_meant(void **state) {
	(void)state;
	check_files("bob - nofile 1\n@staff - nofile 1\n% - nofile 1\n%developers - nofile 1\n", 7, 77);
}

static void test_root_needs_its_name(void **state) {
	(void)state;
	struct user_limits limits = read_for(0, "* - nofile 1\n@developers - nofile 1\nroot - nproc 5\n");
	assert_int_equal(limits.of[RLIMIT_NOFILE].rlim_cur, 7);
	assert_int_equal(limits.of[RLIMIT_NPROC].rlim_cur, 5);
}

static void test_units_and_no_limit(void **state) {
	(void)state;
	struct user_limits limits = read_for(
		1000, "* - core 2\n* - cpu 3\n* - as unlimited\n* - stack -1\n* - data infinity\n"
		      "* - nice -20\n* - nofile unlimited\n* - fsize 18446744073709551615\n");
	assert_int_equal(limits.of[RLIMIT_CORE].rlim_cur, 2048);
	assert_int_equal(limits.of[RLIMIT_CPU].rlim_max, 180);
	assert_true(limits.of[RLIMIT_AS].rlim_cur == RLIM_INFINITY);
	assert_true(limits.of[RLIMIT_STACK].rlim_max == RLIM_INFINITY);
	assert_true(limits.of[RLIMIT_DATA].rlim_cur == RLIM_INFINITY);
	assert_int_equal(limits.of[RLIMIT_NICE].rlim_cur, 40);
	assert_true(limits.of[RLIMIT_NOFILE].rlim_cur > 77 &&
		    limits.of[RLIMIT_NOFILE].rlim_cur != RLIM_INFINITY);
	assert_true(limits.of[RLIMIT_FSIZE].rlim_cur == RLIM_INFINITY);
}

static void test_wrong_lines_are_left_out(void **state) {
	(void)state;
	check_files("ann\nann -x nofile 3\nann - nofile\nann - nofile x\nann - nofile 3x\nann - nofile "
		    "-7\nann - files 3\n"
		    "ann - nofile 99999999999999999999999\n- - nofile 3\nann soft\n@ - nofile 3\n",
		    7, 77);
	assert_true(read_for(1000, "ann -\n").exempt);
	assert_false(read_for(1000, "bob -\n").exempt);
}

static void test_never_more_than_before_without_a_file(void **state) {
	(void)state;
	struct user_limits limits;
	user_limits_begin(&limits);
	for (int i = 0; i < RLIM_NLIMITS; i++) {
		struct rlimit now;
		assert_int_equal(getrlimit(i, &now), 0);
		assert_true(limits.of[i].rlim_cur <= now.rlim_cur && limits.of[i].rlim_max <= now.rlim_max);
	}
}

int main(void) {
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_soft_hard_and_both),
		cmocka_unit_test(test_the_most_exact_line_counts_then_the_last),
		cmocka_unit_test(test_ranges),
		cmocka_unit_test(test_others_are_not_meant),
		cmocka_unit_test(test_root_needs_its_name),
		cmocka_unit_test(test_units_and_no_limit),
		cmocka_unit_test(test_wrong_lines_are_left_out),
		cmocka_unit_test(test_never_more_than_before_without_a_file),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
