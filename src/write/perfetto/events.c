// Samples, generic events and counters in a Perfetto trace.
//
// A sample becomes a PerfSample whose call stack is interned: each distinct name, module, frame and
// stack is written once on the sequence that uses it. Every sampled event (cpu-clock, cycles, Timer
// …) has its own sequence, because the name of a timebase is a default of its sequence. A generic
// event is an instant on its thread's track, or on a track of its provider if no thread is known;
// its fields are debug annotations. One with a duration is a slice. Slices of one kind may overlap,
// which a track does not allow, so each kind has as many lanes as overlap: events come in order of
// their ends, and each takes the first lane that was free when it began.
#include "write/perfetto/perfetto.h"

#include <inttypes.h>
#include <stdio.h>

enum {
	UUID_FIRST_MORE = 0x400000000,
	MOST_FRAMES = 4096, // per stack; the outermost frames of deeper stacks are left out
	MOST_LANES = 64,
};

// The interned ids already written on one sequence: a set of (table, id).
struct interned {
	struct map written;
};

struct sample_sequence {
	struct interned interned;
	uint32_t name;
	bool begun;
};

struct lanes {
	uint64_t uuid; // of the first lane
	uint32_t count;
	uint64_t ends[MOST_LANES];
};

struct more_events {
	ARRAY(struct sample_sequence) samples;
	struct interned generic;
	struct buffer interned; // entries that the current packet must define first
	struct map tracks;      // for providers and counters: key to uuid
	struct map lane_index;  // (provider, name) to index in `lanes`
	ARRAY(struct lanes *) lanes;
	uint64_t next_uuid;
	const uint64_t *flows; // of the event that is written next
	size_t flow_count;
};

struct more_events *events_new(void) {
	struct more_events *more = memory_alloc(sizeof(*more));
	more->next_uuid = UUID_FIRST_MORE;
	return more;
}

void events_destroy(struct more_events *more) {
	for (size_t i = 0; i < more->samples.count; i++)
		map_free(&more->samples.items[i].interned.written);
	for (size_t i = 0; i < more->lanes.count; i++)
		free(more->lanes.items[i]);
	array_free(&more->samples);
	array_free(&more->lanes);
	map_free(&more->generic.written);
	map_free(&more->tracks);
	map_free(&more->lane_index);
	buffer_free(&more->interned);
	free(more);
}

// ---- interned data ----

// Is this the first use on the sequence? Ids are those of our own tables + 1.
static bool first_use(struct interned *interned, uint32_t table, uint32_t id) {
	uint64_t *bits = map_put(&interned->written, (uint64_t)table << 32 | id >> 6);
	bool first = !(*bits >> (id & 63) & 1);
	*bits |= 1ull << (id & 63);
	return first;
}

static uint64_t intern_string(struct perfetto *perfetto, struct interned *interned, uint32_t table,
			      uint32_t id) {
	if (first_use(interned, table, id)) {
		struct buffer *out = &perfetto->more->interned;
		size_t entry = proto_begin(out, table);
		proto_uint(out, INTERNED_IID, (uint64_t)id + 1);
		proto_bytes(out, INTERNED_STRING, strings_get(perfetto->strings, id),
			    strings_length(perfetto->strings, id));
		proto_end(out, entry);
	}
	return (uint64_t)id + 1;
}

// The module for frames without one.
static uint32_t module_of(struct perfetto *perfetto, const struct frame *frame) {
	static const char *const names[] = {[FRAME_USER] = "[unknown]",
					    [FRAME_KERNEL] = "[kernel]",
					    [FRAME_INLINED] = "[unknown]",
					    [FRAME_JIT] = "[jit]"};
	if (frame->module)
		return frame->module;
	return strings_add(perfetto->strings,
			   names[frame->kind < ARRAY_SIZE(names) ? frame->kind : FRAME_USER]);
}

