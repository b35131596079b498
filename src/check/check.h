// Internal to `tracelet check`: what is known about the trace while it is walked, and the functions
// that the files of this directory share. The public interface is tl_check_trace() in
// tracelet/tracelet.h.
#pragma once

#include "base/array.h"
#include "base/map.h"
#include "base/stream.h"
#include "check/wire.h"
#include "tracelet/tracelet.h"

// What can be wrong; the texts are in check.c, in this order.
enum defect {
	// the file
	DEFECT_TOO_SMALL,
	DEFECT_FIRST_TAG,
	DEFECT_TAG,
	DEFECT_TRUNCATED,
	DEFECT_PACKET_SIZE,
	DEFECT_PACKET_LENGTH,
	// wire format
	DEFECT_OVERRUN,
	DEFECT_VARINT,
	DEFECT_FIELD_NUMBER,
	DEFECT_WIRE_TYPE,
	DEFECT_FIELD_TYPE,
	DEFECT_TOO_DEEP,
	DEFECT_PAYLOADS,
	// sequences
	DEFECT_NO_SEQUENCE,
	DEFECT_NOT_CLEARED,
	DEFECT_STATE_IGNORED,
	DEFECT_INTERNED_ZERO,
	DEFECT_INTERNED_ID,
	DEFECT_FRAME_PC,
	// clocks
	DEFECT_SEQUENCE_CLOCK,
	DEFECT_CLOCK,
	// CPUs
	DEFECT_NO_CPU,
	DEFECT_SWITCH_ARRAYS,
	DEFECT_WAKING_ARRAYS,
	DEFECT_COMM_INDEX,
	DEFECT_SWITCH_TIME,
	DEFECT_WAKING_TIME,
	DEFECT_EVENT_TIME,
	// tracks
	DEFECT_THREAD_IDS,
	DEFECT_IDLE_TRACK,
	DEFECT_NO_TRACK,
	DEFECT_NO_PARENT,
	DEFECT_PARENT_CYCLE,
	DEFECT_COUNTER_ELSEWHERE,
	DEFECT_SLICE_ON_COUNTER,
	DEFECT_COUNTER_VALUE,
	DEFECT_TRACK_EVENT_TIME,
	DEFECT_EXTRA_COUNTERS,
	DEFECT_END_FIRST,
	DEFECT_NEVER_ENDS,
	DEFECT_TOO_MANY_ENDS,
	// notes: the trace is valid
	NOTE_COMPRESSED,
	NOTE_NO_RELEASE,
	DEFECT_COUNT,
	NOTE_FIRST = NOTE_COMPRESSED,
};

// InternedData field numbers, which also name the tables of ids.
enum interned_table {
	TABLE_CATEGORIES = 1,
	TABLE_EVENT_NAMES = 2,
	TABLE_ANNOTATION_NAMES = 3,
	TABLE_SOURCE_LOCATIONS = 4,
	TABLE_FUNCTION_NAMES = 5,
	TABLE_FRAMES = 6,
	TABLE_CALLSTACKS = 7,
	TABLE_BUILD_IDS = 16,
	TABLE_MAPPING_PATHS = 17,
	TABLE_SOURCE_PATHS = 18,
	TABLE_MAPPINGS = 19,
	TABLE_ANNOTATION_TYPE_NAMES = 27,
	TABLE_ANNOTATION_STRINGS = 29,
	TABLE_LIMIT = 64, // ids of higher tables are not checked
};

// A sequence-local clock: ids 64 to 127.
struct sequence_clock {
	uint32_t id;
	bool incremental;
	uint64_t value; // the last time, if incremental
};

// The last times of a CPU on one sequence.
struct cpu_times {
	uint64_t switched, waking, event;
};

