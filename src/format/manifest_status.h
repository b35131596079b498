// How a session ended, for programs: the closed set of "status" in a manifest line.
#pragma once

#include <stddef.h>
#include <string.h>

#define MANIFEST_STATUSES(STATUS)                                                                            \
	STATUS(PASSED, "passed")                                                                             \
	STATUS(FAILED, "failed")                                                                             \
	STATUS(CRASHED, "crashed")                                                                           \
	STATUS(TIMED_OUT, "timed-out")                                                                       \
	STATUS(SKIPPED, "skipped")                                                                           \
	STATUS(DISABLED, "disabled")                                                                         \
	STATUS(RECORDED, "recorded")             /* an operation */                                          \
	STATUS(MACHINE_FAILED, "machine-failed") /* the guest ended before the test did */                   \
	STATUS(UNKNOWN, "unknown")               /* tracelet was killed while the test ran */

#define MANIFEST_STATUS_VALUE(name, word) ENDED_##name,
enum manifest_status { MANIFEST_STATUSES(MANIFEST_STATUS_VALUE) ENDED_COUNT };

extern const char *const manifest_status_names[ENDED_COUNT];

// Replaces a status that others wrote and that is none of these, with NULL.
const char *manifest_known_status(const char *status);