// Perfetto puts a slash in front of the path.
static void write_path(struct perfetto *perfetto, struct interned *interned, uint32_t id) {
	if (!first_use(interned, INTERNED_MAPPING_PATHS, id))
		return;
	struct buffer *out = &perfetto->more->interned;
	const char *path = strings_get(perfetto->strings, id);
	size_t entry = proto_begin(out, INTERNED_MAPPING_PATHS);
	proto_uint(out, INTERNED_IID, (uint64_t)id + 1);
	proto_string(out, INTERNED_STRING, *path == '/' ? path + 1 : path);
	proto_end(out, entry);
}

static uint64_t intern_mapping(struct perfetto *perfetto, struct interned *interned, uint32_t module) {
	if (first_use(interned, INTERNED_MAPPINGS, module)) {
		write_path(perfetto, interned, module);
		struct buffer *out = &perfetto->more->interned;
		size_t entry = proto_begin(out, INTERNED_MAPPINGS);
		proto_uint(out, INTERNED_IID, (uint64_t)module + 1);
		proto_uint(out, MAPPING_PATHS, (uint64_t)module + 1);
		proto_end(out, entry);
	}
	return (uint64_t)module + 1;
}

static uint32_t place_name(struct perfetto *perfetto, const struct frame *frame) {
	CLEANUP_FREE char *place = frame_place(strings_get(perfetto->strings, frame->module),
					       frame->position);
	return strings_add(perfetto->strings, place);
}

static uint64_t intern_frame(struct perfetto *perfetto, struct interned *interned, uint32_t id) {
	if (!first_use(interned, INTERNED_FRAMES, id))
		return (uint64_t)id + 1;
	const struct frame *frame = stacks_frame(perfetto->stacks, id);
	bool unnamed = !frame->symbol && frame->position && frame->kind == FRAME_USER;
	uint32_t name = unnamed ? place_name(perfetto, frame) : frame->symbol;
	uint64_t function = intern_string(perfetto, interned, INTERNED_FUNCTION_NAMES, name);
	uint64_t mapping = intern_mapping(perfetto, interned, module_of(perfetto, frame));
	uint64_t source = frame->file ? intern_string(perfetto, interned, INTERNED_SOURCE_PATHS, frame->file)
				      : 0;
	uint64_t at = frame->at_file
			      ? intern_string(perfetto, interned, INTERNED_SOURCE_PATHS, frame->at_file)
			      : 0;
	struct buffer *out = &perfetto->more->interned;
	size_t entry = proto_begin(out, INTERNED_FRAMES);
	proto_uint(out, INTERNED_IID, (uint64_t)id + 1);
	proto_uint(out, FRAME_FUNCTION, function);
	proto_uint(out, FRAME_MAPPING, mapping);
	proto_uint(out, FRAME_REL_PC, unnamed ? frame->position : frame->address);
	if (source)
		proto_uint(out, FRAME_SOURCE_PATH, source);
	if (frame->line)
		proto_uint(out, FRAME_LINE, frame->line);
	if (at) {
		proto_uint(out, FRAME_AT_PATH, at);
		proto_uint(out, FRAME_AT_LINE, frame->at_line);
	}
	if (frame->kind == FRAME_INLINED)
		proto_string(out, FRAME_KIND_TEXT, "inlined");
	else if (frame->kind != FRAME_USER)
		proto_uint(out, FRAME_KIND, frame->kind == FRAME_KERNEL ? KIND_KERNEL : KIND_JIT);
	proto_end(out, entry);
	return (uint64_t)id + 1;
}

// Perfetto wants the outermost frame first; ours are linked from the innermost.
static uint64_t intern_stack(struct perfetto *perfetto, struct interned *interned, uint32_t id) {
	if (!id || !first_use(interned, INTERNED_CALLSTACKS, id))
		return id;
	uint64_t frames[MOST_FRAMES];
	size_t count = 0;
	const struct stack *stack = stacks_get(perfetto->stacks, id);
	for (; stack && count < MOST_FRAMES; stack = stacks_get(perfetto->stacks, stack->caller))
		frames[count++] = intern_frame(perfetto, interned, stack->frame);
	struct buffer *out = &perfetto->more->interned;
	size_t entry = proto_begin(out, INTERNED_CALLSTACKS);
	proto_uint(out, INTERNED_IID, id);
	while (count)
		proto_uint(out, CALLSTACK_FRAMES, frames[--count]);
	proto_end(out, entry);
	return id;
}

