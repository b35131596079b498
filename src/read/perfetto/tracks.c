// Tracks and the events on them.
//
// An application's slices on a thread's track become marks: slices that nest.
// Slices on other tracks (requests, devices) need not belong to a thread: each
// becomes one event with a duration when it ends. A process's counter also
// becomes a mark; other counters become counters. Instants become generic events
// with their annotations as fields.
#include "read/perfetto/perfetto.h"

#include <inttypes.h>

enum { MOST_DEPTH = 512, MOST_FIELDS = 256 };

// ---- descriptors ----

struct track *tracks_find(const struct perfetto_reader *reader, uint64_t uuid) {
	const uint64_t *index = map_get(&reader->track_index, uuid);
	return index ? &reader->tracks.items[*index - 1] : NULL;
}

static struct track *track_of(struct perfetto_reader *reader, uint64_t uuid) {
	uint64_t *index = map_put(&reader->track_index, uuid);
	if (!*index) {
		array_push(&reader->tracks, (struct track){.uuid = uuid, .multiplier = 1});
		*index = reader->tracks.count;
	}
	return &reader->tracks.items[*index - 1];
}

static void take_thread(struct perfetto_reader *reader, struct track *track, struct cursor thread) {
	struct wire_field field;
	uint64_t tid = 0, pid = 0;
	while (wire_each(&thread, &field)) {
		if (field.number == TRACK_THREAD_PID)
			pid = field.value;
		else if (field.number == TRACK_THREAD_TID)
			tid = field.value;
		else if (field.number == TRACK_THREAD_NAME && field.wire == PROTO_BYTES)
			track->name = cursor_text(reader, field.bytes);
	}
	if (is_task(tid) && is_task(pid)) {
		track->tid = (uint32_t)tid;
		track->pid = (uint32_t)pid;
	}
}

static void take_process(struct perfetto_reader *reader, struct track *track, struct cursor process) {
	struct wire_field field;
	while (wire_each(&process, &field)) {
		if (field.number == TRACK_PROCESS_PID && is_task(field.value))
			track->pid = (uint32_t)field.value;
		else if (field.number == TRACK_PROCESS_NAME && field.wire == PROTO_BYTES)
			track->name = cursor_text(reader, field.bytes);
	}
}

static void take_counter_track(struct perfetto_reader *reader, struct track *track, struct cursor counter) {
	struct wire_field field;
	track->counter = true;
	while (wire_each(&counter, &field)) {
		if (field.number == COUNTER_MULTIPLIER && field.value)
			track->multiplier = field.value;
		else if (field.number == COUNTER_INCREMENTAL)
			track->incremental = field.value;
		else if (field.number == COUNTER_UNIT_NAME && field.wire == PROTO_BYTES)
			track->unit = cursor_text(reader, field.bytes);
	}
}

static uint64_t uuid_of(struct cursor descriptor) {
	struct wire_field field;
	uint64_t uuid = 0;
	while (wire_each(&descriptor, &field))
		if (field.number == TRACK_UUID)
			uuid = field.value;
	return uuid;
}

void tracks_describe(struct perfetto_reader *reader, struct cursor descriptor) {
	struct track *track = track_of(reader, uuid_of(descriptor));
	struct wire_field field;
	while (wire_each(&descriptor, &field)) {
		if (field.number == TRACK_PARENT)
			track->parent = field.value;
		if (field.wire != PROTO_BYTES)
			continue;
		if (field.number == TRACK_NAME || field.number == TRACK_STATIC_NAME)
			track->name = cursor_text(reader, field.bytes);
		else if (field.number == TRACK_THREAD)
			take_thread(reader, track, field.bytes);
		else if (field.number == TRACK_PROCESS)
			take_process(reader, track, field.bytes);
		else if (field.number == TRACK_COUNTER)
			take_counter_track(reader, track, field.bytes);
	}
}

// Applications that trace themselves give their names only here.
int tracks_tasks(struct perfetto_reader *reader) {
	int error = 0;
	for (size_t i = 0; !error && !reader->ours && i < reader->tracks.count; i++) {
		const struct track *track = &reader->tracks.items[i];
		uint32_t tid = track->tid ? track->tid : track->pid;
		if (!tid || !track->name || track->counter)
			continue;
		struct event event = {.kind = EVENT_TASK,
				      .time = reader->start,
				      .cpu = CPU_NONE,
				      .tid = tid,
				      .pid = track->pid,
				      .task = {.name = track->name}};
		error = reader_push(reader, &event);
	}
	return error;
}

