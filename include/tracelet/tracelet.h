// The public C API of Tracelet. This header is the manual.
//
// Conventions: functions return 0 or a negative errno value and print nothing.
// A struct that may grow starts with `size`, which the caller sets to sizeof
// the struct it was compiled with: a newer library fills or reads only what
// the caller knows, and takes what the caller does not know as zero. TL_INIT
// sets the size and clears the rest:
//
//     struct tl_check_result result = TL_INIT(result);
//
// Strings are UTF-8 and NUL-terminated; a path of "-" is standard input.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define TL_INIT(object)                                                                                      \
	{ .size = sizeof(object) }

// ---- checking a trace ----

// One thing found in a trace. Valid during the callback only.
struct tl_finding {
	size_t size;
	bool note;        // worth knowing, but the trace is good
	uint64_t offset;  // the byte of the file it is about
	const char *kind; // a stable short name, such as "interned-id": for programs
	const char *text; // a sentence without the file's name: for people
};

struct tl_check_opts {
	size_t size;

	// Called for each defect and note, in the order of discovery. What concerns the whole trace
	// (tracks, clocks) comes last. May be NULL.
	void (*on_finding)(const struct tl_finding *finding, void *context);
	void *context;

	// Defects beyond this many are counted and not reported. 0 is 20.
	uint64_t max_findings;

	// A smaller file is a defect. 0 is the size of the smallest packet that says anything.
	uint64_t min_size;
};

struct tl_check_result {
	size_t size;
	uint64_t bytes;   // read; the size of the file unless the walk had to stop before its end
	uint64_t packets; // whole ones
	uint64_t events;  // switches, wakeups, ftrace and ETW events, track events, samples
	uint64_t defects; // all of them, also those that were not reported; 0: a good trace
	uint64_t notes;
};

// Walks a Perfetto trace from its first byte to its last, in memory that does
// not grow with its length, and looks at what an importer would choke on or
// silently drop: the packet structure, sequences and their flags, interned
// ids, clocks, time order per CPU, tracks and their slices.
//
// Returns 0 when the file could be read, whatever was found in it: look at
// `result->defects`. -ENOENT, -EISDIR, -EIO and so on when it could not be
// read, -EINVAL when a `size` is not set. `opts` may be NULL.
int tl_check_trace(const char *path, const struct tl_check_opts *opts, struct tl_check_result *result);

#ifdef __cplusplus
}
#endif
