#include "analyse/path_samples.h"
#include "analyse/why.h"

struct path_samples {
	struct sink sink, *next;
	struct timeline timeline;
	struct map stacks; // reason and stack to the same stack below the reason
	struct map roles;  // thread to the name of its role
	uint32_t event, flags;
	int error;
	char words[160];
};

static uint32_t stack_below(struct path_samples *samples, enum reason reason, uint32_t stack) {
	struct tables *tables = samples->timeline.tables;
	uint64_t *known = map_put(&samples->stacks, (uint64_t)reason << 32 | stack);
	if (!*known) {
		CLEANUP_FREE char *name = memory_format("[%s]", reason_names[reason]);
		struct frame frame = {.symbol = strings_add(tables->strings, name), .exact = NAME_EXACT};
		*known = stacks_below(tables->stacks, stacks_add_frame(tables->stacks, &frame), stack);
	}
	return (uint32_t)*known;
}

static uint32_t role_of(struct path_samples *samples, const struct why *why, uint32_t thread) {
	uint64_t *known = map_put(&samples->roles, thread);
	if (!*known) {
		CLEANUP_FREE char *role = why_role(why, thread);
		*known = strings_add(samples->timeline.tables->strings, *role ? role : "?");
	}
	return (uint32_t)*known;
}

// A thread that is ready after a wait is still where it waited.
static uint32_t stack_of(const struct timeline *timeline, const struct path_piece *piece) {
	const struct moment *woken = piece->woken ? timeline_moment(timeline, piece->woken) : NULL;
	const struct moment *wait = woken && woken->before ? timeline_moment(timeline, woken->before) : NULL;
	bool waited = piece->state == PATH_READY && wait && wait->kind == MOMENT_WAITS;
	return waited ? wait->stack : piece->stack;
}

static void push_piece(void *context, struct why *why, const struct path_piece *piece,
		       const struct why_segment *segment) {
	struct path_samples *samples = context;
	const struct timeline_thread *thread = timeline_thread(why->timeline, piece->thread);
	uint32_t stack = stack_of(why->timeline, piece);
	struct event sample = {.kind = EVENT_SAMPLE,
			       .time = piece->to,
			       .cpu = CPU_NONE,
			       .tid = thread->tid,
			       .pid = thread->pid,
			       .sample = {.weight = piece->to - piece->from,
					  .stack = stack_below(samples, segment->reason, stack),
					  .name = samples->event,
					  .comm = role_of(samples, why, piece->thread),
					  .flags = samples->flags}};
	if (!samples->error)
		samples->error = sink_push(samples->next, &sample);
}

static int push(struct sink *sink, const struct event *event) {
	struct path_samples *samples = CONTAINER_OF(sink, struct path_samples, sink);
	return sink_push(&samples->timeline.sink, event);
}

static int finish(struct sink *sink) {
	struct path_samples *samples = CONTAINER_OF(sink, struct path_samples, sink);
	struct why_question question = {.watch = push_piece, .context = samples};
	struct why why;
	sink_finish(&samples->timeline.sink);
	int error = why_find(&why, &samples->timeline, &question);
	memcpy(samples->words, why.error, sizeof(samples->words));
	why_free(&why);
	return error ? error : samples->error;
}

static void destroy(struct sink *sink) {
	struct path_samples *samples = CONTAINER_OF(sink, struct path_samples, sink);
	timeline_free(&samples->timeline);
	map_free(&samples->stacks);
	map_free(&samples->roles);
	free(samples);
}

struct sink *path_samples_new(struct tables *tables, uint32_t flags, struct sink *next) {
	struct path_samples *samples = memory_alloc(sizeof(*samples));
	samples->sink = (struct sink){.push = push, .finish = finish, .destroy = destroy};
	samples->next = next;
	samples->flags = flags;
	samples->event = strings_add(tables->strings, EVENT_CRITICAL_PATH);
	timeline_init(&samples->timeline, tables);
	return &samples->sink;
}

const char *path_samples_error(const struct sink *sink) {
	return CONTAINER_OF(sink, const struct path_samples, sink)->words;
}
