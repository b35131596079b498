// Perfetto packets for tests, and a small valid trace with one of everything that
// `tracelet check` inspects: its unit tests and the seeds of its fuzzer start
// from it. Field numbers are those of Perfetto's public .proto files.
#pragma once

#include "base/buffer.h"

// Field numbers of TracePacket.
enum {
	FTRACE_EVENTS = 1,
	PROCESS_TREE = 2,
	CLOCK_SNAPSHOT = 6,
	TIMESTAMP = 8,
	SEQUENCE = 10,
	TRACK_EVENT = 11,
	INTERNED_DATA = 12,
	SEQUENCE_FLAGS = 13,
	PROFILE_PACKET = 37,
	SYSTEM_INFO = 45,
	COMPRESSED = 50,
	TIMESTAMP_CLOCK = 58,
	DEFAULTS = 59,
	TRACK_DESCRIPTOR = 60,
	PERF_SAMPLE = 66,
	STACK_SAMPLE = 135,
};

enum { CLEARED = 1, NEEDS_STATE = 2, BOOTTIME = 6, OWN_CLOCK = 64 };

// Begins a packet on a sequence; everything appended until proto_end() is its content.
static inline size_t packet_begin(struct buffer *trace, uint32_t sequence, uint32_t flags) {
	size_t packet = proto_begin(trace, 1);
	proto_uint(trace, 8, 2000); // its time
	if (sequence)
		proto_uint(trace, SEQUENCE, sequence);
	if (flags)
		proto_uint(trace, SEQUENCE_FLAGS, flags);
	return packet;
}

static inline void packed(struct buffer *trace, uint32_t field, const uint64_t *values, size_t count) {
	size_t list = proto_begin(trace, field);
	for (size_t i = 0; i < count; i++)
		buffer_varint(trace, values[i]);
	proto_end(trace, list);
}
#define PACKED(trace, field, ...)                                                                            \
	packed(trace, field, (uint64_t[]){__VA_ARGS__}, ARRAY_SIZE(((uint64_t[]){__VA_ARGS__})))

// An entry { iid, string } of interned data, or { iid, another number }.
static inline void interned_string(struct buffer *trace, uint32_t table, uint64_t id, const char *text) {
	size_t entry = proto_begin(trace, table);
	proto_uint(trace, 1, id);
	proto_string(trace, 2, text);
	proto_end(trace, entry);
}

static inline void interned_number(struct buffer *trace, uint32_t table, uint64_t id, uint32_t field,
				   uint64_t value) {
	size_t entry = proto_begin(trace, table);
	proto_uint(trace, 1, id);
	proto_uint(trace, field, value);
	proto_end(trace, entry);
}

static inline void clock_reading(struct buffer *trace, uint64_t clock, uint64_t time, bool incremental) {
	size_t reading = proto_begin(trace, 1);
	proto_uint(trace, 1, clock);
	proto_uint(trace, 2, time);
	if (incremental)
		proto_uint(trace, 3, 1);
	proto_end(trace, reading);
}

// A descriptor of a plain track, or of a counter track.
static inline void describe_track(struct buffer *trace, uint64_t uuid, uint64_t parent, bool counter) {
	size_t packet = packet_begin(trace, 1, 0);
	size_t descriptor = proto_begin(trace, TRACK_DESCRIPTOR);
	proto_uint(trace, 1, uuid);
	proto_string(trace, 2, "track");
	if (parent)
		proto_uint(trace, 5, parent);
	if (counter)
		proto_end(trace, proto_begin(trace, 8));
	proto_end(trace, descriptor);
	proto_end(trace, packet);
}

static inline void describe_thread(struct buffer *trace, uint64_t uuid, const uint64_t *pid,
				   const uint64_t *tid) {
	size_t packet = packet_begin(trace, 1, 0);
	size_t descriptor = proto_begin(trace, TRACK_DESCRIPTOR);
	proto_uint(trace, 1, uuid);
	size_t thread = proto_begin(trace, 4);
	if (pid)
		proto_uint(trace, 1, *pid);
	if (tid)
		proto_uint(trace, 2, *tid);
	proto_end(trace, thread);
	proto_end(trace, descriptor);
	proto_end(trace, packet);
}

