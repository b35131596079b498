// The critical path as events, for a track in the trace. A program that passes a token between two threads
// changes sides a million times: pieces too short to be seen are joined, so that the track stays small.
#include "analyse/why.h"

#include <string.h>

enum { FINEST = 1024 }; // a piece of this part of the whole time is never joined with others

static uint32_t name_of(const struct why *why, const struct why_segment *segment) {
	const char *function = segment->state == PATH_READY ? NULL : why_place(why, segment->own).function;
	const char *reason = reason_names[segment->reason];
	CLEANUP_FREE char *name = function && *function ? memory_format("%s: %s", reason, function)
							: memory_string(reason);
	return strings_add(why->timeline->tables->strings, name);
}

// Steps that become one event.
struct joined {
	uint64_t from, to, longest;
	uint32_t segment; // of the longest step
};

// The next joined steps from `*at` on: one long step, or short ones until they are long together.
static struct joined join(const struct why *why, size_t *at, uint64_t from, uint64_t enough) {
	struct joined joined = {.from = from, .to = from};
	for (; *at < why->path.count; (*at)++) {
		const struct why_step *step = &why->path.items[*at];
		uint64_t ns = step->to - joined.to;
		if (ns >= enough && joined.to > from)
			break;
		if (ns >= joined.longest) {
			joined.longest = ns;
			joined.segment = step->segment;
		}
		joined.to = step->to;
		if (joined.to - from >= enough) {
			(*at)++;
			break;
		}
	}
	return joined;
}

static struct event event_of(const struct why *why, const struct joined *joined) {
	const struct why_segment *segment = &why->segments.items[joined->segment];
	const struct timeline_thread *thread = timeline_thread(why->timeline, segment->thread);
	return (struct event){
		.kind = EVENT_PATH,
		.time = joined->to,
		.cpu = CPU_NONE,
		.tid = thread->tid,
		.pid = thread->pid,
		.path = {.from = joined->from, .name = name_of(why, segment), .thread = thread->name}};
}

int why_push_path(const struct why *why, struct sink *sink) {
	uint64_t enough = why->path.count > FINEST ? (why->to - why->from) / FINEST : 1;
	struct event last = {0};
	uint64_t from = why->from;
	int error = 0;
	for (size_t at = 0; !error && at < why->path.count;) {
		struct joined joined = join(why, &at, from, enough);
		struct event event = event_of(why, &joined);
		from = joined.to;
		event.path.comes = last.path.goes = last.time && last.tid != event.tid;
		error = last.time ? sink_push(sink, &last) : 0;
		last = event;
	}
	return error || !last.time ? error : sink_push(sink, &last);
}