static void write_interned(struct perfetto *perfetto) {
	struct buffer *entries = &perfetto->more->interned;
	if (entries->size)
		proto_bytes(&perfetto->packet, PACKET_INTERNED_DATA, entries->data, entries->size);
	entries->size = 0;
}

// ---- samples ----

static struct sample_sequence *sample_sequence(struct perfetto *perfetto, uint32_t name, uint32_t *number) {
	struct more_events *more = perfetto->more;
	for (size_t i = 0; i < more->samples.count; i++) {
		if (more->samples.items[i].name == name) {
			*number = SEQUENCE_FIRST_SAMPLES + (uint32_t)i;
			return &more->samples.items[i];
		}
	}
	*number = SEQUENCE_FIRST_SAMPLES + (uint32_t)more->samples.count;
	array_push(&more->samples, (struct sample_sequence){.name = name});
	return &more->samples.items[more->samples.count - 1];
}

static void write_sample_defaults(struct perfetto *perfetto, const struct event *event) {
	struct buffer *packet = &perfetto->packet;
	const char *name = strings_get(perfetto->strings, event->sample.name);
	size_t defaults = proto_begin(packet, PACKET_DEFAULTS);
	size_t sample = proto_begin(packet, DEFAULTS_PERF_SAMPLE);
	size_t timebase = proto_begin(packet, SAMPLE_DEFAULTS_TIMEBASE);
	proto_uint(packet, TIMEBASE_PERIOD, event->sample.weight ? event->sample.weight : 1);
	proto_string(packet, TIMEBASE_NAME, *name ? name : "samples");
	proto_end(packet, timebase);
	proto_end(packet, sample);
	proto_end(packet, defaults);
}

// Names that are known only from samples. If the process of a task is unknown, only the kernel's name is
// available.
static int name_task(struct perfetto *perfetto, const struct event *event) {
	uint32_t name = event->sample.comm, tid = event->tid;
	const struct task *task = perfetto_task(perfetto, tid);
	if (!name || !tid || event->sample.flags & SAMPLE_NO_TASK || (task && task->name == name))
		return 0;
	struct event rename = {.kind = EVENT_RENAME,
			       .time = event->time,
			       .cpu = CPU_NONE,
			       .tid = tid,
			       .pid = event->pid,
			       .rename = {.name = name}};
	if (!task && !event->pid) {
		uint64_t *known = map_put(&perfetto->outsiders, tid);
		if (*known == name)
			return 0;
		*known = name;
		rename.cpu = event->cpu < CPU_COUNT_MOST ? event->cpu : 0;
	}
	return perfetto_rename(perfetto, &rename);
}

size_t events_stack_packet(struct perfetto *perfetto, uint32_t name, uint32_t stack, uint64_t time,
			   bool *first) {
	struct buffer *packet = &perfetto->packet;
	uint32_t number;
	struct sample_sequence *sequence = sample_sequence(perfetto, name, &number);
	intern_stack(perfetto, &sequence->interned, stack);
	size_t mark = proto_begin(packet, TRACE_PACKET);
	proto_uint(packet, PACKET_TIMESTAMP, time);
	proto_uint(packet, PACKET_SEQUENCE_ID, number);
	proto_uint(packet, PACKET_SEQUENCE_FLAGS,
		   (sequence->begun ? 0 : SEQUENCE_CLEARED) | SEQUENCE_NEEDS_STATE);
	if (first)
		*first = !sequence->begun;
	sequence->begun = true;
	write_interned(perfetto);
	return mark;
}

