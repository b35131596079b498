#include "base/unpack_limit.h"
#include "base/log.h"
#include "base/memory.h"

#include <errno.h>

static uint64_t chosen;

void unpack_limit_set(uint64_t most) {
	chosen = most;
}

static uint64_t limit_for(uint64_t packed) {
	enum { HARMLESS = 512 << 20, USUAL_RATIO = 32 };
	return chosen ? chosen : MAX((uint64_t)HARMLESS, packed * USUAL_RATIO);
}

bool unpack_limit_exceeded(uint64_t unpacked, uint64_t packed) {
	return unpacked > limit_for(packed);
}

int unpack_limit_report(const char *name, uint64_t packed) {
	enum { MEBIBYTE = 1 << 20 };
	log_error("%s: unpacks to more than %.0f MiB; allow more with --max-unpacked SIZE", name,
		  (double)limit_for(packed) / MEBIBYTE);
	return -EFBIG;
}
