// Stacks and core dumps of a hanging test. Each is made by a separate program with a
// time limit: whatever happens to that program, the test is not affected and we
// continue.
#pragma once

#include "base/buffer.h"
#include "process/test.h"
#include "process/tree.h"

// Writes the stacks of all threads of these processes to a new file that starts with the
// line `title`. False if there is no file, after a warning.
bool stacks_save(struct test *test, const struct processes *processes, const char *title, const char *path);

// Writes a core dump of the test's first process to a new file of at most `limit` bytes,
// with gdb's gcore. False if there is none, after a warning.
bool stacks_save_core(struct test *test, size_t limit, const char *path);

// What the threads in saved stacks waited for, as the fact of format/stuck.h; nothing if that is unknown.
void stacks_stuck(const char *path, struct buffer *fact);

// The path of tracelet-stacks, to be freed, or NULL if it is not installed.
char *stacks_program(void);