int events_sample(struct perfetto *perfetto, const struct event *event) {
	struct buffer *packet = &perfetto->packet;
	bool first;
	if (event->sample.flags & SAMPLE_METRIC)
		return heap_take(perfetto, event);
	int error = name_task(perfetto, event);
	if (!error && event->sample.name == perfetto->off_cpu_name)
		error = ftrace_waited(perfetto, event);
	if (error)
		return error;
	uint32_t stack = event->sample.stack; // also its id in the trace
	const struct stack *leaf = stacks_get(perfetto->stacks, stack);
	size_t mark = events_stack_packet(perfetto, event->sample.name, stack, event->time, &first);
	if (first)
		write_sample_defaults(perfetto, event);
	size_t sample = proto_begin(packet, PACKET_PERF_SAMPLE);
	if (event->cpu != CPU_NONE)
		proto_uint(packet, SAMPLE_CPU, event->cpu);
	if (!(event->sample.flags & (SAMPLE_NO_TASK | SAMPLE_NO_PID)))
		proto_uint(packet, SAMPLE_PID, event->pid);
	if (!(event->sample.flags & SAMPLE_NO_TASK))
		proto_uint(packet, SAMPLE_TID, event->tid);
	if (stack)
		proto_uint(packet, SAMPLE_CALLSTACK, stack);
	if (leaf)
		proto_uint(packet, SAMPLE_CPU_MODE,
			   stacks_frame(perfetto->stacks, leaf->frame)->kind == FRAME_KERNEL ? CPU_MODE_KERNEL
											     : CPU_MODE_USER);
	proto_uint(packet, SAMPLE_COUNT, event->sample.weight);
	if (event->sample.flags & SAMPLE_BROKEN)
		proto_uint(packet, SAMPLE_UNWIND_ERROR, UNWIND_ERROR_UNKNOWN);
	else if (event->sample.flags & SAMPLE_CUT)
		proto_uint(packet, SAMPLE_UNWIND_ERROR, UNWIND_ERROR_MAX_FRAMES);
	if (event->sample.comm && !event->tid)
		proto_string(packet, SAMPLE_OWN_NAME, strings_get(perfetto->strings, event->sample.comm));
	proto_end(packet, sample);
	return perfetto_end(perfetto, mark);
}

// ---- tracks ----

static int describe_track(struct perfetto *perfetto, uint64_t uuid, const char *name, bool counter) {
	size_t mark = perfetto_begin(perfetto, SEQUENCE_TRACKS, NO_TIME);
	size_t track = proto_begin(&perfetto->packet, PACKET_TRACK_DESCRIPTOR);
	proto_uint(&perfetto->packet, TRACK_UUID, uuid);
	proto_string(&perfetto->packet, TRACK_NAME, name);
	if (counter)
		proto_bytes(&perfetto->packet, TRACK_COUNTER, NULL, 0);
	proto_end(&perfetto->packet, track);
	return perfetto_end(perfetto, mark);
}

// The uuid for `key`, described as `name` if it is new.
static int named_track(struct perfetto *perfetto, uint64_t key, const char *name, bool counter,
		       uint64_t *uuid) {
	struct more_events *more = perfetto->more;
	uint64_t *known = map_put(&more->tracks, key);
	*uuid = *known;
	if (*known)
		return 0;
	*uuid = *known = more->next_uuid++;
	return describe_track(perfetto, *uuid, name, counter);
}

// ---- generic events ----

static void annotate(struct perfetto *perfetto, const struct event_field *field, uint64_t name) {
	struct buffer *packet = &perfetto->packet;
	size_t annotation = proto_begin(packet, TRACK_EVENT_ANNOTATIONS);
	proto_uint(packet, ANNOTATION_NAME_IID, name);
	switch (field->type) {
	case FIELD_UINT:
		proto_uint(packet, ANNOTATION_UINT, field->uint);
		break;
	case FIELD_INT:
		proto_int(packet, ANNOTATION_INT, field->sint);
		break;
	case FIELD_HEX:
		proto_uint(packet, ANNOTATION_POINTER, field->uint);
		break;
	case FIELD_DOUBLE:
		proto_double(packet, ANNOTATION_DOUBLE, field->real);
		break;
	case FIELD_BOOL:
		proto_uint(packet, ANNOTATION_BOOL, field->uint != 0);
		break;
	case FIELD_TEXT:
		proto_bytes(packet, ANNOTATION_STRING, field->text, field->size);
		break;
	}
	proto_end(packet, annotation);
}

