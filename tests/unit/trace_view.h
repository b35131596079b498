// Parses a Perfetto trace for tests: what was written, flat, in file order. A
// separate decoder, so that the writer is not judged by its own tables; field
// numbers are those of Perfetto's public .proto files.
#pragma once

#include "unit.h"

#include "base/array.h"
#include "base/buffer.h"
#include "base/cursor.h"

#include <stdio.h>

// ---- fields ----

struct field {
	uint32_t number, wire;
	uint64_t value;
	struct cursor bytes;
};

static inline bool next_field(struct cursor *message, struct field *field) {
	if (message->failed || !cursor_left(message))
		return false;
	uint64_t tag = cursor_varint(message);
	*field = (struct field){.number = (uint32_t)(tag >> 3), .wire = tag & 7};
	if (field->wire == PROTO_VARINT)
		field->value = cursor_varint(message);
	else if (field->wire == PROTO_BYTES)
		field->bytes = cursor_slice(message, cursor_varint(message));
	else if (field->wire == PROTO_FIXED64)
		field->value = cursor_u64(message);
	else
		message->failed = true;
	assert_false(message->failed);
	return true;
}

// The first field with this number; zeros if there is none.
static inline struct field find_field(struct cursor message, uint32_t number) {
	struct field field;
	while (next_field(&message, &field))
		if (field.number == number)
			return field;
	return (struct field){0};
}

static inline void copy_text(struct cursor bytes, char *text, size_t room) {
	snprintf(text, room, "%.*s", (int)cursor_left(&bytes), (const char *)bytes.at);
}

// ---- the view ----

enum { VIEW_TEXT = 64 };

struct view_switch {
	uint32_t cpu, next_tid, prev_tid; // prev_tid only for full events
	uint64_t time, state;
	int64_t priority;
	char name[VIEW_TEXT];
	bool full;
};

struct view_waking {
	uint32_t cpu, tid, target, waker; // waker only for full events
	uint64_t time, flags;
	char name[VIEW_TEXT];
	bool full;
};

struct view_event { // another FtraceEvent: its kind is the field that holds it
	uint32_t cpu, tid, kind;
	uint64_t time, number, second; // the first two numbers of its body
	char text[VIEW_TEXT];          // the last text of its body
};

struct view_process {
	uint32_t pid, parent;
	uint64_t time;
	char words[4][VIEW_TEXT];
	size_t word_count;
};

struct view_thread {
	uint32_t tid, pid;
};

struct view_track {
	uint64_t uuid, parent;
	uint32_t tid, pid;
	bool counter;
	char name[VIEW_TEXT];
};

struct view_name { // events refer to it by its number
	uint64_t id;
	char text[VIEW_TEXT];
};

struct view_track_event {
	uint64_t time, type, track, category;
	double value; // of a counter
	char name[VIEW_TEXT];
	char annotations[512]; // "name=value;" each
};

struct view {
	ARRAY(struct view_switch) switches;
	ARRAY(struct view_waking) wakings;
	ARRAY(struct view_event) events;
	ARRAY(struct view_process) processes;
	ARRAY(struct view_thread) threads;
	ARRAY(struct view_track) tracks;
	ARRAY(struct view_name) names;
	ARRAY(struct view_track_event) track_events;
	uint64_t clocks[16]; // by id, from the last snapshot
	uint64_t primary_clock, snapshots;
	char release[VIEW_TEXT], attributes[512]; // "key=value;" each
	uint64_t lost_bundles, dropped;           // dropped: the sum of the stats at the end
	size_t bundles;
};

static inline void view_free(struct view *view) {
	array_free(&view->switches);
	array_free(&view->wakings);
	array_free(&view->events);
	array_free(&view->processes);
	array_free(&view->threads);
	array_free(&view->tracks);
	array_free(&view->names);
	array_free(&view->track_events);
}

// ---- bundles ----

typedef ARRAY(uint64_t) view_column;

