// Internal to the Perfetto writer: what its files share. perfetto.c writes processes, threads and
// facts about the whole trace; ftrace.c packs scheduling and other kernel events, per CPU; events.c
// writes samples, generic events and counters; counters.c PMU counters, which add up; marks.c the
// test's marks; activities.c activities of Windows' providers; path.c the critical path; heap.c a heap
// profile; crash.c crashes.
#pragma once

#include "base/file.h"
#include "event/event.h"
#include "event/points.h"
#include "format/perfetto_fields.h"

#define NO_TIME UINT64_MAX // of a packet

enum { NO_TID = UINT32_MAX, RECENT_TASKS = 64, RECENT_NAMES = 16 };

// The open slices of a task.
struct mark_slices {
	uint32_t depth;
	uint32_t test;   // depth of the test case's slice, from 1; 0 if none
	uint32_t beyond; // slices beyond the depth that importers allow
};

// One life of a task; its thread id may be reused.
struct task {
	uint32_t tid, pid;
	uint32_t parent_pid; // the original parent: the importer takes a change for another process
	uint32_t name;
	uint32_t threads;       // for a process's first thread: number of live tasks in the process
	uint64_t track;         // 0 until it has events of its own
	uint64_t process_track; // for a process's first thread; 0 until it has counters
	struct mark_slices slices;
	bool io_wait;     // when it left its CPU last
	bool wait_reason; // the system says why it waits
	bool exited;      // its exit was recorded
	bool gone;        // and it has left its CPU for the last time
};