static size_t generic_begin(struct perfetto *perfetto, uint64_t time) {
	struct buffer *packet = &perfetto->packet;
	size_t mark = proto_begin(packet, TRACE_PACKET);
	bool begun = perfetto->sequence_begun[SEQUENCE_GENERIC];
	proto_uint(packet, PACKET_TIMESTAMP, time);
	proto_uint(packet, PACKET_SEQUENCE_ID, SEQUENCE_GENERIC);
	proto_uint(packet, PACKET_SEQUENCE_FLAGS, (begun ? 0 : SEQUENCE_CLEARED) | SEQUENCE_NEEDS_STATE);
	perfetto->sequence_begun[SEQUENCE_GENERIC] = true;
	return mark;
}

// Strings are interned before the packet begins, because their entries come first.
static int write_generic(struct perfetto *perfetto, const struct event *event, unsigned type, uint64_t track,
			 uint64_t time) {
	struct buffer *packet = &perfetto->packet;
	struct interned *interned = &perfetto->more->generic;
	uint64_t provider = intern_string(perfetto, interned, INTERNED_CATEGORIES, event->generic.provider);
	uint64_t name = intern_string(perfetto, interned, INTERNED_EVENT_NAMES, event->generic.name);
	uint64_t stack = intern_stack(perfetto, interned, event->generic.stack);
	for (uint32_t i = 0; i < event->generic.field_count; i++)
		intern_string(perfetto, interned, INTERNED_ANNOTATION_NAMES,
			      strings_add(perfetto->strings, event->generic.fields[i].name));
	size_t mark = generic_begin(perfetto, time);
	write_interned(perfetto);
	size_t body = proto_begin(packet, PACKET_TRACK_EVENT);
	proto_uint(packet, TRACK_EVENT_TYPE, type);
	proto_uint(packet, TRACK_EVENT_TRACK, track);
	proto_uint(packet, TRACK_EVENT_CATEGORY_IIDS, provider);
	proto_uint(packet, TRACK_EVENT_NAME_IID, name);
	if (stack)
		proto_uint(packet, TRACK_EVENT_CALLSTACK_IID, stack);
	for (uint32_t i = 0; i < event->generic.field_count; i++)
		annotate(perfetto, &event->generic.fields[i],
			 (uint64_t)strings_add(perfetto->strings, event->generic.fields[i].name) + 1);
	for (size_t i = 0; i < perfetto->more->flow_count; i++)
		proto_fixed64(packet, TRACK_EVENT_FLOWS, perfetto->more->flows[i]);
	perfetto->more->flow_count = 0;
	proto_end(packet, body);
	return perfetto_end(perfetto, mark);
}

static struct lanes *lanes_of(struct more_events *more, uint64_t key) {
	uint64_t *index = map_put(&more->lane_index, key);
	if (!*index) {
		struct lanes *lanes = memory_alloc(sizeof(*lanes));
		lanes->uuid = more->next_uuid;
		more->next_uuid += MOST_LANES;
		array_push(&more->lanes, lanes);
		*index = more->lanes.count;
	}
	return more->lanes.items[*index - 1];
}

