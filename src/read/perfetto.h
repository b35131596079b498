// Inside the reader of Perfetto traces: what its files share. perfetto.c walks
// the file, twice; perfetto_sequence.c keeps what sequences of packets have said:
// interned data, defaults, clocks; perfetto_ftrace.c takes apart what CPUs did;
// perfetto_tracks.c the events on tracks, perfetto_own.c those that only traces
// of our own have; perfetto_tasks.c, behind the orderer, adds what follows from
// the events before.
#pragma once

#include "event/event.h"
#include "base/stream.h"
#include "event/perfetto_fields.h"
#include "read/wire.h"

#include <stdio.h>

enum { NO_TID = UINT32_MAX }; // of a switch or a wakeup: the task that is on the CPU

// ---- sequences ----

// A clock of a sequence's own: ids 64 to 127.
struct own_clock {
	uint32_t id;
	bool incremental;
	uint64_t value;      // the last time, for an incremental one
	uint64_t multiplier; // nanoseconds
	uint64_t offset;     // to the trace's clock
};

struct sequence {
	uint64_t key;    // machine and id
	bool cleared;    // what it refers to has been said since
	uint32_t clock;  // default of its packets; 0: the trace's
	uint64_t track;  // default of its events
	uint64_t weight; // default of its samples
	uint32_t sample_name;
	bool at_events;      // the samples are stacks at events of the kernel
	struct map interned; // table << 58 | id to the string, frame, stack or mapping, plus 1
	ARRAY(struct own_clock) clocks;
};

struct sequences {
	struct map index; // key to one more than the index
	ARRAY(struct sequence *) list;
	struct sequence *last; // packets of one sequence come in runs
	struct map clocks;     // id of a common clock to its offset to the trace's
	uint32_t trace_clock;
};

struct mapping {
	uint32_t path, build_id; // strings
};

// ---- tracks ----

// A slice that is open.
struct open_slice {
	uint64_t time;
	uint32_t provider, name, stack, field_count;
	const struct event_field *fields;
};

struct track {
	uint64_t uuid, parent;
	uint32_t tid, pid; // of a thread's or a process' track
	uint32_t name;
	bool counter, incremental;
	uint64_t multiplier;
	double value;  // of an incremental counter
	uint32_t unit; // of a counter
	ARRAY(struct open_slice) open;
};

// ---- the reader ----

struct packet {
	struct packet_header head;
	struct sequence *sequence; // NULL: has none
	struct cursor interned, defaults, data;
	uint32_t data_field; // which of the packet's fields `data` is; 0: none
	const uint8_t *begin;
	uint64_t time; // in the trace's clock
	bool has_time;
};

// A packet that is taken when its time has come, wherever it stands.
struct indexed {
	uint64_t time;
	size_t offset;
};

struct perfetto_reader {
	const char *name;
	struct stream *input;
	const uint8_t *bytes;
	size_t size, touched;     // how much has been looked at since it was last forgotten
	struct map functions;     // of the kernel: sequence and id, hashed, to the string of the name + 1
	uint32_t bundle_sequence; // the id of the sequence of the ftrace bundle at hand
	struct tables *tables;
	struct sink *sink;  // the caller's
	struct sink *order; // ours
	struct sequences sequences;
	ARRAY(struct mapping) mappings;
	struct map track_index; // uuid to one more than the index
	ARRAY(struct track) tracks;
	ARRAY(struct indexed) index;
	size_t next_indexed;
	ARRAY(uint64_t) block_times; // the earliest time of all packets from a block on
	uint64_t start, first, latest, end, watermark;
	uint64_t clocks; // snapshots seen
	bool ours, has_start, packed;
	ARRAY(struct event) facts; // and how clocks stood at first
	struct event pending; // of a process tree: the beginning of an exec, or not; kind 0: there is none
	ARRAY(struct event) crash_stacks;
	ARRAY(struct event_field) fields; // scratch
	struct buffer words;              // scratch
	ARRAY(uint32_t) names;            // scratch: of a bundle
	uint64_t bad, late, unknown_packets, unknown_events, without_state, compressed;
	struct map unknown; // field of the packet to how many
};

