// A recording as a page has it: a sink that keeps, for each thread, its states one after the other, and
// samples, marks, counters and the critical path in lists. At the end they are written as columns, and drawn
// as a picture for readers without JavaScript.
//
// The states are those of Perfetto's table thread_state, row for row: a switch ends the state of two threads,
// a wakeup that of a sleeping one. 16 bytes for each.
#pragma once

#include "event/described.h"
#include "write/page/columns.h"

// The letters that Perfetto and ps use.
#define PAGE_STATES(X)                                                                                       \
	X(RUNS, "Running")                                                                                   \
	X(READY, "R")                                                                                        \
	X(PREEMPTED, "R+")                                                                                   \
	X(SLEEPS, "S")                                                                                       \
	X(DISK, "D")                                                                                         \
	X(STOPPED, "T")                                                                                      \
	X(TRACED, "t")                                                                                       \
	X(DEAD, "X")                                                                                         \
	X(ZOMBIE, "Z")                                                                                       \
	X(PARKED, "P")                                                                                       \
	X(IDLE, "I")

enum page_state_kind {
#define X(id, name) PAGE_##id,
	PAGE_STATES(X)
#undef X
		PAGE_STATE_COUNT
};
extern const char *const page_state_names[PAGE_STATE_COUNT];

enum {
	PAGE_STATE_LOST = 0x80,    // events are missing: when it ended is not known
	PAGE_STATE_SAMPLED = 0x40, // a wait with a stack, or the ready state after it, is a sample as well
	PAGE_STATE_KIND = 0x3f,
};

struct page_state {
	uint64_t start; // ends where the next one begins
	uint32_t what;  // of a wait: its stack; of a ready thread: the thread that woke it, + 1; 0 if unknown
	uint16_t cpu;   // while it runs; otherwise CONTEXT_ bits of the wakeup
	uint8_t kind;   // enum page_state_kind, and PAGE_STATE_LOST
	uint8_t reason; // of a wait: first Windows' KWAIT_REASON + 1, then a number of the page's reasons
};

struct page_thread {
	uint32_t tid, pid, name;
	bool outside, on_path, sampled;
	ARRAY(struct page_state) states;
	uint64_t path_ns;
};

struct page_sample {
	uint64_t time, weight;
	uint32_t thread, stack, kind;
	uint32_t state; // of a wait: its number in the thread, + 1; 0 if none
};

// One for each sampled event; a profile of its own.
struct page_sample_kind {
	uint32_t name, flags; // SAMPLE_BASELINE, SAMPLE_METRIC, SAMPLE_AT_EVENT
};

struct page_mark {
	uint64_t from, to; // the same for an instant
	uint32_t thread, name;
	double value;
	uint8_t type; // enum mark_type
	bool open;
};

struct page_point {
	uint64_t time;
	double value;
};

struct page_series {
	uint32_t provider, name, unit, cpu, tid;
	bool adds;
	ARRAY(struct page_point) points;
};

struct page_piece {
	uint64_t from, to;
	uint32_t thread, name;
};

struct page_lost {
	uint64_t time, count;
	uint32_t source;
};

struct page_event {
	uint64_t time, duration;
	uint32_t thread, cpu, name, text;
};

struct page_fact {
	uint32_t key, value;
};

// What a wait was for, which other parts of the program know: a number below `count`, by which the page names
// it.
enum page_colour {
	COLOUR_RUNS,
	COLOUR_READY,
	COLOUR_LOCK,
	COLOUR_DISK,
	COLOUR_WAITS,
	COLOUR_SLEEPS,
	COLOUR_ENDED,
	COLOUR_COUNT
};

// How it is drawn and called.
extern const struct page_colour_words { const char *fill, *words; } page_colours[COLOUR_COUNT];

struct page_reasons {
	const char *const *names;
	const uint8_t *colours; // enum page_colour of each
	uint8_t count;
	uint8_t (*of)(void *context, const struct page_state *state);
	void *context;
};

struct page_trace {
	struct sink sink; // belongs to its owner: destroy() does nothing, see page_trace_free()
	struct tables *tables;
	struct page_reasons reasons;
	struct describer describer;
	bool baseline; // only samples are taken, of the run to compare with
	uint32_t off_cpu;
	uint64_t first, last, start;
	uint64_t switches;
	ARRAY(struct page_thread) threads;
	struct map by_tid;
	ARRAY(struct page_sample) samples;
	struct map
		base_samples; // kind, thread and stack to the sample of the baseline that has their sum, + 1
	struct map base_threads; // name to a thread that stands for all of that name, + 1
	struct map base_names;   // tid to name
	struct map wait_weights; // thread and number of a sampled state to how much more its sample says
	ARRAY(struct page_sample_kind) sample_kinds;
	struct map kinds_by_name;
	ARRAY(struct page_mark) marks;
	ARRAY(struct page_series) series;
	struct map series_by_key;
	ARRAY(struct page_piece) path;
	ARRAY(struct page_lost) lost;
	ARRAY(struct page_event) events;
	uint64_t events_left_out;
	ARRAY(struct page_fact) facts;
};

struct sink *page_trace_init(struct page_trace *trace, struct tables *tables,
			     const struct page_reasons *reasons);
void page_trace_free(struct page_trace *trace);

const char *page_trace_fact(const struct page_trace *trace, const char *key); // NULL if there is none
uint64_t page_state_end(const struct page_trace *trace, const struct page_thread *thread, size_t state);

// Writes everything as columns (trace_columns.c), with times since the first event.
void page_trace_columns(struct page_trace *trace, struct columns *columns);

// The same for a page of millions of states, with some thousand of them (overview.c).
void page_trace_overview(struct page_trace *trace, struct columns *columns);

// A static time line as SVG: the threads that matter most, with their states and the path (picture.c).
void page_trace_picture(const struct page_trace *trace, struct buffer *out);
enum page_colour page_state_colour(const struct page_trace *trace, const struct page_state *state);