static inline void view_compact(struct view *view, uint32_t cpu, struct cursor compact) {
	view_column columns[13] = {0};
	ARRAY(struct cursor) names = {0};
	struct field field;
	while (next_field(&compact, &field)) {
		assert_in_range(field.number, 1, 12);
		if (field.number == 5)
			array_push(&names, field.bytes);
		else
			while (cursor_left(&field.bytes))
				array_push(&columns[field.number], cursor_varint(&field.bytes));
	}
	uint64_t time = 0;
	for (size_t i = 0; i < columns[1].count; i++) {
		time += columns[1].items[i];
		struct view_switch one = {.cpu = cpu,
					  .time = time,
					  .state = columns[2].items[i],
					  .next_tid = (uint32_t)columns[3].items[i],
					  .priority = (int64_t)columns[4].items[i]};
		copy_text(names.items[columns[6].items[i]], one.name, VIEW_TEXT);
		array_push(&view->switches, one);
	}
	time = 0;
	for (size_t i = 0; i < columns[7].count; i++) {
		time += columns[7].items[i];
		struct view_waking one = {.cpu = cpu,
					  .time = time,
					  .tid = (uint32_t)columns[8].items[i],
					  .target = (uint32_t)columns[9].items[i],
					  .flags = columns[12].count ? columns[12].items[i] : 0};
		copy_text(names.items[columns[11].items[i]], one.name, VIEW_TEXT);
		array_push(&view->wakings, one);
	}
	for (size_t i = 0; i < ARRAY_SIZE(columns); i++)
		array_free(&columns[i]);
	array_free(&names);
}

static inline void view_ftrace_event(struct view *view, uint32_t cpu, struct cursor event) {
	uint64_t time = find_field(event, 1).value, tid = find_field(event, 2).value,
		 flags = find_field(event, 5).value;
	struct field body = {0}, field;
	while (next_field(&event, &field))
		if (field.wire == PROTO_BYTES)
			body = field;
	if (body.number == 4) {
		struct view_switch one = {.cpu = cpu,
					  .time = time,
					  .full = true,
					  .prev_tid = (uint32_t)find_field(body.bytes, 2).value,
					  .state = find_field(body.bytes, 4).value,
					  .next_tid = (uint32_t)find_field(body.bytes, 6).value,
					  .priority = (int64_t)find_field(body.bytes, 7).value};
		copy_text(find_field(body.bytes, 5).bytes, one.name, VIEW_TEXT);
		array_push(&view->switches, one);
	} else if (body.number == 20) {
		struct view_waking one = {.cpu = cpu,
					  .time = time,
					  .full = true,
					  .waker = (uint32_t)tid,
					  .flags = flags,
					  .tid = (uint32_t)find_field(body.bytes, 2).value,
					  .target = (uint32_t)find_field(body.bytes, 5).value};
		copy_text(find_field(body.bytes, 1).bytes, one.name, VIEW_TEXT);
		array_push(&view->wakings, one);
	} else {
		struct view_event one = {.cpu = cpu, .time = time, .tid = (uint32_t)tid, .kind = body.number};
		for (unsigned numbers = 0; next_field(&body.bytes, &field);) {
			if (field.wire == PROTO_BYTES)
				copy_text(field.bytes, one.text, VIEW_TEXT);
			else
				*(numbers++ ? &one.second : &one.number) = field.value;
		}
		array_push(&view->events, one);
	}
}

static inline void view_bundle(struct view *view, struct cursor bundle) {
	uint32_t cpu = (uint32_t)find_field(bundle, 1).value;
	view->bundles++;
	view->lost_bundles += find_field(bundle, 3).value;
	struct field field;
	while (next_field(&bundle, &field)) {
		if (field.number == 2)
			view_ftrace_event(view, cpu, field.bytes);
		else if (field.number == 4)
			view_compact(view, cpu, field.bytes);
	}
}

// ---- other packets ----

static inline void view_process_tree(struct view *view, uint64_t time, struct cursor tree) {
	struct field field, inner;
	while (next_field(&tree, &field)) {
		if (field.number == 2) {
			array_push(&view->threads,
				   (struct view_thread){.tid = (uint32_t)find_field(field.bytes, 1).value,
							.pid = (uint32_t)find_field(field.bytes, 3).value});
			continue;
		}
		struct view_process process = {.time = time};
		while (next_field(&field.bytes, &inner)) {
			if (inner.number == 1)
				process.pid = (uint32_t)inner.value;
			else if (inner.number == 2)
				process.parent = (uint32_t)inner.value;
			else if (inner.number == 3 && process.word_count < ARRAY_SIZE(process.words))
				copy_text(inner.bytes, process.words[process.word_count++], VIEW_TEXT);
		}
		array_push(&view->processes, process);
	}
}

static inline void view_interned(struct view *view, struct cursor interned) {
	struct field field;
	while (next_field(&interned, &field)) {
		struct view_name name = {.id = find_field(field.bytes, 1).value};
		copy_text(find_field(field.bytes, 2).bytes, name.text, VIEW_TEXT);
		if (field.number == 2)
			array_push(&view->names, name);
	}
}