// Up to a watermark all has been passed on: what comes later than it should is told as soon as it can be.
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

// Times of a trace are signed in most formats; one is needed behind the last.
static inline bool is_time(uint64_t time) {
	return time < INT64_MAX;
}

// Of a task that is not idle.
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

// ---- perfetto_sequence.c ----

// The packet's sequence and time; what it clears is forgotten. False: it refers to what is not there.
bool packet_enter(struct perfetto_reader *reader, struct packet *packet);
void sequence_defaults(struct perfetto_reader *reader, struct packet *packet);
void sequence_interned(struct perfetto_reader *reader, struct packet *packet);
uint32_t sequence_lookup(const struct sequence *sequence, uint32_t table, uint64_t id); // 0: not known
void sequence_clocks(struct perfetto_reader *reader, struct packet *packet, struct event *clock);
void sequences_free(struct perfetto_reader *reader);

// ---- perfetto_ftrace.c ----

bool ftrace_begin(struct cursor bundle, uint64_t *time); // its earliest time; false: it has no events
int ftrace_take(struct perfetto_reader *reader, const struct packet *packet);

// The names of functions in a bundle's interned data. All are learned before the first bundle is taken:
// bundles are taken in the order of their time.
void ftrace_learn(struct perfetto_reader *reader, const struct packet *packet);

// ---- perfetto_tracks.c ----

// A track event, taken apart.
struct track_event {
	uint64_t time;
	uint32_t type, category, name, stack;
	struct track *track; // NULL: none that is known
	bool legacy, has_value;
	double value;
	bool adds; // a counter of a PMU, in a trace of ours
};

void tracks_describe(struct perfetto_reader *reader, struct cursor descriptor);
int tracks_tasks(struct perfetto_reader *reader);                               // those that descriptors name
struct track *tracks_find(const struct perfetto_reader *reader, uint64_t uuid); // or NULL
int tracks_take(struct perfetto_reader *reader, const struct packet *packet);
int tracks_sample(struct perfetto_reader *reader, const struct packet *packet);
int tracks_close(struct perfetto_reader *reader);
void tracks_free(struct perfetto_reader *reader);

// Annotation of the event at hand; NULL: it has none of this name.
const struct event_field *tracks_field(const struct perfetto_reader *reader, const char *name);

// ---- perfetto_own.c ----

// Events of our own writer that are no one else's; `taken` tells whether it was one.
int own_take(struct perfetto_reader *reader, const struct packet *packet, const struct track_event *event,
	     bool *taken);
int own_mark(struct perfetto_reader *reader, const struct track_event *event);
int own_process_tree(struct perfetto_reader *reader, const struct packet *packet);
int own_pending(struct perfetto_reader *reader); // pushes what is pending, which was no exec

// ---- perfetto_unpack.c ----

struct unpacked {
	FILE *file; // NULL: there is none
	struct stream stream;
};

bool perfetto_is_gzip(const uint8_t *bytes, size_t size);
// The first bytes that are packed in `bytes`, at most `room`; returns how many.
size_t perfetto_peek(const uint8_t *bytes, size_t size, uint8_t *out, size_t room);
// A trace that is packed, or whose packets are, into a temporary file. A failure has been said.
int perfetto_unpack(const char *name, const uint8_t *bytes, size_t size, struct unpacked *unpacked);
void perfetto_unpacked_free(struct unpacked *unpacked);

// ---- perfetto_tasks.c ----

// A sink that takes the reader's events in order of time and passes whole ones on to `next`, which
// it does not take over.
struct sink *perfetto_tasks_new(struct tables *tables, struct sink *next, bool tree_scope);
