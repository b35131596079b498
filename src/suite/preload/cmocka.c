// Preloaded into a program that uses cmocka (LD_PRELOAD), this lists its cases or runs one of
// them: cmocka has a filter, but no way to set it from outside. It replaces cmocka's function
// that runs a group, and passes on the selected cases.
//
//   TRACELET_CASES=list        prints the names, one per line, and runs nothing
//   TRACELET_CASES="run NAME"  runs the case NAME
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// As <cmocka.h> has it since 1.0; nothing else of cmocka is needed here.
struct CMUnitTest {
	const char *name;
	void (*test)(void **state);
	int (*setup)(void **state);
	int (*teardown)(void **state);
	void *initial_state;
};

typedef int run_group(const char *group, const struct CMUnitTest *tests, size_t count,
		      int (*setup)(void **state), int (*teardown)(void **state));

__attribute__((visibility("default"))) run_group _cmocka_run_group_tests;

static int list(const struct CMUnitTest *tests, size_t count) {
	for (size_t i = 0; i < count; i++)
		if (tests[i].name && tests[i].test)
			printf("%s\n", tests[i].name);
	fflush(stdout);
	return 0;
}

int _cmocka_run_group_tests(const char *group, const struct CMUnitTest *tests, size_t count,
			    int (*setup)(void **state), int (*teardown)(void **state)) {
	const char *wanted = getenv("TRACELET_CASES");
	run_group *run = NULL;
	*(void **)&run = dlsym(RTLD_NEXT, "_cmocka_run_group_tests");
	if (wanted && strcmp(wanted, "list") == 0)
		return list(tests, count);
	if (!run)
		return 1;
	if (!wanted || strncmp(wanted, "run ", 4) != 0)
		return run(group, tests, count, setup, teardown);
	struct CMUnitTest *chosen = calloc(count + 1, sizeof(*chosen));
	size_t found = 0;
	for (size_t i = 0; chosen && i < count; i++)
		if (tests[i].name && strcmp(tests[i].name, wanted + 4) == 0)
			chosen[found++] = tests[i];
	// A group without it need not be set up.
	int failed = found ? run(group, chosen, found, setup, teardown) : 0;
	free(chosen);
	return failed;
}