// ---- annotations ----

static void take_annotation(struct perfetto_reader *reader, const struct sequence *sequence,
			    struct cursor annotation) {
	const struct strings *strings = reader->tables->strings;
	struct event_field out = {0};
	struct wire_field field;
	bool has_value = true;
	while (wire_each(&annotation, &field)) {
		uint32_t text;
		switch (field.number) {
		case ANNOTATION_NAME_IID:
			text = sequence_lookup(sequence, INTERNED_ANNOTATION_NAMES, field.value);
			out.name = strings_get(strings, text);
			break;
		case ANNOTATION_NAME:
			out.name = strings_get(strings, cursor_text(reader, field.bytes));
			break;
		case ANNOTATION_BOOL:
			out.type = FIELD_BOOL;
			out.uint = field.value != 0;
			break;
		case ANNOTATION_UINT:
			out.type = FIELD_UINT;
			out.uint = field.value;
			break;
		case ANNOTATION_INT:
			out.type = FIELD_INT;
			out.sint = (int64_t)field.value;
			break;
		case ANNOTATION_DOUBLE:
			out.type = FIELD_DOUBLE;
			memcpy(&out.real, &field.value, sizeof(out.real));
			break;
		case ANNOTATION_POINTER:
			out.type = FIELD_HEX;
			out.uint = field.value;
			break;
		case ANNOTATION_STRING:
			out.type = FIELD_TEXT;
			out.text = (const char *)field.bytes.at;
			out.size = cursor_left(&field.bytes);
			break;
		case ANNOTATION_STRING_IID:
			text = sequence_lookup(sequence, INTERNED_ANNOTATION_STRINGS, field.value);
			out.type = FIELD_TEXT;
			out.text = strings_get(strings, text);
			out.size = strings_length(strings, text);
			break;
		default:
			has_value = false; // a list or dictionary of values
		}
	}
	if (out.type == FIELD_TEXT && !out.text)
		out.text = "";
	if (out.name && has_value && reader->fields.count < MOST_FIELDS)
		array_push(&reader->fields, out);
}

const struct event_field *tracks_field(const struct perfetto_reader *reader, const char *name) {
	for (size_t i = 0; i < reader->fields.count; i++)
		if (strcmp(reader->fields.items[i].name, name) == 0)
			return &reader->fields.items[i];
	return NULL;
}

// ---- events ----

static void take_field(struct perfetto_reader *reader, const struct packet *packet,
		       const struct wire_field *field, struct track_event *event, uint64_t *uuid) {
	switch (field->number) {
	case TRACK_EVENT_TYPE:
		event->type = (uint32_t)field->value;
		break;
	case TRACK_EVENT_TRACK:
		*uuid = field->value;
		break;
	case TRACK_EVENT_CATEGORY_IIDS:
		if (!event->category)
			event->category = sequence_lookup(packet->sequence, INTERNED_CATEGORIES,
							  field->value);
		break;
	case TRACK_EVENT_CATEGORIES:
		if (!event->category)
			event->category = cursor_text(reader, field->bytes);
		break;
	case TRACK_EVENT_NAME_IID:
		event->name = sequence_lookup(packet->sequence, INTERNED_EVENT_NAMES, field->value);
		break;
	case TRACK_EVENT_NAME:
		event->name = cursor_text(reader, field->bytes);
		break;
	case TRACK_EVENT_CALLSTACK_IID:
		event->stack = sequence_lookup(packet->sequence, INTERNED_CALLSTACKS, field->value);
		break;
	case TRACK_EVENT_ANNOTATIONS:
		take_annotation(reader, packet->sequence, field->bytes);
		break;
	case TRACK_EVENT_COUNTER:
		event->value = (double)(int64_t)field->value;
		event->has_value = true;
		break;
	case TRACK_EVENT_DOUBLE_COUNTER:
		memcpy(&event->value, &field->value, sizeof(event->value));
		event->has_value = true;
		break;
	case TRACK_EVENT_LEGACY:
		event->legacy = true;
		break;
	}
}