enum { SLICE_BEGIN = 1, SLICE_END = 2, INSTANT = 3, COUNTER = 4 };

static inline void track_event(struct buffer *trace, uint64_t time, uint64_t track, uint64_t type) {
	size_t packet = packet_begin(trace, 1, 0);
	proto_uint(trace, TIMESTAMP, time);
	size_t event = proto_begin(trace, TRACK_EVENT);
	proto_uint(trace, 9, type);
	proto_uint(trace, 11, track);
	if (type == COUNTER)
		proto_uint(trace, 30, 7);
	proto_end(trace, event);
	proto_end(trace, packet);
}

// ---- the valid trace, packet by packet ----

static inline void sample_system(struct buffer *trace) {
	size_t packet = packet_begin(trace, 1, CLEARED);
	size_t snapshot = proto_begin(trace, CLOCK_SNAPSHOT);
	clock_reading(trace, 1, 1700000000000000000, false);
	clock_reading(trace, 4, 1000, false);
	clock_reading(trace, BOOTTIME, 1000, false);
	clock_reading(trace, OWN_CLOCK, 1000, true);
	proto_end(trace, snapshot);
	proto_end(trace, packet);

	packet = packet_begin(trace, 1, 0);
	size_t info = proto_begin(trace, SYSTEM_INFO);
	size_t names = proto_begin(trace, 1);
	proto_string(trace, 1, "Linux");
	proto_string(trace, 3, "6.1.0");
	proto_end(trace, names);
	proto_end(trace, info);
	proto_end(trace, packet);

	packet = packet_begin(trace, 1, 0);
	size_t tree = proto_begin(trace, PROCESS_TREE);
	size_t process = proto_begin(trace, 1);
	proto_uint(trace, 1, 10);
	proto_uint(trace, 2, 1);
	proto_string(trace, 3, "./test");
	proto_end(trace, process);
	size_t thread = proto_begin(trace, 2);
	proto_uint(trace, 1, 11);
	proto_string(trace, 2, "worker");
	proto_uint(trace, 3, 10);
	proto_end(trace, thread);
	proto_end(trace, tree);
	proto_end(trace, packet);
}

static inline void sample_sched(struct buffer *trace) {
	for (uint64_t cpu = 0; cpu < 2; cpu++) {
		size_t packet = packet_begin(trace, 1, 0);
		size_t bundle = proto_begin(trace, FTRACE_EVENTS);
		proto_uint(trace, 1, cpu);
		size_t event = proto_begin(trace, 2);
		proto_uint(trace, 1, 2000);
		proto_uint(trace, 2, 10);
		size_t entry = proto_begin(trace, 39); // softirq_entry
		proto_uint(trace, 1, 7);
		proto_end(trace, entry);
		proto_end(trace, event);
		size_t sched = proto_begin(trace, 4);
		PACKED(trace, 1, 2000, 300, 0);
		PACKED(trace, 2, 0, 1, 0x100);
		PACKED(trace, 3, 10, 0, 11);
		PACKED(trace, 4, 120, 120, 120);
		proto_string(trace, 5, "test");
		proto_string(trace, 5, "swapper");
		PACKED(trace, 6, 0, 1, 0);
		PACKED(trace, 7, 2000, 5);
		PACKED(trace, 8, 10, 11);
		PACKED(trace, 9, 0, 1);
		PACKED(trace, 10, 120, 120);
		PACKED(trace, 11, 0, 0);
		PACKED(trace, 12, 1, 1);
		proto_end(trace, sched);
		proto_end(trace, bundle);
		proto_end(trace, packet);
	}
}

// A callstack 1 of frame 1 in mapping 1, with names.
static inline void sample_callstack(struct buffer *trace) {
	interned_string(trace, 5, 1, "main");
	interned_string(trace, 16, 1, "\x01\x02");
	interned_string(trace, 17, 1, "test");
	size_t mapping = proto_begin(trace, 19);
	proto_uint(trace, 1, 1);
	proto_uint(trace, 2, 1);
	proto_uint(trace, 7, 1);
	proto_end(trace, mapping);
	size_t frame = proto_begin(trace, 6);
	proto_uint(trace, 1, 1);
	proto_uint(trace, 2, 1);
	proto_uint(trace, 3, 1);
	proto_uint(trace, 4, 0x1234);
	proto_end(trace, frame);
	size_t callstack = proto_begin(trace, 7);
	proto_uint(trace, 1, 1);
	proto_uint(trace, 2, 1);
	proto_uint(trace, 2, 1);
	proto_end(trace, callstack);
}

