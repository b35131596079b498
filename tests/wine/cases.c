// A test program with cases, for `tracelet each`: it takes GoogleTest's options and prints what
// GoogleTest does.
//
//   --gtest_list_tests      lists the cases
//   --gtest_filter=NAME     runs one
//   --only NAME             the same; without any of these runs all quick ones, in TAP
//   test ...                acts as meson: lists its tests, or runs one with the words of --wrapper before it
//   introspect ...          acts as meson: describes its tests
//
// Every case appends a line to the file in the variable CASES_LOG when it begins and when it ends.
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <windows.h>

static int pass(void) {
	puts("what a good case prints");
	return 0;
}

static int fail(void) {
	puts("what a bad case prints");
	return 1;
}

static int *volatile nowhere;

static int crash(void) {
	return *nowhere;
}

static int skip(void) {
	puts("[  SKIPPED ] 1 test, listed below:");
	return 0;
}

static bool exists(const char *path) {
	return GetFileAttributesA(path) != INVALID_FILE_ATTRIBUTES;
}

// Passes if another case runs at the same time.
static int meet(const char *own, const char *other) {
	fclose(fopen(own, "w"));
	for (int i = 0; i < 300 && !exists(other); i++)
		Sleep(100);
	return !exists(other);
}

static int meet_left(void) {
	return meet("left", "right");
}

static int meet_right(void) {
	return meet("right", "left");
}

static BOOL WINAPI ignore(DWORD event) {
	return TRUE;
}

static int hang(void) {
	SetConsoleCtrlHandler(ignore, TRUE);
	puts("hanging");
	fflush(stdout);
	Sleep(INFINITE);
	return 0;
}

static const struct {
	const char *suite, *name, *comment;
	int (*run)(void);
	bool slow;
} cases[] = {
	{"Parser.", "Deep", "", pass, false},   {"Parser.", "Wide", "", fail, false},
	{"Parser.", "Skips", "", skip, false},  {"Parser.", "DISABLED_Later", "", fail, true},
	{"Crash.", "Writes", "", crash, true},  {"All/Sizes.", "Fit/0", "  # GetParam() = 1", pass, true},
	{"Meet.", "Left", "", meet_left, true}, {"Meet.", "Right", "", meet_right, true},
	{"Hang.", "Ignores", "", hang, true},
};

enum { COUNT = sizeof(cases) / sizeof(*cases) };

static void print_list(void) {
	puts("Running main() from cases.c");
	for (int i = 0; i < COUNT; i++) {
		if (i == 0 || strcmp(cases[i].suite, cases[i - 1].suite) != 0)
			puts(cases[i].suite);
		printf("  %s%s\n", cases[i].name, cases[i].comment);
	}
}

static void note(const char *what, int i) {
	FILE *log = getenv("CASES_LOG") ? fopen(getenv("CASES_LOG"), "a") : NULL;
	if (!log)
		return;
	fprintf(log, "%s %s%s\n", what, cases[i].suite, cases[i].name);
	fclose(log);
}

// As GoogleTest, or as TAP.
static void report(int status, const char *name, bool tap) {
	if (tap)
		printf("%sok 1 - %s\n", status ? "not " : "", name);
	else if (!status)
		puts("[  PASSED  ] 1 test.");
}

static int run_one(const char *wanted, bool tap) {
	char name[64];
	for (int i = 0; i < COUNT; i++) {
		snprintf(name, sizeof(name), "%s%s", cases[i].suite, cases[i].name);
		if (strcmp(name, wanted) != 0)
			continue;
		note("begin", i);
		int status = cases[i].run();
		note("end", i);
		report(status, name, tap);
		return status;
	}
	puts("[==========] Running 0 tests from 0 test suites.");
	return 0;
}

static int run_all(void) {
	int failed = 0;
	for (int i = 0; i < COUNT; i++) {
		if (cases[i].slow)
			continue;
		int status = cases[i].run();
		failed |= status;
		printf("%sok %d - %s%s\n", status ? "not " : "", i + 1, cases[i].suite, cases[i].name);
	}
	return failed;
}

// ---- meson ----

// Its tests are this program again, in another folder.
static int run_wrapped(const char *wrapper, const char *name) {
	char program[1024], line[8192];
	STARTUPINFOA startup = {.cb = sizeof(startup)};
	PROCESS_INFORMATION process;
	DWORD status = 99;
	GetModuleFileNameA(NULL, program, sizeof(program));
	snprintf(line, sizeof(line), "%s \"%s\" --only %s", wrapper, program, name);
	CreateDirectoryA("build folder", NULL);
	if (!CreateProcessA(NULL, line, NULL, NULL, TRUE, 0, NULL, "build folder", &startup, &process))
		return 98;
	WaitForSingleObject(process.hProcess, INFINITE);
	GetExitCodeProcess(process.hProcess, &status);
	printf("\nOk:                 %d\nFail:               %d\n", !status, !!status);
	return (int)status;
}

static int be_meson(int argc, char **argv) {
	const char *wrapper = NULL, *name = NULL;
	for (int i = 2; i < argc; i++) {
		if (strcmp(argv[i], "--list") == 0) {
			puts("ninja: no work to do.\nParser.Deep\nsome suite / Parser.Wide");
			return 0;
		}
		if (strncmp(argv[i], "--wrapper=", 10) == 0)
			wrapper = argv[i] + 10;
		else if (argv[i][0] != '-')
			name = argv[i];
	}
	return wrapper && name ? run_wrapped(wrapper, name) : 97;
}

int main(int argc, char **argv) {
	if (argc > 1 && strcmp(argv[1], "test") == 0)
		return be_meson(argc, argv);
	if (argc > 1 && strcmp(argv[1], "introspect") == 0) {
		puts("[{\"name\": \"Parser.Deep\"}, {\"is_parallel\": false, \"name\": \"Parser.Wide\"}]");
		return 0;
	}
	const char *last = argc > 1 ? argv[argc - 1] : "";
	if (strcmp(last, "--gtest_list_tests") == 0)
		print_list();
	else if (strncmp(last, "--gtest_filter=", 15) == 0)
		return run_one(last + 15, false);
	else if (argc > 2 && strcmp(argv[argc - 2], "--only") == 0)
		return run_one(last, true);
	else
		return run_all();
	return 0;
}
