// A core dump as a crash record, for a crash that the kernel did not report while it happened.
#pragma once

#include "format/record.h"

#include <stdbool.h>

// Fills in what an unwinder needs for the thread that crashed, and the top of its stack. False if the file is
// not a core of this machine. The file may contain anything.
bool core_record(int core, struct record_crash *record, uint8_t stack[CRASH_STACK_SIZE]);