static inline void sample_profiles(struct buffer *trace) {
	size_t packet = packet_begin(trace, 2, CLEARED | NEEDS_STATE);
	proto_uint(trace, TIMESTAMP, 2500);
	size_t sample = proto_begin(trace, PERF_SAMPLE);
	proto_uint(trace, 1, 0);
	proto_uint(trace, 2, 10);
	proto_uint(trace, 4, 1);
	proto_end(trace, sample);
	size_t interned = proto_begin(trace, INTERNED_DATA); // after its use, which is allowed
	sample_callstack(trace);
	proto_end(trace, interned);
	proto_end(trace, packet);

	packet = packet_begin(trace, 2, NEEDS_STATE);
	proto_uint(trace, TIMESTAMP, 2600);
	sample = proto_begin(trace, STACK_SAMPLE);
	size_t callstack = proto_begin(trace, 5);
	proto_uint(trace, 2, 1);
	proto_end(trace, callstack);
	proto_uint(trace, 11, 1000);
	proto_end(trace, sample);
	proto_end(trace, packet);

	packet = packet_begin(trace, 2, NEEDS_STATE);
	size_t profile = proto_begin(trace, PROFILE_PACKET);
	size_t dump = proto_begin(trace, 5);
	proto_uint(trace, 1, 10);
	size_t heap = proto_begin(trace, 2);
	proto_uint(trace, 1, 1);
	proto_uint(trace, 2, 4096);
	proto_end(trace, heap);
	proto_uint(trace, 9, 1000);
	proto_end(trace, dump);
	proto_end(trace, profile);
	proto_end(trace, packet);
}

static inline void sample_tracks(struct buffer *trace) {
	describe_thread(trace, 100, &(uint64_t){10}, &(uint64_t){11});
	describe_track(trace, 101, 100, true);

	// Defaults: this sequence's own clock and the thread's track.
	size_t packet = packet_begin(trace, 1, 0);
	size_t defaults = proto_begin(trace, DEFAULTS);
	proto_uint(trace, 58, OWN_CLOCK);
	size_t event_defaults = proto_begin(trace, 11);
	proto_uint(trace, 11, 100);
	proto_end(trace, event_defaults);
	proto_end(trace, defaults);
	proto_end(trace, packet);

	packet = packet_begin(trace, 1, NEEDS_STATE);
	size_t interned = proto_begin(trace, INTERNED_DATA);
	interned_string(trace, 1, 1, "category");
	interned_string(trace, 2, 1, "name");
	interned_string(trace, 3, 1, "annotation");
	proto_end(trace, interned);
	proto_uint(trace, TIMESTAMP, 5);
	size_t event = proto_begin(trace, TRACK_EVENT);
	proto_uint(trace, 9, SLICE_BEGIN);
	proto_uint(trace, 3, 1);
	proto_uint(trace, 10, 1);
	size_t annotation = proto_begin(trace, 4);
	proto_uint(trace, 1, 1);
	size_t inner = proto_begin(trace, 11);
	proto_string(trace, 10, "inner");
	proto_double(trace, 5, 1.5);
	proto_end(trace, inner);
	proto_end(trace, annotation);
	proto_fixed64(trace, 47, 77);
	proto_end(trace, event);
	proto_end(trace, packet);

	track_event(trace, 1, 101, COUNTER);

	packet = packet_begin(trace, 1, NEEDS_STATE);
	proto_uint(trace, TIMESTAMP, 5);
	event = proto_begin(trace, TRACK_EVENT);
	proto_uint(trace, 9, SLICE_END);
	proto_end(trace, event);
	proto_end(trace, packet);
}

static inline void sample_trace(struct buffer *trace) {
	sample_system(trace);
	sample_sched(trace);
	sample_profiles(trace);
	sample_tracks(trace);
}
