#include "session/finish_system.h"
#include "base/system.h"

#include <inttypes.h>
#include <stdio.h>

// A process that dies of an exception exits with the exception's code.
static const char *exception_words(uint32_t code) {
	static const struct {
		uint32_t code;
		const char *words;
	} known[] = {
		{0xc0000005, "access violation"},
		{0xc00000fd, "stack overflow"},
		{0xc0000374, "heap corruption"},
		{0xc0000409, "stack buffer overrun or fast fail"},
		{0xc000001d, "illegal instruction"},
		{0xc0000094, "integer division by zero"},
		{0xc000013a, "ended by Ctrl-C"},
		{0xc0000135, "a DLL was not found"},
		{0xc0000139, "a function was not found in a DLL"},
		{0xc0000142, "a DLL could not be initialised"},
		{0xc0000417, "invalid parameter of the C library"},
		{0x80000003, "breakpoint"},
		{0xe06d7363, "C++ exception"},
	};
	for (size_t i = 0; i < ARRAY_SIZE(known); i++)
		if (known[i].code == code)
			return known[i].words;
	return NULL;
}

void finish_status_words(int status, char *words, size_t size) {
	const char *exception = exception_words((uint32_t)status);
	if (exception)
		snprintf(words, size, "crashed: %s (%08" PRIx32 ")", exception, (uint32_t)status);
	else if (status)
		snprintf(words, size, "failed: exit code %d", status);
	else
		snprintf(words, size, "passed");
}

bool finish_crashed(int status) {
	return exception_words((uint32_t)status) != NULL;
}

void finish_put_status(struct manifest_record *record, int status) {
	MANIFEST_PUT(record, exit, status);
}

void finish_put_system(struct manifest_record *record) {
	struct system_version version = system_version();
	char *kernel = memory_format("Windows %u.%u.%u", version.major, version.minor, version.build);
	MANIFEST_PUT(record, host, manifest_keep(record, system_host_name()));
	MANIFEST_PUT(record, kernel, manifest_keep(record, kernel));
	MANIFEST_PUT(record, machine, "x86_64");
	MANIFEST_PUT(record, cpus, system_cpus());
	MANIFEST_PUT(record, memory, system_memory());
}

// WPR always records the whole system.
const char *finish_scope(const struct settings *settings) {
	return "system";
}
