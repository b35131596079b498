// The meaning of a crash's numbers on Linux.
#pragma once

#include <stddef.h>
#include <stdint.h>

// "SIGSEGV"; NULL if the signal is not that of a crash.
const char *crash_signal_name(uint32_t signal);

// "SIGSEGV, address 0x10 is not mapped", "SIGABRT", "SIGFPE, integer division by zero",
// "SIGSEGV, sent by process 17".
void crash_words(uint32_t signal, int32_t code, uint64_t address, uint32_t pid, char *words, size_t size);
