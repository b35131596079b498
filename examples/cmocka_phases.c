// cmocka with the listener: a test that passes in two phases, and one that fails
// in the middle of a phase.
#include "cmocka_listener.h"

static void test_shallow(void **state) {
	(void)state;
	tl_slice_begin("load");
	tl_slice_end();
	tl_slice_begin("parse");
	tl_slice_end();
}

static void test_deep(void **state) {
	(void)state;
	tl_slice_begin("parse");
	assert_int_equal(1, 2);
	tl_slice_end(); // not reached: the end of the case ends the slice
}

int main(void) {
	const struct CMUnitTest tests[] = {TRACED(test_shallow), TRACED(test_deep)};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