struct crash {
	struct event event;
	uint64_t track;
	uint32_t stack; // string; 0 if unknown
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

// A cache in front of a map, by the lower bits of the key: most events belong to few tasks.
struct recent {
	uint32_t key;
	uint32_t place; // index + 1; 0 if unknown
};

// The current bundle of one CPU, and the task that runs there.
struct cpu {
	struct buffer columns[COLUMN_COUNT];
	struct buffer events; // FtraceEvents, each as a field of the bundle
	ARRAY(uint32_t) names;
	struct map name_indexes; // string id to bundle << 32 | index in `names` of that bundle
	struct recent recent_names[RECENT_NAMES]; // the same for this bundle
	uint32_t bundle;
	uint32_t current;                  // the running task, as this trace shows it; NO_TID at first
	uint64_t switch_time, waking_time; // of the last entries in the columns, 0 in a new bundle
	uint64_t last_switch, last_waking, last_event; // of the last events overall
	uint64_t lost;
	bool waking_flags; // whether any value in the column is not zero
	bool lost_in_bundle;
	bool in_irq, in_softirq;
	bool followed; // a switch was recorded here; until then the pseudo task is only assumed
};

struct perfetto {
	struct sink sink;
	struct output *output;
	struct strings *strings;
	struct stacks *stacks;
	struct buffer packet; // the packet being built
	bool sequence_begun[SEQUENCE_COUNT];
	bool preamble_written;
	bool system_scope;
	bool windows; // on Windows a process is not a thread: it never runs itself
	uint64_t start, end, wall, monotonic, clock_time;
	uint64_t wall_offset;                     // from the trace's clock to the wall clock, at the start
	ARRAY(struct event) facts;                // EVENT_META
	struct map tasks;                         // tid to index in `pool`
	struct recent recent_tasks[RECENT_TASKS]; // tid to index in `pool`
	ARRAY(struct task) pool;
	ARRAY(uint32_t) free_tasks;
	struct map outsiders; // tid to name: tasks outside the test that woke one of its tasks
	ARRAY(struct cpu *) cpus;
	struct map kernel_symbols;     // strings already written as kernel symbols
	struct buffer pending_symbols; // InternedData for the next bundle
	uint64_t tracks;               // number of tracks created
	ARRAY(struct crash) crashes;
	uint32_t outside_name, lost_name, off_cpu_name;
	struct more_events *more;             // owned by events.c
	struct activities *activities;        // owned by activities.c
	struct counter_tracks *counters;      // owned by counters.c
	struct map mark_names, mark_counters; // marks.c: names and counters already written
	struct map ended_processes;           // marks.c: from the pid to the track of its counters
	uint64_t mark_tracks;
	struct map path_strings;  // path.c: strings already written
	struct heap_places *heap; // owned by heap.c; NULL if there is no heap profile
};

// ---- perfetto.c ----

size_t perfetto_begin(struct perfetto *perfetto, enum sequence_number sequence,
		      uint64_t time); // or NO_TIME
int perfetto_end(struct perfetto *perfetto, size_t mark);
struct task *perfetto_task(struct perfetto *perfetto, uint32_t tid); // or NULL
uint32_t perfetto_task_name(struct perfetto *perfetto, uint32_t tid);
int perfetto_rename(struct perfetto *perfetto, const struct event *event);
int perfetto_task_track(struct perfetto *perfetto, const struct event *event, uint64_t *track); // 0 if none

// ---- ftrace.c ----

struct cpu *ftrace_add_cpu(struct perfetto *perfetto, uint32_t cpu);

static inline struct cpu *ftrace_cpu(struct perfetto *perfetto, uint32_t cpu) {
	bool known = cpu < perfetto->cpus.count && perfetto->cpus.items[cpu];
	return known ? perfetto->cpus.items[cpu] : ftrace_add_cpu(perfetto, cpu);
}

int ftrace_switch(struct perfetto *perfetto, const struct event *event);
int ftrace_waited(struct perfetto *perfetto, const struct event *sample); // a sample of a wait that is over
void ftrace_take_over(struct perfetto *perfetto, const struct event *event);
int ftrace_waking(struct perfetto *perfetto, const struct event *event);
int ftrace_newtask(struct perfetto *perfetto, const struct event *event, uint32_t name);
int ftrace_rename(struct perfetto *perfetto, const struct event *event, uint32_t old_name);
int ftrace_free(struct perfetto *perfetto, uint32_t cpu, uint64_t time, uint32_t tid, uint32_t name);
int ftrace_irq(struct perfetto *perfetto, const struct event *event);
int ftrace_point(struct perfetto *perfetto, const struct event *event);
void ftrace_lost(struct perfetto *perfetto, const struct event *event);
int ftrace_finish(struct perfetto *perfetto); // writes the open bundles, and the losses per CPU
void ftrace_destroy(struct perfetto *perfetto);

// ---- activities.c ----

struct activities *activities_new(void);
void activities_destroy(struct activities *activities);
// For each generic event with numbers, before it is written; `flow` is then the flow that leads to it, or 0.
int activities_take(struct perfetto *perfetto, const struct event *event, uint64_t *flow);
int activities_finish(struct perfetto *perfetto);

// ---- crash.c ----

int crash_take(struct perfetto *perfetto, const struct event *event);
int crash_take_stack(struct perfetto *perfetto, const struct event *event);
int crash_finish(struct perfetto *perfetto);

// ---- events.c ----

int events_sample(struct perfetto *perfetto, const struct event *event);
int events_generic(struct perfetto *perfetto, const struct event *event);
int events_counter(struct perfetto *perfetto, const struct event *event);
// A generic event with a duration, as a slice that flows lead to or from.
int events_slice(struct perfetto *perfetto, const struct event *event, const uint64_t *flows, size_t count);
// Opens a packet for the samples called `name`, with the interned data that `stack` needs. Sets
// `first`, unless it is NULL, if the sequence has just begun.
size_t events_stack_packet(struct perfetto *perfetto, uint32_t name, uint32_t stack, uint64_t time,
			   bool *first);
struct more_events *events_new(void);
void events_destroy(struct more_events *more);

// ---- counters.c ----

int counters_add(struct perfetto *perfetto, const struct event *event); // EVENT_COUNTER that adds
// Whether a generic event has the counts of a thread's slice, and the track for it; 0 if there is
// no such thread.
bool counters_is_slice(const struct perfetto *perfetto, const struct event *event);
int counters_slice_track(struct perfetto *perfetto, const struct event *event, uint64_t *track);
struct counter_tracks *counters_new(void);
void counters_destroy(struct counter_tracks *tracks);

// ---- heap.c ----

int heap_take(struct perfetto *perfetto, const struct event *event);
int heap_finish(struct perfetto *perfetto);
void heap_destroy(struct perfetto *perfetto);

// ---- path.c ----

int path_take(struct perfetto *perfetto, const struct event *event);
void path_destroy(struct perfetto *perfetto);

// ---- marks.c ----

int marks_take(struct perfetto *perfetto, const struct event *event);
int marks_close(struct perfetto *perfetto, struct task *task, uint64_t time); // ends the open slices
int marks_finish(struct perfetto *perfetto);
void marks_destroy(struct perfetto *perfetto);
