// Inside the Perfetto writer: what its files share. perfetto.c decides what
// a trace says (who lived when, what it is called, what the whole is about);
// perfetto_ftrace.c packs the scheduler's and the kernel's events, per CPU;
// perfetto_events.c writes samples, generic events and counters;
// perfetto_counters.c writes counters of a PMU, which add up;
// perfetto_marks.c writes what the test says about itself; perfetto_heap.c a heap profile.
#pragma once

#include "base/file.h"
#include "event/event.h"
#include "event/perfetto_fields.h"
#include "event/points.h"

enum { NO_TID = UINT32_MAX, RECENT_TASKS = 64, RECENT_NAMES = 16 };

// The slices of a task's own that are open.
struct mark_slices {
	uint32_t depth;
	uint32_t test;   // the depth of a test case's, counted from 1; 0: there is none
	uint32_t beyond; // so many more than an importer takes
};

// A task in one of its lives; a thread id may come back as another's.
struct task {
	uint32_t tid, pid;
	uint32_t parent_pid; // the one it was born to: the importer takes a change for another process
	uint32_t name;
	uint32_t threads;       // of a process' first thread: tasks of the process that live
	uint64_t track;         // 0: has no events of its own yet
	uint64_t process_track; // of a process' first thread; 0: has no counters yet
	struct mark_slices slices;
	bool exited; // has said so
	bool gone;   // and has left its CPU for the last time
};

struct crash {
	struct event event;
	uint64_t track;
	uint32_t stack; // string; 0: not known
};

enum {
	COLUMN_SWITCH_TIMESTAMP,
	COLUMN_SWITCH_PREV_STATE,
	COLUMN_SWITCH_NEXT_PID,
	COLUMN_SWITCH_NEXT_PRIO,
	COLUMN_SWITCH_NEXT_COMM,
	COLUMN_WAKING_TIMESTAMP,
	COLUMN_WAKING_PID,
	COLUMN_WAKING_TARGET_CPU,
	COLUMN_WAKING_PRIO,
	COLUMN_WAKING_COMM,
	COLUMN_WAKING_FLAGS,
	COLUMN_COUNT
};

// In front of a map, by the lower bits of its key: most events are of few tasks.
struct recent {
	uint32_t key;
	uint32_t place; // one more than the index; 0: not known
};

// The bundle of one CPU that is being filled, and what runs there.
struct cpu {
	struct buffer columns[COLUMN_COUNT];
	struct buffer events; // FtraceEvents, each as a field of the bundle
	ARRAY(uint32_t) names;
	struct map name_indexes; // string id to bundle << 32 | index in `names` of that bundle
	struct recent recent_names[RECENT_NAMES]; // the same, of this bundle
	uint32_t bundle;
	uint32_t current;                  // the task that runs, as this trace tells it; NO_TID at first
	uint64_t switch_time, waking_time; // of the last ones in the columns, 0 in a new bundle
	uint64_t last_switch, last_waking, last_event; // of the last ones ever
	uint64_t lost;
	bool waking_flags; // any but zero in the column
	bool lost_in_bundle;
	bool in_irq, in_softirq;
};

struct perfetto {
	struct sink sink;
	struct output *output;
	struct strings *strings;
	struct stacks *stacks;
	struct buffer packet; // the one being made
	bool sequence_begun[SEQUENCE_COUNT];
	bool preamble_written;
	bool system_scope;
	bool windows; // a process is no thread there: it never runs itself
	uint64_t start, end, wall, monotonic, clock_time;
	uint64_t wall_offset;      // from the trace's clock to the wall clock, in the beginning
	ARRAY(struct event) facts; // EVENT_META
	struct map tasks;          // tid to index in `pool`
	struct recent recent_tasks[RECENT_TASKS]; // tid to index in `pool`
	ARRAY(struct task) pool;
	ARRAY(uint32_t) free_tasks;
	struct map outsiders; // tid to name: tasks outside the test that woke one of it
	ARRAY(struct cpu *) cpus;
	struct map kernel_symbols;     // strings that have been written as such
	struct buffer pending_symbols; // InternedData for the next bundle
	uint64_t tracks;               // made so far
	ARRAY(struct crash) crashes;
	uint32_t outside_name, lost_name;
	struct more_events *more;             // perfetto_events.c's own
	struct counter_tracks *counters;      // perfetto_counters.c's own
	struct map mark_names, mark_counters; // perfetto_marks.c: what has been written
	uint64_t mark_tracks;
	struct heap_places *heap; // perfetto_heap.c's own; NULL: there is no heap profile
};

