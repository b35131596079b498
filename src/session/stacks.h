// Stacks and cores of a test that hangs, each made by a program of its own and in
// bounded time: whatever becomes of that program, the test does not notice and we
// go on.
#pragma once

#include "session/test.h"
#include "session/tree.h"

// Writes the stacks of all threads of these processes to a new file; `title` is its
// first line. False: there is no file, and that was said.
bool stacks_save(struct test *test, const struct processes *processes, const char *title, const char *path);

// Writes a core of the test's first process to a new file of at most `limit` bytes,
// with gdb's gcore. False: there is none, and that was said.
bool stacks_save_core(struct test *test, size_t limit, const char *path);

// The path of tracelet-stacks, to be freed; NULL: it is not there.
char *stacks_program(void);
