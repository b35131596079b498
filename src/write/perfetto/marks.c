// Marks that the test set, as track events on the track of the thread that set them. Names are interned: the
// name of a phase that occurs a million times is written once. A track's slices must balance, but a test's
// need not: it may end a slice that it never began, or fail and never end one. So the depth of each task is
// tracked; an end without a begin is dropped, and open slices are closed where their test case, program,
// thread or the trace ends. A counter has its own track below its process. A mark that belongs to no known
// task becomes an instant on the track of the whole test.
#include "write/perfetto/perfetto.h"

#include <math.h>

enum {
	MOST_DEPTH = 500, // importers give up at 512
	CATEGORY_MARK = 1,
	CATEGORY_TEST = 2,
};

// ---- packets ----

static void intern(struct buffer *packet, uint32_t table, uint64_t id, const char *text, size_t size) {
	size_t entry = proto_begin(packet, table);
	proto_uint(packet, INTERNED_IID, id);
	proto_bytes(packet, INTERNED_STRING, text, size);
	proto_end(packet, entry);
}

// Strings 0 to 63 share a word of the map, and so on.
static bool first_use(struct perfetto *perfetto, uint32_t name) {
	uint64_t *written = map_put(&perfetto->mark_names, name / 64);
	bool first = !(*written >> name % 64 & 1);
	*written |= 1ull << name % 64;
	return first;
}

struct mark_packet {
	size_t packet, event;
};

// Begins a track event; `name` is 0 for none.
static struct mark_packet mark_begin(struct perfetto *perfetto, uint64_t time, unsigned type, uint64_t track,
				     uint32_t name, unsigned category) {
	struct buffer *packet = &perfetto->packet;
	bool begun = perfetto->sequence_begun[SEQUENCE_MARKS];
	bool new_name = name && first_use(perfetto, name);
	struct mark_packet mark = {.packet = proto_begin(packet, TRACE_PACKET)};
	proto_uint(packet, PACKET_TIMESTAMP, time);
	proto_uint(packet, PACKET_SEQUENCE_ID, SEQUENCE_MARKS);
	proto_uint(packet, PACKET_SEQUENCE_FLAGS, SEQUENCE_NEEDS_STATE | (begun ? 0 : SEQUENCE_CLEARED));
	perfetto->sequence_begun[SEQUENCE_MARKS] = true;
	if (!begun || new_name) {
		size_t interned = proto_begin(packet, PACKET_INTERNED_DATA);
		if (!begun) {
			intern(packet, INTERNED_CATEGORIES, CATEGORY_MARK, "mark", 4);
			intern(packet, INTERNED_CATEGORIES, CATEGORY_TEST, "test", 4);
		}
		if (new_name)
			intern(packet, INTERNED_EVENT_NAMES, (uint64_t)name + 1,
			       strings_get(perfetto->strings, name), strings_length(perfetto->strings, name));
		proto_end(packet, interned);
	}
	mark.event = proto_begin(packet, PACKET_TRACK_EVENT);
	proto_uint(packet, TRACK_EVENT_TYPE, type);
	proto_uint(packet, TRACK_EVENT_TRACK, track);
	if (category)
		proto_uint(packet, TRACK_EVENT_CATEGORY_IIDS, category);
	if (name)
		proto_uint(packet, TRACK_EVENT_NAME_IID, (uint64_t)name + 1);
	return mark;
}

static int mark_end(struct perfetto *perfetto, struct mark_packet mark) {
	proto_end(&perfetto->packet, mark.event);
	return perfetto_end(perfetto, mark.packet);
}

static void annotate(struct perfetto *perfetto, const char *name, const char *value) {
	size_t annotation = proto_begin(&perfetto->packet, TRACK_EVENT_ANNOTATIONS);
	proto_string(&perfetto->packet, ANNOTATION_NAME, name);
	proto_string(&perfetto->packet, ANNOTATION_STRING, value);
	proto_end(&perfetto->packet, annotation);
}

