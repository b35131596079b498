#include "session/make_trace.h"

#include "base/log.h"
#include "session/follow.h"
#include "symbol/kernel.h"

#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/statvfs.h>

enum { WORTH_FOLLOWING = 128 * 1024 }; // bytes of the spool: shorter tests are converted in no time

static struct conversion conversion_of(struct recording *recording, const char *spool, const char *output) {
	const struct settings *settings = recording->settings;
	return (struct conversion){.input = spool,
				   .output = output,
				   .reader = &spool_reader,
				   .writer = &perfetto_writer,
				   .mode = OUTPUT_CREATE,
				   .summed = true,
				   .pictures = settings_sampled(settings) ? &recording->pictures : NULL};
}

// ---- while the test runs ----

// The disk is the test's before it is ours: a trace is larger than its spool, by less than this.
static bool has_room(const struct recording *recording) {
	enum { LARGER = 4, LEFT = 256 << 20 };
	struct statvfs disk;
	return statvfs(recording->settings->output_dir, &disk) == 0 &&
	       (uint64_t)disk.f_bavail * disk.f_frsize > LEFT + LARGER * recording->spool.written;
}

// Where there is one processor, nobody has time to spare; in a recording of the whole system we would record
// ourselves; and what may be thrown away in the end, or needs to be known as a whole, is not begun with.
static bool can_follow(const struct recording *recording) {
	const struct settings *settings = recording->settings;
	cpu_set_t processors;
	return !recording->operation && !recording->flight && settings->scope == SCOPE_TREE &&
	       settings->keep == KEEP_ALWAYS && !settings->heap_children &&
	       sched_getaffinity(0, sizeof(processors), &processors) == 0 && CPU_COUNT(&processors) > 1;
}

// Cases get traces of their own, whose files have names from the first event on.
static bool has_cases(const struct recording *recording) {
	return recording->settings->cases && recording->marker && marker_count(recording->marker);
}

static void begin_to_follow(struct recording *recording) {
	CLEANUP_FREE char *path = memory_format("%s.pb", recording->stem);
	struct stat there;
	if (!can_follow(recording) || lstat(path, &there) == 0)
		return;
	recording->pictures = (struct pictures){.stem = recording->stem, .title = recording->name};
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

void make_trace_leave(struct recording *recording) {
	if (recording->follower)
		kernel_symbols_resolve_by(NULL, NULL); // the parent asks there, one name at a time
	recording->follower = NULL;
}

// ---- at its end ----

// false: there is none, and nothing is left of it.
static bool take_followed(struct recording *recording, struct conversion_result *result) {
	struct follower *follower = recording->follower;
	recording->follower = NULL;
	if (!follower)
		return false;
	int error = follow_end(follower, result);
	if (error)
		pictures_drop(&recording->pictures);
	else
		log_verbose("the trace was made while the test ran, up to its last moments");
	return !error;
}

char *make_trace(struct recording *recording, const char *spool, const char *stem, struct case_traces *cases,
		 struct conversion_result *result) {
	if (cases) // the last marks may have been the first ones
		make_trace_cancel(recording);
	if (take_followed(recording, result))
		return memory_format("%s.pb", stem);
	for (unsigned number = 0; number < 1000; number++) {
		CLEANUP_FREE char *numbered = number ? memory_format("%s_%u", stem, number)
						     : memory_string(stem);
		char *path = memory_format("%s.pb", numbered);
		recording->pictures = (struct pictures){.stem = numbered, .title = recording->name};
		struct conversion conversion = conversion_of(recording, spool, path);
		conversion.cases = cases;
		conversion.progress = true;
		if (recording->settings->heap_children && !recording->active)
			conversion.execs = &recording->execs;
		struct stat there; // a link that leads nowhere is there too
		int error = lstat(path, &there) == 0 ? -EEXIST : convert(&conversion, result);
		if (!error)
			return path;
		free(path);
		pictures_drop(&recording->pictures);
		if (error != -EEXIST) // someone put a file there meanwhile: it stays
			return NULL;
	}
	return NULL;
}
