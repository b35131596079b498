// The test as a Windows process, with everything that it starts in a job object.
#pragma once

#include "base/array.h"

#include <windows.h>

struct test {
	HANDLE process, thread;
	HANDLE job;  // NULL if its descendants cannot be followed
	HANDLE port; // where the job reports that it is empty
	DWORD pid;
};

// Creates the process, suspended. The command is the last `count` words of our own command line,
// byte for byte. 0 or a Windows error.
DWORD test_prepare(struct test *test, char **command, size_t count);
void test_begin(struct test *test);
void test_drop(struct test *test); // one that has not started

// False if the time is over. 0 seconds: no limit.
bool test_wait(struct test *test, double seconds);
bool test_wait_tree(struct test *test, double seconds); // for the whole job

typedef ARRAY(DWORD) process_array;
void test_processes(const struct test *test, process_array *processes); // the test itself first

void test_end_tree(struct test *test, UINT code);
double test_cpu_seconds(const struct test *test);
DWORD test_exit_code(const struct test *test);
void test_close(struct test *test);

// ---- for other commands ----

wchar_t *test_find_program(const char *name); // as a prompt would find it; to be freed; NULL if none
bool test_is_script(const wchar_t *path);     // run by cmd.exe
HANDLE test_make_job(void);                   // NULL on failure
