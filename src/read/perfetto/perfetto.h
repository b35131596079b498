// Internal to the Perfetto reader: what its files share. perfetto.c walks the
// file, twice; sequence.c keeps the state of packet sequences: interned data,
// defaults, clocks; ftrace.c decodes what CPUs did; tracks.c the events on
// tracks; own.c the events that only our own traces have; tasks.c, after the
// orderer, adds what follows from earlier events.
#pragma once

#include "base/stream.h"
#include "event/event.h"
#include "format/perfetto_fields.h"
#include "read/perfetto/wire.h"

#include <stdio.h>

enum { NO_TID = UINT32_MAX }; // in a switch or wakeup: the task on the CPU

// ---- sequences ----

// A sequence-local clock: ids 64 to 127.
struct own_clock {
	uint32_t id;
	bool incremental;
	uint64_t value;      // the last time, if incremental
	uint64_t multiplier; // nanoseconds
	uint64_t offset;     // to the trace's clock
};

struct sequence {
	uint64_t key;    // machine and id
	bool cleared;    // its incremental state is valid: a packet has cleared it
	uint32_t clock;  // default for its packets; 0 for the trace's
	uint64_t track;  // default for its events
	uint64_t weight; // default for its samples
	uint32_t sample_name;
	bool at_events;      // the samples are stacks at kernel events
	struct map interned; // table << 58 | id to the string, frame, stack or mapping, plus 1
	ARRAY(struct own_clock) clocks;
};

struct sequences {
	struct map index; // key to index + 1
	ARRAY(struct sequence *) list;
	struct sequence *last; // packets of one sequence come in runs
	struct map clocks;     // id of a global clock to its offset from the trace's clock
	uint32_t trace_clock;
};

struct mapping {
	uint32_t path, build_id; // strings
};

// ---- tracks ----

// An open slice.
struct open_slice {
	uint64_t time;
	uint32_t provider, name, stack, field_count;
	const struct event_field *fields;
};

struct track {
	uint64_t uuid, parent;
	uint32_t tid, pid; // for the track of a thread or process
	uint32_t name;
	bool counter, incremental;
	uint64_t multiplier;
	double value;  // for an incremental counter
	uint32_t unit; // for a counter
	ARRAY(struct open_slice) open;
};

// ---- the reader ----

struct packet {
	struct packet_header head;
	struct sequence *sequence; // NULL if none
	struct cursor interned, defaults, data;
	uint32_t data_field; // which field of the packet `data` is; 0 if none
	const uint8_t *begin;
	uint64_t time; // in the trace's clock
	bool has_time;
};

// A packet to take when its time has come, wherever it is in the file.
struct indexed {
	uint64_t time;
	size_t offset;
};

struct perfetto_reader {
	const char *name;
	struct stream *input;
	const uint8_t *bytes;
	size_t size, touched;     // touched: bytes read since pages were last dropped
	struct map functions;     // kernel functions: hash of sequence and id to the string of the name + 1
	uint32_t bundle_sequence; // sequence id of the current ftrace bundle
	struct tables *tables;
	struct sink *sink;  // the caller's
	struct sink *order; // ours
	struct sequences sequences;
	ARRAY(struct mapping) mappings;
	struct map track_index; // uuid to index + 1
	ARRAY(struct track) tracks;
	ARRAY(struct indexed) index;
	size_t next_indexed;
	struct map waiting;          // by track: how many slices have begun whose packets wait
	ARRAY(uint64_t) block_times; // earliest time of all packets from a block on
	uint64_t start, first, latest, end, watermark;
	uint64_t clocks; // snapshots seen
	bool ours, has_start, packed;
	ARRAY(struct event) facts; // including the first clock readings
	struct event pending;      // from a process tree, and possibly the start of an exec; kind 0 if none
	ARRAY(struct event) crash_stacks;
	ARRAY(struct event_field) fields; // scratch
	struct buffer words;              // scratch
	ARRAY(uint32_t) names;            // scratch, per bundle
	uint64_t bad, late, unknown_packets, unknown_events, without_state, compressed;
	struct map unknown; // field of the packet to the number of packets
};