// A lane that is free from `begin` on. If all are taken, the event is moved to the end of the last lane's
// slice.
static int take_lane(struct perfetto *perfetto, const struct event *event, uint64_t *begin, uint64_t *uuid) {
	uint64_t key = (uint64_t)event->generic.provider << 32 | event->generic.name;
	const char *name = strings_get(perfetto->strings, event->generic.name);
	char title[160];
	snprintf(title, sizeof(title), "%s", name);
	if (event->generic.on_cpu && event->cpu != CPU_NONE) {
		key = hash_u64(key ^ (uint64_t)(event->cpu + 1) << 56 ^ (event->cpu + 1));
		snprintf(title, sizeof(title), "%s cpu %" PRIu32, name, event->cpu);
	}
	struct lanes *lanes = lanes_of(perfetto->more, key);
	uint32_t lane = 0;
	while (lane < lanes->count && lanes->ends[lane] > *begin && lane + 1 < MOST_LANES)
		lane++;
	*uuid = lanes->uuid + lane;
	*begin = MAX(*begin, lanes->ends[lane]);
	lanes->ends[lane] = MAX(event->time, *begin);
	if (lane < lanes->count)
		return 0;
	lanes->count++;
	return describe_track(perfetto, *uuid, title, false);
}

static int write_slice(struct perfetto *perfetto, const struct event *event) {
	uint64_t uuid,
		begin = event->time > event->generic.duration ? event->time - event->generic.duration : 0;
	int error = counters_is_slice(perfetto, event) ? counters_slice_track(perfetto, event, &uuid)
						       : take_lane(perfetto, event, &begin, &uuid);
	if (!error && uuid)
		error = write_generic(perfetto, event, TYPE_SLICE_BEGIN, uuid, begin);
	if (error || !uuid)
		return error;
	size_t mark = generic_begin(perfetto, MAX(event->time, begin));
	size_t body = proto_begin(&perfetto->packet, PACKET_TRACK_EVENT);
	proto_uint(&perfetto->packet, TRACK_EVENT_TYPE, TYPE_SLICE_END);
	proto_uint(&perfetto->packet, TRACK_EVENT_TRACK, uuid);
	proto_end(&perfetto->packet, body);
	return perfetto_end(perfetto, mark);
}

int events_slice(struct perfetto *perfetto, const struct event *event, const uint64_t *flows, size_t count) {
	perfetto->more->flows = flows;
	perfetto->more->flow_count = count;
	return write_slice(perfetto, event);
}

int events_generic(struct perfetto *perfetto, const struct event *event) {
	if (event->generic.duration)
		return write_slice(perfetto, event);
	uint64_t track, flow = 0;
	int error = event->generic.numbers ? activities_take(perfetto, event, &flow) : 0;
	if (!error)
		error = perfetto_task_track(perfetto, event, &track);
	perfetto->more->flows = &flow;
	perfetto->more->flow_count = flow != 0;
	if (!error && !track) {
		const char *provider = strings_get(perfetto->strings, event->generic.provider);
		error = named_track(perfetto, event->generic.provider, *provider ? provider : "Events", false,
				    &track);
	}
	return error ? error : write_generic(perfetto, event, TYPE_INSTANT, track, event->time);
}

// ---- counters ----

int events_counter(struct perfetto *perfetto, const struct event *event) {
	if (event->counter.adds)
		return counters_add(perfetto, event);
	struct buffer *packet = &perfetto->packet;
	const char *name = strings_get(perfetto->strings, event->counter.name);
	char title[160];
	if (event->cpu == CPU_NONE)
		snprintf(title, sizeof(title), "%s", name);
	else
		snprintf(title, sizeof(title), "%s cpu %" PRIu32, name, event->cpu);
	uint64_t key = 1ull << 63 | (uint64_t)(event->cpu + 1) << 32 | event->counter.name;
	uint64_t track;
	int error = named_track(perfetto, key, title, true, &track);
	if (error)
		return error;
	size_t mark = perfetto_begin(perfetto, SEQUENCE_EVENTS, event->time);
	size_t body = proto_begin(packet, PACKET_TRACK_EVENT);
	proto_uint(packet, TRACK_EVENT_TYPE, TYPE_COUNTER);
	proto_uint(packet, TRACK_EVENT_TRACK, track);
	proto_double(packet, TRACK_EVENT_DOUBLE_COUNTER, event->counter.value);
	proto_end(packet, body);
	return perfetto_end(perfetto, mark);
}
