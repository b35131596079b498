// Names that are almost right.
#include "base/near.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static const char *nearest(const char *wanted, const char *const *names, size_t count) {
	static struct near_name near;
	near = (struct near_name){.wanted = wanted};
	for (size_t i = 0; i < count; i++)
		near_offer(&near, names[i]);
	return near.best;
}

static const char *const names[] = {"instructions", "cycles", "branches", "ipc"};

static void test_a_letter_too_few_or_too_many_is_found(void **state) {
	(void)state;
	assert_string_equal(nearest("instruction", names, 4), "instructions");
	assert_string_equal(nearest("Cyclles", names, 4), "cycles");
	assert_string_equal(nearest("ipx", names, 4), "ipc");
}

static void test_a_beginning_is_near(void **state) {
	(void)state;
	assert_string_equal(nearest("cyc", names, 4), "cycles");
	assert_string_equal(nearest("instr", names, 4), "instructions");
	assert_string_equal(nearest("in", names, 4), "");
}

static void test_another_name_is_not_near(void **state) {
	(void)state;
	assert_string_equal(nearest("page-faults", names, 4), "");
	assert_string_equal(nearest("abc", names, 4), "");
	assert_string_equal(nearest("", names, 4), "");
}

static void test_the_nearest_is_taken(void **state) {
	(void)state;
	static const char *const two[] = {"loads", "load", "loaded"};
	assert_string_equal(nearest("load", two, 3), "load");
}

static void test_names_of_any_length_are_safe(void **state) {
	(void)state;
	char longer[1000], words[100];
	memset(longer, 'a', sizeof(longer) - 1);
	longer[sizeof(longer) - 1] = 0;
	const char *const long_names[] = {longer};
	assert_string_equal(nearest(longer, names, 4), "");
	assert_string_equal(nearest("aaa", long_names, 1), "");
	longer[NEAR_LONGEST] = 0;
	assert_string_equal(nearest(longer, long_names, 1), longer);
	near_words(&(struct near_name){.wanted = "x"}, words, sizeof(words));
	assert_string_equal(words, "");
}

int main(void) {
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_letter_too_few_or_too_many_is_found),
		cmocka_unit_test(test_a_beginning_is_near),
		cmocka_unit_test(test_another_name_is_not_near),
		cmocka_unit_test(test_the_nearest_is_taken),
		cmocka_unit_test(test_names_of_any_length_are_safe),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
