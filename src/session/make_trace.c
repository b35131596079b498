#include "session/make_trace.h"

#include "base/log.h"
#include "flow/follow.h"
#include "symbol/kernel.h"

#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/statvfs.h>

enum { WORTH_FOLLOWING = 128 * 1024 }; // bytes of spool; shorter tests convert in no time

static struct conversion conversion_of(struct recording *recording, const char *spool, const char *output) {
	const struct settings *settings = recording->settings;
	struct conversion conversion = {.input = spool,
					.output = output,
					.reader = &spool_reader,
					.writer = &perfetto_writer,
					.mode = OUTPUT_CREATE,
					.summed = true};
	conversion_tap(&conversion, census_tap(&recording->census));
	if (!recording->operation) {
		conversion_tap(&conversion, explain_tap(&recording->explanation));
		conversion_tap(&conversion, (struct tap){measures_open, &recording->measures});
	}
	if (settings_sampled(settings))
		conversion_tap(&conversion, pictures_tap(&recording->pictures));
	return conversion;
}

static struct pictures pictures_of(const struct recording *recording, const char *stem) {
	return (struct pictures){
		.stem = stem, .title = recording->name, .without_waits = !recording->settings->off_cpu};
}

// ---- while the test runs ----

// The test needs the disk more than we do. A trace is larger than its spool, by less than this.
static bool has_room(const struct recording *recording) {
	enum { LARGER = 4, LEFT = 256 << 20 };
	struct statvfs disk;
	return statvfs(recording->settings->output_dir, &disk) == 0 &&
	       (uint64_t)disk.f_bavail * disk.f_frsize > LEFT + LARGER * recording->spool.written;
}

// Not with a single CPU, which has no time to spare; not in a system-wide recording, which would
// record ourselves; and not if the trace may be discarded or needs the whole recording first.
static bool can_follow(const struct recording *recording) {
	const struct settings *settings = recording->settings;
	cpu_set_t processors;
	return !recording->operation && !recording->flight && settings->scope == SCOPE_TREE &&
	       settings->keep == KEEP_ALWAYS && !settings->heap_children &&
	       sched_getaffinity(0, sizeof(processors), &processors) == 0 && CPU_COUNT(&processors) > 1;
}

// Cases get their own traces, whose file names are fixed from the first event on.
static bool has_cases(const struct recording *recording) {
	return recording->settings->cases && recording->marker && marker_count(recording->marker);
}

static void begin_to_follow(struct recording *recording) {
	CLEANUP_FREE char *path = memory_format("%s.pb", recording->stem);
	struct stat there;
	if (!can_follow(recording) || lstat(path, &there) == 0)
		return;
	recording->pictures = pictures_of(recording, recording->stem);
	struct conversion conversion = conversion_of(recording, recording->spool_path, path);
	recording->follower = follow(&conversion);
}

void make_trace_turn(struct recording *recording) {
	if (recording->spool.written < WORTH_FOLLOWING)
		return;
	bool possible = !has_cases(recording) && has_room(recording);
	if (!possible)
		make_trace_cancel(recording);
	else if (!recording->follow_tried)
		begin_to_follow(recording);
	recording->follow_tried = true;
	if (recording->follower)
		follow_written(recording->follower, recording->spool.written);
}

void make_trace_cancel(struct recording *recording) {
	follow_cancel(recording->follower);
	recording->follower = NULL;
}

void make_trace_tidy(struct recording *recording) {
	follow_free(recording->tidying);
	recording->tidying = NULL;
}

void make_trace_leave(struct recording *recording) {
	if (recording->follower)
		kernel_symbols_resolve_alone(); // the parent uses it, one name at a time
	recording->follower = NULL;
	recording->census = (struct census){0}; // that thread was in the middle of it
	recording->explanation = (struct explanation){0};
	recording->measures = (struct measures){0};
}

// ---- at its end ----

// False if there is none; then nothing is left of it.
static bool take_followed(struct recording *recording, struct conversion_result *result) {
	struct follower *follower = recording->follower;
	recording->follower = NULL;
	if (!follower)
		return false;
	int error = follow_end(follower, result);
	recording->tidying = follower;
	if (error)
		pictures_drop(&recording->pictures);
	else
		log_verbose("the trace was converted while the test ran, except for its last moments");
	return !error;
}

char *make_trace(struct recording *recording, const char *spool, const char *stem, struct case_traces *cases,
		 struct conversion_result *result) {
	if (cases) // the last marks may have been the first
		make_trace_cancel(recording);
	if (take_followed(recording, result))
		return memory_format("%s.pb", stem);
	for (unsigned number = 0; number < 1000; number++) {
		CLEANUP_FREE char *numbered = number ? memory_format("%s_%u", stem, number)
						     : memory_string(stem);
		char *path = memory_format("%s.pb", numbered);
		recording->pictures = pictures_of(recording, numbered);
		struct conversion conversion = conversion_of(recording, spool, path);
		if (cases)
			conversion_tap(&conversion, case_traces_tap(cases));
		conversion.progress = true;
		if (stem == recording->stem && recording->ended_spool >= 0 && !cases)
			conversion.over = &recording->ended_spool;
		if (recording->settings->heap_children && !recording->active)
			conversion_tap(&conversion, heap_execs_tap(&recording->execs));
		struct stat there; // a dangling link counts as existing
		int error = lstat(path, &there) == 0 ? -EEXIST : convert(&conversion, result);
		if (!error)
			return path;
		free(path);
		pictures_drop(&recording->pictures);
		if (error != -EEXIST) // someone created a file there meanwhile: keep it
			return NULL;
	}
	return NULL;
}