// The name of a mark; marks without a text need a name, too.
static uint32_t name_of(struct perfetto *perfetto, const struct event *event) {
	return event->mark.name ? event->mark.name : strings_add(perfetto->strings, NAME_NO_TEXT);
}

static int write_named(struct perfetto *perfetto, const struct event *event, unsigned type, uint64_t track,
		       unsigned category) {
	struct mark_packet mark = mark_begin(perfetto, event->time, type, track, name_of(perfetto, event),
					     category);
	if (event->mark.cut)
		annotate(perfetto, "text", "cut off");
	return mark_end(perfetto, mark);
}

// ---- slices ----

static int end_slices(struct perfetto *perfetto, struct task *task, uint64_t time, uint32_t depth) {
	int error = 0;
	if (task->slices.depth > depth)
		task->slices.beyond = 0;
	for (; !error && task->slices.depth > depth; task->slices.depth--)
		error = mark_end(perfetto, mark_begin(perfetto, time, TYPE_SLICE_END, task->track, 0, 0));
	if (task->slices.depth < task->slices.test)
		task->slices.test = 0;
	return error;
}

int marks_close(struct perfetto *perfetto, struct task *task, uint64_t time) {
	return task->slices.depth ? end_slices(perfetto, task, time, 0) : 0;
}

static int take_slice_begin(struct perfetto *perfetto, struct task *task, const struct event *event,
			    unsigned category) {
	if (task->slices.depth == MOST_DEPTH) {
		task->slices.beyond++;
		return 0;
	}
	task->slices.depth++;
	return write_named(perfetto, event, TYPE_SLICE_BEGIN, task->track, category);
}

static int take_slice_end(struct perfetto *perfetto, struct task *task, const struct event *event) {
	if (task->slices.beyond) {
		task->slices.beyond--;
		return 0;
	}
	if (task->slices.depth <= task->slices.test)
		return 0; // it has no open slice
	return end_slices(perfetto, task, event->time, task->slices.depth - 1);
}

static int take_test_end(struct perfetto *perfetto, struct task *task, const struct event *event) {
	if (!task->slices.test)
		return 0;
	int error = end_slices(perfetto, task, event->time, task->slices.test);
	if (error)
		return error;
	struct mark_packet mark = mark_begin(perfetto, event->time, TYPE_SLICE_END, task->track, 0, 0);
	annotate(perfetto, "result",
		 event->mark.value == 0    ? "passed"
		 : event->mark.value == 77 ? "skipped"
					   : "failed");
	task->slices.depth--;
	task->slices.test = 0;
	return mark_end(perfetto, mark);
}

static int take_test_begin(struct perfetto *perfetto, struct task *task, const struct event *event) {
	int error = task->slices.test ? end_slices(perfetto, task, event->time, task->slices.test - 1) : 0;
	if (!error)
		error = take_slice_begin(perfetto, task, event, CATEGORY_TEST);
	if (!task->slices.beyond)
		task->slices.test = task->slices.depth;
	return error;
}

// ---- counters ----

static uint64_t new_track(struct perfetto *perfetto) {
	return UUID_FIRST_MARK + ++perfetto->mark_tracks;
}

static int process_track(struct perfetto *perfetto, const struct event *event, uint64_t *track) {
	uint64_t thread = 0, *ended = map_get(&perfetto->ended_processes, event->pid);
	*track = ended && !perfetto_task(perfetto, event->pid) ? *ended : 0;
	if (*track) // the last reading of a counter comes after the end; the importer would take it for a new
		    // process's
		return 0;
	struct event of_first = {.time = event->time, .tid = event->pid, .pid = event->pid};
	int error = perfetto_task_track(perfetto, &of_first, &thread);
	if (error || !thread)
		return error;
	struct task *first = perfetto_task(perfetto, event->pid);
	*track = first->process_track;
	if (*track)
		return 0;
	*track = first->process_track = new_track(perfetto);
	size_t mark = perfetto_begin(perfetto, SEQUENCE_TRACKS, event->time);
	size_t descriptor = proto_begin(&perfetto->packet, PACKET_TRACK_DESCRIPTOR);
	proto_uint(&perfetto->packet, TRACK_UUID, *track);
	size_t process = proto_begin(&perfetto->packet, TRACK_PROCESS);
	proto_uint(&perfetto->packet, TRACK_PROCESS_PID, event->pid);
	proto_end(&perfetto->packet, process);
	proto_end(&perfetto->packet, descriptor);
	return perfetto_end(perfetto, mark);
}

