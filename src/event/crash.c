#include "event/crash.h"
#include "base/memory.h"

#include <inttypes.h>
#include <stdio.h>

enum { ILL = 4, TRAP = 5, ABRT = 6, BUS = 7, FPE = 8, SEGV = 11, SYS = 31 };

const char *crash_signal_name(uint32_t signal) {
	static const char *const names[] = {
		[ILL] = "SIGILL", [TRAP] = "SIGTRAP", [ABRT] = "SIGABRT", [BUS] = "SIGBUS",
		[FPE] = "SIGFPE", [SEGV] = "SIGSEGV", [SYS] = "SIGSYS"};
	return signal < ARRAY_SIZE(names) ? names[signal] : NULL;
}

// siginfo's si_code, as in sigaction(2).
static const struct {
	uint32_t signal;
	int32_t code;
	const char *words;
} reasons[] = {
	{SEGV, 1, "is not mapped"},
	{SEGV, 2, "does not permit this access"},
	{SEGV, 3, "is beyond its bounds"},
	{SEGV, 4, "is protected by a key"},
	{BUS, 1, "is not aligned"},
	{BUS, 2, "is beyond the end of its file"},
	{BUS, 3, "has a hardware error"},
	{BUS, 4, "has a memory error"},
	{BUS, 5, "has a memory error"},
	{ILL, 1, "illegal instruction"},
	{ILL, 2, "illegal operand"},
	{ILL, 5, "privileged instruction"},
	{FPE, 1, "integer division by zero"},
	{FPE, 2, "integer overflow"},
	{FPE, 3, "division by zero"},
	{FPE, 4, "overflow"},
	{FPE, 5, "underflow"},
	{FPE, 7, "invalid operation"},
	{TRAP, 1, "breakpoint"},
	{SYS, 1, "a forbidden system call"},
};

static const char *reason_of(uint32_t signal, int32_t code) {
	for (size_t i = 0; i < ARRAY_SIZE(reasons); i++)
		if (reasons[i].signal == signal && reasons[i].code == code)
			return reasons[i].words;
	return NULL;
}

void crash_words(uint32_t signal, int32_t code, uint64_t address, uint32_t pid, char *words, size_t size) {
	const char *name = crash_signal_name(signal), *reason = reason_of(signal, code);
	char number[32];
	snprintf(number, sizeof(number), "signal %" PRIu32, signal);
	name = name ? name : number;
	uint32_t sender = (uint32_t)address;
	if (reason && (signal == SEGV || signal == BUS))
		snprintf(words, size, "%s, address 0x%" PRIx64 " %s", name, address, reason);
	else if (reason)
		snprintf(words, size, "%s, %s", name, reason);
	else if (code <= 0 && sender && sender != pid)
		snprintf(words, size, "%s, sent by process %" PRIu32, name, sender);
	else
		snprintf(words, size, "%s", name);
}
