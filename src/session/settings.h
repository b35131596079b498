// What a session was asked for. Every setting is one line of a table (settings.c):
// a flag --output-dir, a variable TRACELET_OUTPUT_DIR and a key output-dir in
// tracelet.ini mean the same. A flag beats the environment, that beats the
// project's file, that the user's file, that the default.
#pragma once

#include "base/array.h"
#include "base/buffer.h"
#include "capture/capture.h"

#include <getopt.h>

enum setting_id {
	SETTING_ENABLED,
	SETTING_NAME,
	SETTING_VARIANT,
	SETTING_OUTPUT_DIR,
	SETTING_PROFILE,
	SETTING_SCOPE,
	SETTING_TYPE,
	SETTING_RING_SIZE,
	SETTING_RING_SECONDS,
	SETTING_SAMPLE,
	SETTING_OFF_CPU,
	SETTING_COUNTERS,
	SETTING_COUNTER_TIME,
	SETTING_COUNTER_SLICES,
	SETTING_HEAP,
	SETTING_HEAP_CHILDREN,
	SETTING_HEAP_SAMPLE,
	SETTING_HEAP_USABLE,
	SETTING_HEAP_LEAKS,
	SETTING_HEAP_SUPPRESSIONS,
	SETTING_FAIL_ON_LEAK,
	SETTING_CALL_GRAPH,
	SETTING_DURATION,
	SETTING_MAX_SIZE,
	SETTING_WAIT_TREE,
	SETTING_TIMEOUT,
	SETTING_GRACE,
	SETTING_TIMEOUT_STATUS,
	SETTING_CORE,
	SETTING_CORE_LIMIT,
	SETTING_KEEP,
	SETTING_MAX_TOTAL_SIZE,
	SETTING_MAX_AGE,
	SETTING_BUFFER_SIZE,
	SETTING_JSON,
	SETTING_ATTACHMENTS,
	SETTING_CASES,
	SETTING_KEEP_SPOOL,
	SETTING_REPRO,
	SETTING_STRICT,
	SETTING_PID,
	SETTING_QUIET,
	SETTING_VERBOSE,
	SETTING_COUNT
};

enum setting_origin { FROM_DEFAULT, FROM_USER_FILE, FROM_PROJECT_FILE, FROM_ENVIRONMENT, FROM_FLAG };

enum keep { KEEP_ALWAYS, KEEP_FAILED, KEEP_NEVER };

enum enabled { ENABLED_NO, ENABLED_YES, ENABLED_AUTO }; // auto: only if the environment says yes

// Telling a CI about artifacts. auto: where it is known to listen.
enum attachments { ATTACHMENTS_NO, ATTACHMENTS_YES, ATTACHMENTS_AUTO };

enum recording_type { RECORD_TO_FILE, RECORD_TO_MEMORY }; // memory: a flight recorder

struct settings {
	const char *name;    // NULL: made from the command
	const char *variant; // which one of the test, canonical (session/variant.h); NULL: there is but one
	const char *output_dir;
	const char *profile;           // a built-in one, or a file
	const char *json;              // a number: this descriptor; else a file; NULL: no
	int attachments;               // enum attachments
	char **command;                // ends with NULL
	int enabled;                   // enum enabled
	int scope;                     // enum capture_scope
	int type;                      // enum recording_type
	size_t ring_size;              // bytes that a flight recorder holds
	double ring_seconds;           // and for how long, 0: as long as there is room
	size_t buffer_size;            // 0: sized to the machine
	int sample;                    // CPU samples in a second, 0: none
	const char *sample_event;      // EVENT@PERIOD: by its overflow, where there is such an event
	bool off_cpu;                  // stacks of threads that wait, and for how long
	bool hard_faults;              // of page faults the profile wants only the major ones
	const char *stacks;            // events at which the profile wants stacks, a blank between; or NULL
	const char *counters;          // events that are counted beside; NULL: none
	double counters_interval;      // seconds
	bool counters_per_slice;       // for each stay of a thread on a CPU
	bool heap;                     // what the test allocates, and where
	bool heap_children;            // and its children
	size_t heap_sample;            // bytes between two blocks that are looked at, 0: all are
	bool heap_usable;              // sizes as the allocator rounds them up
	bool heap_leaks;               // what is live at the end
	bool fail_on_leak;             // and an exit status for it
	const char *heap_suppressions; // a file; NULL: none but our own
	int call_graph;                // enum call_graph: how their stacks are walked
	double duration;               // seconds after which recording stops, 0: with the test
	size_t max_size;               // bytes after which it does, 0: any
	double wait_tree;      // seconds to wait for the test's orphans, 0: for ever, negative: do not
	double timeout;        // seconds the test may take, 0: without limit
	double grace;          // seconds between SIGTERM and SIGKILL then
	int timeout_status;    // and our exit status
	bool core;             // save a core of a test that hangs
	size_t core_limit;     // bytes
	int keep;              // enum keep
	size_t max_total_size; // bytes of artifacts in the output folder, 0: any
	double max_age;        // seconds they stay there, 0: for ever
	int pid;               // of the process that an operation is about, 0: the caller
	bool strict;           // no trace, no test
	bool cases;            // a trace for each case that the test tells of
	bool keep_spool;
	bool repro;                        // run a test that failed once more, with a richer profile
	bool is_repro;                     // this is that run
	const char *repro_of;              // and the first one's stem
	const char *repro_output;          // where it prints to
	bool without[RECORD_SOURCE_COUNT]; // sources that the profile does not want
	bool quiet, verbose;

	enum setting_origin origins[SETTING_COUNT];
	const char *variables[SETTING_COUNT]; // the one it came from
	char *user_file, *project_file;       // NULL: there is none
	ARRAY(char *) owned;                  // values that live as long as this
};

// Defaults, files, environment. False: a value is bad, and one line has said which,
// where, and what is allowed.
bool settings_load(struct settings *settings);
void settings_free(struct settings *settings);

// The settings in `wanted` and --help ('h'), as long options for getopt_long(); val is
// SETTING_FLAG plus the setting's id. The result ends with zeros and is the caller's to free.
enum { SETTING_FLAG = 256 };
struct option *settings_options(const enum setting_id *wanted, size_t count);
bool settings_take_flag(struct settings *settings, int option, const char *value); // as settings_load()

// Whether there is to be a trace at all.
bool settings_enabled(const struct settings *settings);

// "1.5", "200ms", "2m", "1h": seconds.
bool settings_parse_seconds(const char *text, double *seconds);
// "4096", "64M", "2G": bytes.
bool settings_parse_size(const char *text, size_t *size);

// Whether the heap is counted.
bool settings_heap(const struct settings *settings);

// Whether stacks are recorded.
bool settings_sampled(const struct settings *settings);

// A setting for `tracelet settings`: its name, its value and where it came from, in words.
const char *setting_name(enum setting_id id);
void setting_value(const struct settings *settings, enum setting_id id, struct buffer *text);
void setting_origin(const struct settings *settings, enum setting_id id, struct buffer *text);
