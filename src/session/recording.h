// One recording from beginning to end: a backend of capture, the spool it fills,
// and the artifacts, the manifest's line and the summary made of it. Used by the
// tracer of a test and by the tracer of an operation.
#pragma once

#include "capture/marker/marker.h"
#include "session/case_traces.h"
#include "session/crash.h"
#include "session/flight.h"
#include "session/heap.h"
#include "session/heap_children.h"
#include "session/heap_leaks.h"
#include "session/heap_watch.h"
#include "session/pictures.h"
#include "session/settings.h"
#include "session/summary.h"

#include <sys/types.h>

// What is known of the test, or of the operation, when it has ended.
struct test_end {
	int wait_status;
	double wall_seconds, cpu_seconds;
	struct timespec started;
	bool operation;              // no test: there is no status
	bool timed_out;              // the test was ended when its time was over
	uint64_t time_over;          // when that was, CLOCK_BOOTTIME
	char stacks[512], core[512]; // paths of what was saved then; "": nothing
};

struct recording {
	const struct settings *settings;
	const char *name;                      // of the test, made safe
	const struct capture_backend *backend; // NULL: nothing can be recorded
	struct capture *capture;
	bool operation;                    // no test: marks alone would not do
	int heap;                          // what heap_create() gave, or -1
	int marks;                         // what marker_create() gave, or -1
	char marks_name[MARKER_NAME_SIZE]; // for others who want to make marks; "": they cannot
	struct marker *marker;             // NULL: the test cannot make marks
	int wait;                          // an epoll over both, where there are both
	struct capture_totals totals;
	struct spool spool;
	struct flight *flight; // --type memory: the newest events, else NULL
	char *stem, *spool_path;
	char *trace;               // when it has been made
	struct follower *follower; // who makes it meanwhile; NULL: nobody
	struct follower *tidying;  // who has made it
	bool follow_tried;
	struct pictures pictures;         // beside it
	struct heap_watch *heap_watch;    // how it grows while the test runs; or NULL
	struct heap_results heap_results; // at its end
	struct heap_files heap_files;     // made of that
	struct buffer heap_words;         // and what it says
	struct heap_execs execs;          // who was started, for those who were not counted
	struct heap_leaks leaks;          // what is live at the end
	char *leaks_file;                 // that tells of them
	bool leaked;                      // there are some
	struct crash_reports crashes;
	struct case_traces cases; // of the test program, if it tells of them
	pid_t pid;                // the test's
	struct timespec started;
	uint64_t begun, deadline, synced;
	bool active; // events come in
	bool told_of_full_disk;
	struct recording_cut cut; // if it stopped before the test did
	bool new_folder;          // the one for artifacts was not there before
	char *less;               // why less is recorded than could be; NULL: it is not
};

// Chooses a backend and reserves a name. What cannot be had has been said, and
// `backend` is NULL.
void recording_open(struct recording *recording);
bool recording_begin(struct recording *recording, const pid_t *processes, size_t count); // and all they start

// For poll(): what to wait for, and for how many milliseconds, before the next turn.
int recording_wait_fd(const struct recording *recording);
int recording_wait_time(const struct recording *recording);
void recording_turn(struct recording *recording);

double recording_seconds(const struct recording *recording); // since it began

void recording_stop(struct recording *recording);

// Artifacts and the manifest's line. The summary is the caller's to tell; its texts live
// as long as the recording.
void recording_finish(struct recording *recording, const struct test_end *end, struct summary *summary);

// On standard error: what was still allocated at the end.
void recording_tell_leaks(const struct recording *recording);

// What has been recorded so far as an artifact of its own, made by a child process;
// recording goes on. The child's id, or -errno; its exit status is 0 if all went well.
// The artifact's name is in `path`, the caller's to free.
pid_t recording_snapshot(struct recording *recording, char **path);

void recording_leave_spool(struct recording *recording); // and nothing else
void recording_drop(struct recording *recording);        // leaves nothing on disk
void recording_close(struct recording *recording);