static int push_counter(struct perfetto_reader *reader, const struct track_event *event) {
	struct track *track = event->track;
	if (!track || !event->has_value) {
		reader->bad++;
		return 0;
	}
	double value = event->value * (double)track->multiplier;
	if (track->incremental)
		value = track->value += value;
	const struct track *parent = track->parent ? tracks_find(reader, track->parent) : NULL;
	uint32_t pid = parent ? parent->pid : track->pid;
	struct event counter = {.kind = EVENT_COUNTER,
				.time = event->time,
				.cpu = CPU_NONE,
				.counter = {.value = value, .name = track->name}};
	if (pid)
		counter = (struct event){.kind = EVENT_MARK,
					 .time = event->time,
					 .cpu = CPU_NONE,
					 .tid = pid,
					 .pid = pid,
					 .mark = {.value = value, .name = track->name, .type = MARK_COUNTER}};
	return reader_push(reader, &counter);
}

static int push_mark(struct perfetto_reader *reader, const struct track_event *event) {
	struct event mark = {
		.kind = EVENT_MARK,
		.time = event->time,
		.cpu = CPU_NONE,
		.tid = event->track->tid,
		.pid = event->track->pid,
		.mark = {.name = event->type == TYPE_SLICE_END ? 0 : event->name,
			 .type = event->type == TYPE_SLICE_END ? MARK_SLICE_END : MARK_SLICE_BEGIN}};
	return reader_push(reader, &mark);
}

static int push_instant(struct perfetto_reader *reader, const struct track_event *event) {
	const struct track *track = event->track;
	struct event instant = {.kind = EVENT_GENERIC,
				.time = event->time,
				.cpu = CPU_NONE,
				.generic = {.provider = event->category,
					    .name = event->name,
					    .stack = event->stack,
					    .fields = reader->fields.items,
					    .field_count = (uint32_t)reader->fields.count}};
	if (track) {
		instant.pid = track->pid;
		instant.tid = track->tid ? track->tid : track->pid;
	}
	return reader_push(reader, &instant);
}

// ---- slices without a thread ----

static int end_slice(struct perfetto_reader *reader, struct track *track, uint64_t time) {
	struct open_slice slice = track->open.items[--track->open.count];
	const struct track *parent = track->parent ? tracks_find(reader, track->parent) : NULL;
	bool of_thread = parent && parent->tid;
	time = MAX(time, slice.time);
	struct event event = {.kind = EVENT_GENERIC,
			      .time = time,
			      .cpu = CPU_NONE,
			      .pid = of_thread ? parent->pid : track->pid,
			      .tid = of_thread ? parent->tid : track->pid,
			      .generic = {.provider = slice.provider,
					  .name = slice.name,
					  .stack = slice.stack,
					  .fields = slice.fields,
					  .field_count = slice.field_count,
					  .duration = time - slice.time}};
	int error = reader_push(reader, &event);
	free((void *)(uintptr_t)slice.fields);
	return error;
}

static int take_slice(struct perfetto_reader *reader, const struct track_event *event) {
	struct track *track = event->track;
	if (event->type == TYPE_SLICE_END && track->open.count)
		return end_slice(reader, track, event->time);
	if (event->type == TYPE_SLICE_END || track->open.count >= MOST_DEPTH) {
		reader->bad++;
		return 0;
	}
	array_push(&track->open, (struct open_slice){.time = event->time,
						     .provider = event->category,
						     .name = event->name,
						     .stack = event->stack,
						     .field_count = (uint32_t)reader->fields.count,
						     .fields = event_fields_copy(reader->fields.items,
										 reader->fields.count)});
	return 0;
}

// ---- all of them ----

static int take_event(struct perfetto_reader *reader, struct track_event *event) {
	if (event->type == TYPE_COUNTER)
		return push_counter(reader, event);
	if (event->type == TYPE_INSTANT)
		return push_instant(reader, event);
	if (event->type != TYPE_SLICE_BEGIN && event->type != TYPE_SLICE_END) {
		reader->unknown_events++;
		return 0;
	}
	if (!event->track)
		event->track = track_of(reader, 0);
	return event->track->tid ? push_mark(reader, event) : take_slice(reader, event);
}