static inline void view_track_event_packet(struct view *view, uint64_t time, struct cursor event) {
	struct view_track_event one = {.time = time,
				       .type = find_field(event, 9).value,
				       .track = find_field(event, 11).value,
				       .category = find_field(event, 3).value};
	copy_text(find_field(event, 23).bytes, one.name, VIEW_TEXT);
	for (size_t i = 0; i < view->names.count; i++)
		if (view->names.items[i].id == find_field(event, 10).value)
			memcpy(one.name, view->names.items[i].text, VIEW_TEXT);
	uint64_t value = find_field(event, 44).value;
	memcpy(&one.value, &value, sizeof(value));
	struct field field;
	size_t used = 0;
	while (next_field(&event, &field)) {
		if (field.number != 4)
			continue;
		char name[VIEW_TEXT], text[VIEW_TEXT];
		copy_text(find_field(field.bytes, 10).bytes, name, VIEW_TEXT);
		copy_text(find_field(field.bytes, 6).bytes, text, VIEW_TEXT);
		if (!*text)
			snprintf(text, sizeof(text), "%lld", (long long)find_field(field.bytes, 4).value);
		used += (size_t)snprintf(one.annotations + used, sizeof(one.annotations) - used, "%s=%s;",
					 name, text);
		assert_true(used < sizeof(one.annotations));
	}
	array_push(&view->track_events, one);
}

static inline void view_track_descriptor(struct view *view, struct cursor descriptor) {
	struct field thread = find_field(descriptor, 4);
	struct view_track track = {.uuid = find_field(descriptor, 1).value,
				   .parent = find_field(descriptor, 5).value,
				   .counter = find_field(descriptor, 8).number == 8};
	if (find_field(descriptor, 3).number)
		track.pid = (uint32_t)find_field(find_field(descriptor, 3).bytes, 1).value;
	copy_text(find_field(descriptor, 2).bytes, track.name, VIEW_TEXT);
	if (thread.number) {
		track.pid = (uint32_t)find_field(thread.bytes, 1).value;
		track.tid = (uint32_t)find_field(thread.bytes, 2).value;
	}
	array_push(&view->tracks, track);
}

static inline void view_snapshot(struct view *view, struct cursor snapshot) {
	struct field field;
	view->primary_clock = find_field(snapshot, 2).value;
	view->snapshots++;
	while (next_field(&snapshot, &field))
		if (field.number == 1)
			view->clocks[find_field(field.bytes, 1).value & 15] =
				find_field(field.bytes, 2).value;
}

static inline void view_attributes(struct view *view, struct cursor attributes) {
	struct field field;
	size_t used = 0;
	while (next_field(&attributes, &field)) {
		char key[VIEW_TEXT], value[VIEW_TEXT];
		copy_text(find_field(field.bytes, 1).bytes, key, VIEW_TEXT);
		copy_text(find_field(field.bytes, 3).bytes, value, VIEW_TEXT);
		used += (size_t)snprintf(view->attributes + used, sizeof(view->attributes) - used, "%s=%s;",
					 key, value);
		assert_true(used < sizeof(view->attributes));
	}
}

static inline void view_stats(struct view *view, struct cursor stats) {
	struct field field;
	if (find_field(stats, 1).value != 2)
		return;
	while (next_field(&stats, &field))
		if (field.number == 2)
			view->dropped += find_field(field.bytes, 8).value;
}

static inline struct view view_trace(const struct buffer *trace) {
	struct view view = {0};
	struct cursor packets = cursor_of(trace->data, trace->size);
	struct field packet, field;
	while (next_field(&packets, &packet)) {
		uint64_t time = find_field(packet.bytes, 8).value;
		while (next_field(&packet.bytes, &field)) {
			if (field.number == 1)
				view_bundle(&view, field.bytes);
			else if (field.number == 2)
				view_process_tree(&view, time, field.bytes);
			else if (field.number == 6)
				view_snapshot(&view, field.bytes);
			else if (field.number == 11)
				view_track_event_packet(&view, time, field.bytes);
			else if (field.number == 12)
				view_interned(&view, field.bytes);
			else if (field.number == 34)
				view_stats(&view, field.bytes);
			else if (field.number == 45)
				copy_text(find_field(find_field(field.bytes, 1).bytes, 3).bytes, view.release,
					  VIEW_TEXT);
			else if (field.number == 60)
				view_track_descriptor(&view, field.bytes);
			else if (field.number == 126)
				view_attributes(&view, field.bytes);
		}
	}
	return view;
}