struct sequence {
	uint64_t key;   // machine and trusted_packet_sequence_id
	bool cleared;   // a packet with flag 1 has been seen, without a loss since
	bool lossy;     // some of its packets were lost; until the next clear it may refer to data in them
	uint32_t clock; // default for its packets, 0 for none
	uint64_t track; // default for its track events
	uint64_t extra_tracks; // number of default extra counter tracks
	struct map interned;   // table and id / 64 -> a bit for each id: dense ids take little
	struct map cpus;       // number -> index in cpu_times
	ARRAY(struct cpu_times) cpu_times;
	ARRAY(struct sequence_clock) clocks;
};

// What the trace says about a track and what happens on it. Descriptors may come after their
// events, so tracks are judged at the end. Offsets are stored + 1: 0 means never.
struct track {
	uint64_t uuid, parent;
	uint64_t described_at, slice_at, counter_at; // first of each
	uint64_t end_first_at;                       // first end without an open slice
	uint64_t open_at;                            // the outermost open slice
	int64_t balance;                             // begins minus ends
	uint64_t depth;                              // open slices, in file order
	uint64_t time, clock;                        // of the last slice edge
	uint32_t visit;                              // for the search for cycles
	bool counter, timed, unordered;
};

struct packet {
	struct sequence *sequence; // NULL without an id
	struct packet_header head;
	const uint8_t *begin;
};

struct check {
	const struct tl_check_opts *options;
	struct tl_check_result *result;
	struct stream *input;
	struct packet packet;
	uint64_t reported;
	bool opaque;   // there are compressed packets: seemingly missing data may be in them
	bool skip_ids; // inside a message that brings its own tables
	bool noted[DEFECT_COUNT - NOTE_FIRST];
	uint64_t sched_at;   // first scheduling data + 1
	bool kernel_release; // SystemInfo has it
	uint32_t trace_clock;
	struct map sequence_index; // key -> index
	ARRAY(struct sequence *) sequences;
	struct map clocks; // global ids -> (offset of first use + 1) * 2 + known
	struct map track_index;
	ARRAY(struct track) tracks;
};

// Returns 0, or -errno if the input cannot be read or there is no memory (-ENOMEM).
int check_stream(struct stream *input, const struct tl_check_opts *options, struct tl_check_result *result);

// check.c
void check_defect(struct check *check, const uint8_t *at, enum defect defect, uint64_t value);
void check_defect_at(struct check *check, uint64_t offset, enum defect defect, uint64_t value);
uint64_t check_offset(const struct check *check, const uint8_t *at);

// sequence.c: sequences, interned data, clocks
void sequence_enter(struct check *check); // the packet's header is known
void sequence_free_all(struct check *check);
void check_interned_data(struct check *check, const struct wire_field *field);
void check_packet_defaults(struct check *check, const struct wire_field *field);
void check_interned_id(struct check *check, const uint8_t *at, uint8_t table, uint64_t id);
void check_clock_snapshot(struct check *check, const struct wire_field *field);
void check_profile_packet(struct check *check, const struct wire_field *field);
void clock_used(struct check *check, const uint8_t *at, uint32_t clock);
void clocks_finish(struct check *check);

// sched.c
void check_ftrace_bundle(struct check *check, const struct wire_field *field);

// tracks.c
void check_track_descriptor(struct check *check, const struct wire_field *field);
void check_track_event(struct check *check, const struct wire_field *field);
void tracks_finish(struct check *check);
void tracks_free_all(struct check *check);

// rules.c: what the messages look like
extern const struct message_rule rule_any, rule_packet_header, rule_interned_data, rule_packet_defaults,
	rule_process_tree, rule_process_stats, rule_clock_snapshot, rule_system_info, rule_track_event,
	rule_track_descriptor, rule_perf_sample, rule_stack_sample, rule_profile_packet,
	rule_streaming_profile, rule_module_symbols, rule_etw_bundle, rule_ftrace_bundle,
	rule_kernel_task_state, rule_kernel_process_tree, rule_trace_uuid, rule_frame, rule_thread_descriptor;