// ---- perfetto.c ----

size_t perfetto_begin(struct perfetto *perfetto, enum sequence_number sequence,
		      uint64_t time); // time 0: none
int perfetto_end(struct perfetto *perfetto, size_t mark);
struct task *perfetto_task(struct perfetto *perfetto, uint32_t tid); // or NULL
uint32_t perfetto_task_name(struct perfetto *perfetto, uint32_t tid);
int perfetto_rename(struct perfetto *perfetto, const struct event *event);
int perfetto_task_track(struct perfetto *perfetto, const struct event *event, uint64_t *track); // 0: has none

// ---- perfetto_ftrace.c ----

struct cpu *ftrace_add_cpu(struct perfetto *perfetto, uint32_t cpu);

static inline struct cpu *ftrace_cpu(struct perfetto *perfetto, uint32_t cpu) {
	bool known = cpu < perfetto->cpus.count && perfetto->cpus.items[cpu];
	return known ? perfetto->cpus.items[cpu] : ftrace_add_cpu(perfetto, cpu);
}

int ftrace_switch(struct perfetto *perfetto, const struct event *event);
void ftrace_take_over(struct perfetto *perfetto, const struct event *event);
int ftrace_waking(struct perfetto *perfetto, const struct event *event);
int ftrace_newtask(struct perfetto *perfetto, const struct event *event, uint32_t name);
int ftrace_rename(struct perfetto *perfetto, const struct event *event, uint32_t old_name);
int ftrace_free(struct perfetto *perfetto, uint32_t cpu, uint64_t time, uint32_t tid, uint32_t name);
int ftrace_irq(struct perfetto *perfetto, const struct event *event);
int ftrace_point(struct perfetto *perfetto, const struct event *event);
void ftrace_lost(struct perfetto *perfetto, const struct event *event);
int ftrace_finish(struct perfetto *perfetto); // what is left, and the losses per CPU
void ftrace_destroy(struct perfetto *perfetto);

// ---- perfetto_crash.c ----

int crash_take(struct perfetto *perfetto, const struct event *event);
int crash_take_stack(struct perfetto *perfetto, const struct event *event);
int crash_finish(struct perfetto *perfetto);

// ---- perfetto_events.c ----

int events_sample(struct perfetto *perfetto, const struct event *event);
int events_generic(struct perfetto *perfetto, const struct event *event);
int events_counter(struct perfetto *perfetto, const struct event *event);
// Opens a packet of the samples called `name`, with what `stack` needs to be told first. The sequence
// has just begun: so says `first`, unless that is NULL.
size_t events_stack_packet(struct perfetto *perfetto, uint32_t name, uint32_t stack, uint64_t time,
			   bool *first);
struct more_events *events_new(void);
void events_destroy(struct more_events *more);

// ---- perfetto_counters.c ----

int counters_add(struct perfetto *perfetto, const struct event *event); // EVENT_COUNTER that adds
// A generic event that tells of a thread's slice, and the track for it; 0: there is no such thread.
bool counters_is_slice(const struct perfetto *perfetto, const struct event *event);
int counters_slice_track(struct perfetto *perfetto, const struct event *event, uint64_t *track);
struct counter_tracks *counters_new(void);
void counters_destroy(struct counter_tracks *tracks);

// ---- perfetto_heap.c ----

int heap_take(struct perfetto *perfetto, const struct event *event);
int heap_finish(struct perfetto *perfetto);
void heap_destroy(struct perfetto *perfetto);

// ---- perfetto_marks.c ----

int marks_take(struct perfetto *perfetto, const struct event *event);
int marks_close(struct perfetto *perfetto, struct task *task, uint64_t time); // ends the slices that are open
int marks_finish(struct perfetto *perfetto);
void marks_destroy(struct perfetto *perfetto);
