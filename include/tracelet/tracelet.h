// The public C API of Tracelet: link with -ltracelet (pkg-config tracelet). The manual has a page for each
// call; tracelet(3) is the first one.
//
// Conventions: functions return 0 or a negative errno value. They print nothing, never end the
// program (except tl_assert_trace(), by contract), leave signals and their handlers alone, and can
// be called from any thread. A struct that may grow starts with `size`, which the caller sets to
// sizeof the struct it was compiled with: a newer library fills or reads only what the caller knows,
// and treats the rest as zero. TL_INIT sets the size and clears the rest:
//
//     struct tl_check_result result = TL_INIT(result);
//
// Strings are UTF-8 and NUL-terminated.
#ifndef TRACELET_TRACELET_H
#define TRACELET_TRACELET_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
// Designated initialisers are younger than C++11.
namespace tracelet {
template <typename type> struct plain { typedef type name; };
template <typename type> struct plain<type &> { typedef type name; };
template <typename type> inline typename plain<type>::name init() {
	typename plain<type>::name object = typename plain<type>::name();
	object.size = sizeof(object);
	return object;
}
} // namespace tracelet
#define TL_INIT(object) (tracelet::init<decltype(object)>())

extern "C" {
#else
#define TL_INIT(object)                                                                                      \
	{ .size = sizeof(object) }
#endif

#if defined(__GNUC__) && !defined(_WIN32)
#pragma GCC visibility push(default)
#endif

// ---- running a command ----

// A file that a session left.
struct tl_artifact {
	size_t size;
	const char *kind; // as in manifest.jsonl: "perfetto", "flame", "heap", "stacks", ...
	const char *path;
	uint64_t bytes;
};

struct tl_run_opts {
	size_t size;
	const char *name;       // of the test and its artifacts; NULL for the command's
	const char *output_dir; // NULL for what the settings say (tracelet settings)
	const char *profile;    // NULL for what the settings say
	const char *scope;      // "tree" or "system"; NULL for what the settings say
	double timeout;         // seconds; 0 for none, or as the settings say
	bool strict;            // do not run the command if it cannot be traced
	char *const
		*options; // more options of 'tracelet run', such as "--sample"; ends with NULL; may be NULL
};

struct tl_run_result {
	size_t size;
	const struct tl_artifact *const *artifacts; // artifact_count of them, then NULL
	size_t artifact_count;
	const char *trace;    // the path of the Perfetto trace among them; NULL if there is none
	const char *messages; // warnings and errors from tracelet, one per line; NULL if it could not be run
	int status;           // what 'tracelet run' exits with: see tracelet(1)
	int exit_status;      // of the command; -1 if a signal ended it
	int signal;           // that ended it, or 0
	bool timed_out;
	bool reported; // false where tracing is switched off: then only the status and the signal are known
	double wall_seconds;
	uint64_t events; // in the trace
	uint64_t lost;   // events that are not
};

// Runs a command traced, as 'tracelet run' does, and waits for its end. The command has the caller's
// input, output and environment; `argv` ends with NULL, and argv[0] is looked for in the PATH. `opts` may
// be NULL.
//
// Returns 0 if the command was run, whatever came of it; one that cannot be started has the status 127 or
// 126, as in a shell. -ENOENT: there is no program `tracelet`; -EINVAL: an option makes no sense;
// -ENODATA: with `strict`, it cannot be traced; -ECHILD: the caller ignores SIGCHLD or reaps all children,
// and the command was not traced, so that its status is lost; -ENOMEM: the command may have been run.
//
// After an error the result has no more than messages, which say why. tl_run_free() releases what the
// result points at, also then.
int tl_run(char *const argv[], const struct tl_run_opts *opts, struct tl_run_result *result);
void tl_run_free(struct tl_run_result *result);

// ---- checking a trace ----

// A finding in a trace. Valid only during the callback.
struct tl_finding {
	size_t size;
	bool note;        // worth knowing, but the trace is good
	uint64_t offset;  // its byte offset in the file
	const char *kind; // a stable short name for programs, such as "interned-id"
	const char *text; // a sentence for people, without the file's name
};

struct tl_check_opts {
	size_t size;

	// Called for each defect and note, in the order of discovery. Findings about the whole trace
	// (tracks, clocks) come last. May be NULL.
	void (*on_finding)(const struct tl_finding *finding, void *context);
	void *context;

	// Defects beyond this number are counted but not reported. 0 means 20.
	uint64_t max_findings;

	// A smaller file is a defect. 0 means the size of the smallest useful packet.
	uint64_t min_size;
};

struct tl_check_result {
	size_t size;
	uint64_t bytes;   // bytes read; the size of the file unless reading had to stop early
	uint64_t packets; // complete packets
	uint64_t events;  // switches, wakeups, ftrace and ETW events, track events, samples
	uint64_t defects; // including those that were not reported; 0 for a good trace
	uint64_t notes;
};

// Walks a Perfetto trace from its first byte to its last, in memory that does
// not grow with its length, and looks for what an importer would reject or
// silently drop: packet structure, sequences and their flags, interned ids,
// clocks, order of time per CPU, tracks and their slices. A path of "-" is standard input.
//
// Returns 0 if the file could be read, whatever was found in it: see
// `result->defects`. Returns -ENOENT, -EISDIR, -EIO and so on if it could not be
// read, -EINVAL if a `size` is not set, -ENOMEM. `opts` may be NULL.
int tl_check_trace(const char *path, const struct tl_check_opts *opts, struct tl_check_result *result);

// ---- did the trace land? ----

// Checks that there is a complete trace at this path: the file exists, has at least `min_size`
// bytes (0 means TL_LEAST_TRACE), begins like a trace, and every packet up to its last byte is good.
// Returns 0; -ENOENT, -EACCES and so on if it cannot be read; -ENODATA if it is too small; -EILSEQ
// if it is not a trace; -EBADMSG if it has a defect. On failure `message` (which may be NULL) gets
// one line: the path, what was expected, what was found and which step of the chain to look at.
enum {
	TL_LEAST_TRACE = 512,      // bytes; what a smaller file holds is no use
	TL_TRACE_FIRST_BYTE = 0x0a // of every Perfetto trace: its first packet
};
int tl_trace_landed(const char *path, uint64_t min_size, char *message, size_t size);

// The same for tests: on failure, prints that line to standard error and calls abort().
void tl_assert_trace(const char *path);

// Finds where an artifact of a session is, or will be if the session is still recording; use this
// instead of constructing paths. Takes the newest session with that name in the output directory of
// the settings (see `tracelet settings`) or of TRACELET_OUTPUT_DIR; variants as in TRACELET_VARIANT.
// Kinds are those of the manifest: "perfetto", "flame", "heap", "stacks", "console" ... Returns
// -ENOENT if there is none.
int tl_artifact_path(const char *session, const char *kind, char *path, size_t size);

// ---- sessions ----
//
// Recordings that begin and end where the caller chooses. They are the same sessions as those
// of `tracelet start` and `stop`: one can stop what the other started. All of these functions
// run the program `tracelet`, found in the PATH or named by the variable TRACELET, and take as
// long as it does (about 40 ms for a start).

struct tl_session_opts {
	size_t size;
	const char *output_dir; // NULL for the one in the settings (see `tracelet settings`)
	const char *scope;      // "tree": this process and everything it starts; "system": the whole machine
	const char *type;       // "file", or "memory": a flight recorder
};

// Starts a session. A session with the same name is stopped and saved first. `opts` may be NULL.
// Returns -ENODATA if nothing can be recorded here ('tracelet doctor' says why), -EINVAL if a
// name or an option is invalid, -ENOENT if there is no program `tracelet`.
int tl_session_start(const char *name, const struct tl_session_opts *opts);

// Stops a session and makes the trace, whose path is written to `path` (which may be NULL). A
// name of NULL means the only session. Returns -ENOENT if there is none, or if it could not be
// saved.
int tl_session_stop(const char *name, char *path, size_t size);
int tl_session_stop_all(void);

// Whether a session with that name (NULL for any) is recording, and the file it will write.
bool tl_session_active(const char *name);
int tl_session_current_file(const char *name, char *path, size_t size);

#if defined(__GNUC__) && !defined(_WIN32)
#pragma GCC visibility pop
#endif

#ifdef __cplusplus
}
#endif

#endif // TRACELET_TRACELET_H
