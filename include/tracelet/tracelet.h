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

// ---- did the trace land? ----

// Is there a whole trace under this path: the file is there, it has at least `min_size` bytes
// (0: TL_LEAST_TRACE), it begins as a trace does, and every packet up to its last byte is good.
// -ENOENT, -EACCES and so on: it cannot be read; -ENODATA: it is too small; -EILSEQ: it begins with
// something else; -EBADMSG: it has a defect. Then `message` (which may be NULL) is one line: the
// path, what was expected, what was found and which step of the chain to look at.
enum { TL_LEAST_TRACE = 512 };
int tl_trace_landed(const char *path, uint64_t min_size, char *message, size_t size);

// The same for tests: if not, that line goes to standard error and abort() is called.
void tl_assert_trace(const char *path);

// Where an artifact of a session is, or will be if the session is still recording: paths are
// asked for, never put together. The newest session of that name in the folder that the settings
// name (tracelet settings), or in that of TRACELET_OUTPUT_DIR; variants as in TRACELET_VARIANT. Kinds
// are those of the manifest: "perfetto", "flame", "heap", "stacks", "console" ... -ENOENT: there is none.
int tl_artifact_path(const char *session, const char *kind, char *path, size_t size);

// ---- sessions ----
//
// Recordings that begin and end where the caller says. They are those of the commands
// `tracelet start` and `stop`: one can begin what the other ends. All of these run the
// program `tracelet`, found in the PATH or named by the variable TRACELET, and take as long
// as that does (some 40 ms for a start).

struct tl_session_opts {
	size_t size;
	const char *output_dir; // NULL: as the settings say (tracelet settings)
	const char *scope;      // "tree": this process and all it starts; "system"
	const char *type;       // "file", or "memory": a flight recorder
};

// Begins to record under a name. A session of that name is stopped and saved first. `opts` may
// be NULL. -ENODATA: nothing can be recorded here ('tracelet doctor' tells why); -EINVAL: a
// name or an option makes no sense; -ENOENT: there is no program `tracelet`.
int tl_session_start(const char *name, const struct tl_session_opts *opts);

// Ends it and makes the trace, whose path is put into `path` (which may be NULL). A name of
// NULL is the only session there is. -ENOENT: there is none, or it could not be saved.
int tl_session_stop(const char *name, char *path, size_t size);
int tl_session_stop_all(void);

// Whether a session of that name (NULL: any) is recording, and the file it will leave.
bool tl_session_active(const char *name);
int tl_session_current_file(const char *name, char *path, size_t size);

#ifdef __cplusplus
}
#endif