static int counter_track(struct perfetto *perfetto, const struct event *event, uint64_t parent,
			 uint64_t *track) {
	uint32_t name = name_of(perfetto, event);
	uint64_t *known = map_put(&perfetto->mark_counters, parent << 32 | name);
	*track = *known;
	if (*track)
		return 0;
	*track = *known = new_track(perfetto);
	size_t mark = perfetto_begin(perfetto, SEQUENCE_TRACKS, event->time);
	size_t descriptor = proto_begin(&perfetto->packet, PACKET_TRACK_DESCRIPTOR);
	proto_uint(&perfetto->packet, TRACK_UUID, *track);
	proto_string(&perfetto->packet, TRACK_NAME, strings_get(perfetto->strings, name));
	if (parent)
		proto_uint(&perfetto->packet, TRACK_PARENT, parent);
	proto_bytes(&perfetto->packet, TRACK_COUNTER, NULL, 0);
	proto_end(&perfetto->packet, descriptor);
	return perfetto_end(perfetto, mark);
}

static int take_counter(struct perfetto *perfetto, const struct event *event) {
	uint64_t parent = 0, track;
	int error = event->mark.no_task ? 0 : process_track(perfetto, event, &parent);
	if (!error)
		error = counter_track(perfetto, event, parent, &track);
	if (error)
		return error;
	struct mark_packet mark = mark_begin(perfetto, event->time, TYPE_COUNTER, track, 0, 0);
	proto_double(&perfetto->packet, TRACK_EVENT_DOUBLE_COUNTER, event->mark.value);
	return mark_end(perfetto, mark);
}

// ---- all of them ----

static int take_of_all(struct perfetto *perfetto, const struct event *event) {
	bool end = event->mark.type == MARK_SLICE_END || event->mark.type == MARK_TEST_END;
	return end ? 0 : write_named(perfetto, event, TYPE_INSTANT, UUID_TEST, CATEGORY_MARK);
}

int marks_take(struct perfetto *perfetto, const struct event *event) {
	uint64_t track;
	if (event->mark.type == MARK_COUNTER && isfinite(event->mark.value))
		return take_counter(perfetto, event);
	int error = event->mark.no_task ? 0 : perfetto_task_track(perfetto, event, &track);
	struct task *task = event->mark.no_task ? NULL : perfetto_task(perfetto, event->tid);
	if (error || !task || !task->track)
		return error ? error : take_of_all(perfetto, event);
	switch (event->mark.type) {
	case MARK_SLICE_BEGIN:
		return take_slice_begin(perfetto, task, event, CATEGORY_MARK);
	case MARK_SLICE_END:
		return take_slice_end(perfetto, task, event);
	case MARK_TEST_BEGIN:
		return take_test_begin(perfetto, task, event);
	case MARK_TEST_END:
		return take_test_end(perfetto, task, event);
	default: // an instant, or a counter without a valid value
		return write_named(perfetto, event, TYPE_INSTANT, task->track, CATEGORY_MARK);
	}
}

int marks_finish(struct perfetto *perfetto) {
	int error = 0;
	for (size_t i = 0; !error && i < perfetto->pool.count; i++)
		error = marks_close(perfetto, &perfetto->pool.items[i], perfetto->end);
	return error;
}

void marks_destroy(struct perfetto *perfetto) {
	map_free(&perfetto->mark_names);
	map_free(&perfetto->mark_counters);
	map_free(&perfetto->ended_processes);
}
