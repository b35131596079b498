// Processes that we started for ourselves and that may become our children, as the test's orphans
// do. They do not belong to the test.
#pragma once

#include <stdbool.h>
#include <sys/types.h>

void helper_add(pid_t pid);
void helper_remove(pid_t pid); // it has ended; its pid may be reused
bool helper_is(pid_t pid);