int tracks_take(struct perfetto_reader *reader, const struct packet *packet) {
	struct track_event event = {.time = packet->time};
	uint64_t uuid = packet->sequence ? packet->sequence->track : 0;
	struct cursor message = packet->data;
	struct wire_field field;
	reader->fields.count = 0;
	while (wire_each(&message, &field))
		take_field(reader, packet, &field, &event, &uuid);
	if (message.failed || !packet->has_time) {
		reader->bad += !(reader->ours &&
				 uuid == UUID_TEST); // a test whose beginning is not in the trace
		return 0;
	}
	event.track = tracks_find(reader, uuid);
	bool taken = false;
	int error = reader->ours ? own_take(reader, packet, &event, &taken) : 0;
	return error || taken ? error : take_event(reader, &event);
}

int tracks_close(struct perfetto_reader *reader) {
	int error = 0;
	for (size_t i = 0; !error && i < reader->tracks.count; i++)
		while (!error && reader->tracks.items[i].open.count)
			error = end_slice(reader, &reader->tracks.items[i], reader->end);
	return error;
}

void tracks_free(struct perfetto_reader *reader) {
	for (size_t i = 0; i < reader->tracks.count; i++) {
		struct track *track = &reader->tracks.items[i];
		for (size_t j = 0; j < track->open.count; j++)
			free((void *)(uintptr_t)track->open.items[j].fields);
		array_free(&track->open);
	}
	array_free(&reader->tracks);
	map_free(&reader->track_index);
}

// ---- samples ----

static int push_lost_samples(struct perfetto_reader *reader, const struct packet *packet, uint64_t cpu,
			     uint64_t count) {
	struct event event = {.kind = EVENT_LOST,
			      .time = packet->time,
			      .cpu = cpu < CPU_COUNT_MOST ? (uint32_t)cpu : CPU_NONE,
			      .lost = {.count = count, .source = SOURCE_SAMPLE}};
	return reader_push(reader, &event);
}

// In our own samples the field is the weight; in others it is a counter that only grows.
int tracks_sample(struct perfetto_reader *reader, const struct packet *packet) {
	const struct sequence *sequence = packet->sequence;
	struct cursor message = packet->data;
	struct wire_field field;
	uint64_t cpu = CPU_NONE, pid = NO_TID, tid = NO_TID, stack = 0, count = 0, lost = 0,
		 error = UNWIND_ERROR_NONE;
	bool skipped = false;
	uint32_t comm = 0;
	while (wire_each(&message, &field)) {
		if (field.number == SAMPLE_OWN_NAME && field.wire == PROTO_BYTES)
			comm = cursor_text(reader, field.bytes);
		uint64_t *const numbers[] = {
			[SAMPLE_CPU] = &cpu,          [SAMPLE_PID] = &pid,     [SAMPLE_TID] = &tid,
			[SAMPLE_CALLSTACK] = &stack,  [SAMPLE_COUNT] = &count, [SAMPLE_UNWIND_ERROR] = &error,
			[SAMPLE_RECORDS_LOST] = &lost};
		if (field.number < ARRAY_SIZE(numbers) && numbers[field.number])
			*numbers[field.number] = field.value;
		skipped |= field.number == SAMPLE_SKIPPED && field.value;
	}
	if (lost && packet->has_time)
		return push_lost_samples(reader, packet, cpu, lost);
	uint32_t flags = error == UNWIND_ERROR_NONE         ? 0
			 : error == UNWIND_ERROR_MAX_FRAMES ? SAMPLE_CUT
							    : SAMPLE_BROKEN;
	flags |= tid == NO_TID ? SAMPLE_NO_TASK : pid == NO_TID ? SAMPLE_NO_PID : 0;
	tid = tid == NO_TID ? 0 : tid;
	pid = pid == NO_TID ? 0 : pid;
	if (message.failed || !packet->has_time || !sequence || tid >= TID_OUTSIDE || pid >= TID_OUTSIDE ||
	    (cpu >= CPU_COUNT_MOST && cpu != CPU_NONE)) {
		reader->bad++;
		return 0;
	}
	if (skipped)
		return 0;
	flags |= reader->ours && sequence->at_events ? SAMPLE_AT_EVENT : 0;
	struct event event = {.kind = EVENT_SAMPLE,
			      .time = packet->time,
			      .cpu = (uint32_t)cpu,
			      .tid = (uint32_t)tid,
			      .pid = (uint32_t)pid,
			      .sample = {.weight = reader->ours ? count : sequence->weight,
					 .stack = sequence_lookup(sequence, INTERNED_CALLSTACKS, stack),
					 .name = sequence->sample_name,
					 .comm = tid ? 0 : comm,
					 .flags = flags}};
	return reader_push(reader, &event);
}
