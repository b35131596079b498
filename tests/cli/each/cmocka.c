// Two groups, for test_each.sh: the second must not be set up for a case of the first.
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>

static void adds(void **state) {
	assert_int_equal(1 + 1, 2);
}

static void fails(void **state) {
	assert_int_equal(1, 2);
}

static void skips(void **state) {
	skip();
}

static int set_up_second(void **state) {
	puts("the second group is set up");
	return 0;
}

int main(void) {
	const struct CMUnitTest first[] = {cmocka_unit_test(adds), cmocka_unit_test(fails)};
	const struct CMUnitTest second[] = {cmocka_unit_test(skips)};
	return cmocka_run_group_tests(first, NULL, NULL) +
	       cmocka_run_group_tests(second, set_up_second, NULL);
}
