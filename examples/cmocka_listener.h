// cmocka has no listeners, only setup and teardown functions: TRACED() uses them to mark
// the beginning and end of a test. cmocka does not report the result of a test; so a test
// that reaches its end has passed, and any other has failed.
//
//     const struct CMUnitTest tests[] = {TRACED(test_shallow), TRACED(test_deep)};
//     return cmocka_run_group_tests(tests, NULL, NULL);
#pragma once

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <tracelet/mark.h>

struct traced_test {
	const char *name;
	CMUnitTestFunction function;
	int result;
};

static inline int traced_setup(void **state) {
	struct traced_test *test = *state;
	test->result = TL_FAILED;
	tl_test_begin(test->name);
	return 0;
}

static inline void traced_run(void **state) {
	struct traced_test *test = *state;
	void *own = NULL;
	test->function(&own);
	test->result = TL_PASSED;
}

static inline int traced_teardown(void **state) {
	struct traced_test *test = *state;
	tl_test_end(test->result);
	return 0;
}

// clang-format off
#define TRACED(test) \
	{#test, traced_run, traced_setup, traced_teardown, &(struct traced_test){#test, test, TL_FAILED}}
// clang-format on
