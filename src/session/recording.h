// One recording from beginning to end: a capture backend, the spool that it fills, and
// the artifacts, manifest line and summary made from it. Used by the tracer of a test
// and by the tracer of an operation.
#pragma once

#include "analyse/measures.h"
#include "capture/marker/marker.h"
#include "flow/case_traces.h"
#include "flow/explain.h"
#include "flow/pictures.h"
#include "heap/children.h"
#include "heap/heap.h"
#include "heap/leaks.h"
#include "heap/watch.h"
#include "session/census.h"
#include "session/crash.h"
#include "session/finish.h"
#include "session/flight.h"
#include "session/recording_facts.h"
#include "settings/settings.h"

#include <sys/types.h>

struct followed;

struct recording {
	const struct settings *settings;
	const char *name;                      // of the test, made safe
	const struct capture_backend *backend; // NULL if nothing can be recorded
	struct capture *capture;
	bool without_collector;            // it failed before
	bool operation;                    // not a test: marks alone are not worth a recording
	struct followed *followed;         // by an operation; NULL for a test
	int heap;                          // from heap_create(), or -1
	int marks;                         // from marker_create(), or -1
	char marks_name[MARKER_NAME_SIZE]; // for other programs that make marks; "" if they cannot
	struct marker *marker;             // NULL if the test cannot make marks
	int wait;                          // an epoll over both, where there are both
	struct limits limits;
	struct machine_counters machine; // when recording began
	struct capture_totals totals;
	struct spool spool;
	struct flight *flight; // --type memory: the newest events, else NULL
	char *stem, *spool_path;
	int ended_spool;           // its file, if the trace may take it over (base/file.h); or -1
	char *trace;               // path, once it has been made
	struct follower *follower; // thread converting the spool while the test runs, or NULL
	struct follower *tidying;  // the same thread after its end, until it is cleaned up
	bool follow_tried;
	struct pictures pictures;         // flame graphs next to the trace
	struct heap_watch *heap_watch;    // records the heap's growth while the test runs, or NULL
	struct heap_results heap_results; // at its end
	struct heap_files heap_files;     // files written from them
	struct buffer heap_words;         // their description for the summary
	struct buffer leak_words;         // what was still allocated at the end
	struct heap_execs execs;          // programs that were started, to find those that were not profiled
	struct heap_leaks leaks;          // what is live at the end
	char *leaks_file;                 // report about them
	bool leaked;                      // whether there are any
	struct crash_reports crashes;
	struct census census;           // of the whole recording, counted while the trace is made
	struct explanation explanation; // where its time went
	struct measures measures;       // numbers for the history
	struct case_traces cases;       // cases of the test program, if it reports them
	pid_t pid;                      // the test's
	struct timespec started;
	uint64_t begun, deadline, synced;
	bool active; // events are being recorded
	bool looked; // what takes time has been read and started; see recording_begun()
	bool full_disk_reported;
	struct recording_cut cut; // if it stopped before the test did
	bool new_folder;          // the output directory was created by us
	char *less;               // why less is recorded than asked for, or NULL
};

// Chooses a backend and reserves a name. If nothing can be recorded, `backend` is NULL, after a
// warning.
void recording_open(struct recording *recording);
bool recording_begin(struct recording *recording, const pid_t *processes, size_t count); // and all they start
// The test may begin: what can be done beside it.
void recording_begun(struct recording *recording);

// Records these processes and all they start, too. 0, or -errno if the first one cannot be followed.
int recording_follow(struct recording *recording, const pid_t *processes, size_t count);

// For poll(): what to wait for, and for how many milliseconds, before the next turn.
int recording_wait_fd(const struct recording *recording);
int recording_wait_time(const struct recording *recording);
void recording_turn(struct recording *recording);

double recording_seconds(const struct recording *recording); // since it began

void recording_stop(struct recording *recording);

// Writes artifacts and the manifest's line. The caller does the rest (finish_report()); the texts live as
// long as the recording.
void recording_finish(struct recording *recording, struct test_end *end, struct finish *finish);

// Saves what has been recorded so far as a separate artifact, in a child process; recording continues.
// Returns the child's id, or -errno; its exit status is 0 on success. The artifact's name is in `path`, to
// be freed by the caller.
pid_t recording_snapshot(struct recording *recording, char **path);

void recording_drop(struct recording *recording); // leaves nothing on disk
void recording_close(struct recording *recording);