// Everything up to the watermark has been passed on: a late event gets the earliest time that is
// still possible.
static inline int reader_push(struct perfetto_reader *reader, const struct event *event) {
	if (event->kind == EVENT_WATERMARK) {
		reader->watermark = MAX(reader->watermark, event->time);
		return sink_push(reader->order, event);
	}
	reader->end = MAX(reader->end, event->time);
	if (event->time >= reader->watermark)
		return sink_push(reader->order, event);
	struct event late = *event;
	late.time = reader->watermark;
	reader->late++;
	return sink_push(reader->order, &late);
}

// Most formats have signed times, and one more is needed after the last.
static inline bool is_time(uint64_t time) {
	return time < INT64_MAX;
}

// A task other than idle.
static inline bool is_task(uint64_t tid) {
	return tid > 0 && tid < TID_OUTSIDE;
}

static inline uint32_t cursor_text(const struct perfetto_reader *reader, struct cursor bytes) {
	return strings_add_bytes(reader->tables->strings, bytes.at, cursor_left(&bytes));
}

static inline bool cursor_is(struct cursor bytes, const char *text) {
	size_t length = strlen(text);
	return cursor_left(&bytes) == length && memcmp(bytes.at, text, length) == 0;
}

// ---- sequence.c ----

// Determines the packet's sequence and time, and drops state that it clears. False if it refers to
// missing state.
bool packet_enter(struct perfetto_reader *reader, struct packet *packet);
void sequence_defaults(struct perfetto_reader *reader, struct packet *packet);
void sequence_interned(struct perfetto_reader *reader, struct packet *packet);
uint32_t sequence_lookup(const struct sequence *sequence, uint32_t table, uint64_t id); // 0 if unknown
void sequence_clocks(struct perfetto_reader *reader, struct packet *packet, struct event *clock);
void sequences_free(struct perfetto_reader *reader);

// ---- ftrace.c ----

bool ftrace_begin(struct cursor bundle,
		  uint64_t *time); // the bundle's earliest time; false if it has no events
int ftrace_take(struct perfetto_reader *reader, const struct packet *packet);

// Learns function names from a bundle's interned data. Call for all bundles before taking the first
// one, because bundles are taken in time order.
void ftrace_learn(struct perfetto_reader *reader, const struct packet *packet);

// ---- tracks.c ----

// A parsed track event.
struct track_event {
	uint64_t time;
	uint32_t type, category, name, stack;
	struct track *track; // NULL if unknown
	bool legacy, has_value;
	double value;
	bool adds; // a PMU counter in one of our traces
};

void tracks_describe(struct perfetto_reader *reader, struct cursor descriptor);
int tracks_tasks(struct perfetto_reader *reader); // pushes the tasks that descriptors name
struct track *tracks_find(const struct perfetto_reader *reader, uint64_t uuid); // or NULL
int tracks_take(struct perfetto_reader *reader, const struct packet *packet);
int tracks_sample(struct perfetto_reader *reader, const struct packet *packet);
int tracks_close(struct perfetto_reader *reader);
void tracks_free(struct perfetto_reader *reader);

// Annotation of the current event, or NULL if it has none with this name.
const struct event_field *tracks_field(const struct perfetto_reader *reader, const char *name);

// ---- own.c ----

// Takes events that only our own writer produces; `taken` says whether this was one.
int own_take(struct perfetto_reader *reader, const struct packet *packet, const struct track_event *event,
	     bool *taken);
int own_mark(struct perfetto_reader *reader, const struct track_event *event);
int own_process_tree(struct perfetto_reader *reader, const struct packet *packet);
int own_pending(struct perfetto_reader *reader); // pushes the pending event, which was not an exec

// ---- unpack.c ----

struct unpacked {
	FILE *file; // NULL if none
	struct stream stream;
};

bool perfetto_is_gzip(const uint8_t *bytes, size_t size);
// Unpacks the first bytes of `bytes`, at most `room`; returns how many.
size_t perfetto_peek(const uint8_t *bytes, size_t size, uint8_t *out, size_t room);
// Unpacks a compressed trace, or one with compressed packets, into a temporary file. Logs failures.
int perfetto_unpack(const char *name, const uint8_t *bytes, size_t size, struct unpacked *unpacked);
void perfetto_unpacked_free(struct unpacked *unpacked);

// ---- tasks.c ----

// A sink that takes the reader's events in time order, completes them and passes them on to `next`,
// which it does not own.
struct sink *perfetto_tasks_new(struct tables *tables, struct sink *next, bool tree_scope);
