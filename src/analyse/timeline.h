// What every thread of a recording did: a sink that keeps, for each thread, when it ran, was ready and
// waited, what woke it and where it was blocked. critical_path.h walks it backwards.
//
// A moment is one change of a thread's state: 32 bytes in chunks that never move, linked to the thread's
// previous moment and to the previous task that got the same CPU. A million events take about 50 MB.
#pragma once

#include "event/joins.h"

enum moment_kind {
	MOMENT_BORN,  // created by `other`; ready from now on
	MOMENT_RUNS,  // got the CPU, which `other` had before
	MOMENT_READY, // lost the CPU to `other`, and could go on
	MOMENT_WAITS, // left the CPU to wait; `stack` says where
	MOMENT_WOKEN, // by `other`; ready from now on
	MOMENT_ENDED,
	MOMENT_SAMPLE, // where it was while it ran; in a list of its own
};

// How a task was woken.
enum {
	WOKEN_HARDIRQ = 1,
	WOKEN_SOFTIRQ = 2,
	WOKEN_TIMER = 4,    // by the softirq of the timers
	WOKEN_BY_TASK = 8,  // in a softirq that the waker raised itself, as by a packet to its own machine
	WOKEN_OUTSIDE = 16, // by a task that is not of the test
	WOKEN_BY_PIPE = 32, // which wrote to a pipe
	WOKEN_BY_SOCKET = 64,
};

struct moment {
	uint64_t time;
	uint32_t thread; // whose it is; index into `threads`
	uint32_t before; // the thread's previous moment; 0 if none
	uint32_t other;  // a thread; 0 if none
	union {
		uint32_t stack;      // MOMENT_WAITS and MOMENT_SAMPLE
		uint32_t cpu_before; // MOMENT_RUNS: the CPU's previous moment of this kind; 0 if none
	};
	uint16_t cpu;
	uint8_t kind;   // enum moment_kind
	uint8_t detail; // MOMENT_WOKEN: WOKEN_ bits; MOMENT_WAITS: KWAIT_REASON + 1, or 0
	uint16_t state; // MOMENT_WAITS: enum task_state
};

struct timeline_thread {
	uint32_t tid, pid, parent_pid;
	uint32_t name;
	uint32_t first, last, last_sample; // moments
	uint32_t early_waker;              // a wakeup between the decision to sleep and the switch
	uint32_t spare_waker;              // a wakeup while it was ready, which says that a switch is missing
	uint64_t early_time, spare_time;
	uint8_t early_detail, spare_detail;
	bool outside; // does not belong to the test: its time line has holes
	bool exited, unknown_code;
	bool has_thread;            // of Windows: a process whose first thread is known
	int32_t code;               // as from wait()
	uint64_t execed, exit_time; // 0 if not in the recording
};

// A case of a test program.
struct timeline_case {
	uint32_t name;
	uint32_t thread;   // that reported its end
	uint64_t from, to; // to is 0 while it is open
	double value;
};

// A signal that a thread was sent.
struct timeline_signal {
	uint32_t target; // thread id, or the process's
	uint32_t sender; // thread
	uint32_t number;
	bool by_kernel;
};

// A signal that ended a process, in the thread that caused it.
struct timeline_crash {
	uint64_t time, address;
	uint32_t thread;
	uint32_t signal;
	int32_t code;
	uint32_t stack; // a string: one line for each frame; 0 if unknown
};

// A process that the kernel ended for lack of memory.
struct timeline_victim {
	uint64_t time;
	uint32_t pid;
	uint64_t limit, usage; // of its control group, in bytes; limit is 0 if it has none
};

// Time in which events are missing. Of one CPU: the kernel did not report switches there, but wakeups are
// complete.
struct timeline_gap {
	uint64_t from, to;
	uint32_t cpu; // CPU_NONE: anything may be missing
};

struct timeline_cpu {
	struct joins joins;
	uint32_t last;     // the last MOMENT_RUNS
	uint64_t switched; // the time of the last switch
	uint64_t time;     // of the last switch or wakeup here
	uint64_t irq_exit;
	uint32_t softirq; // the one that runs, plus 1
	uint64_t lost;    // since when the CPU's time is lost; 0 if it is not
};

// Of the control group: event.h has the units; 0 if unknown.
struct timeline_limits {
	uint64_t cpu, throttled, throttled_periods, periods;
	uint64_t memory, memory_peak, oom_kills;
	uint64_t io_stalled, memory_stalled, listen_overflows; // of the machine
};

struct timeline {
	struct sink sink; // has no destroy() of its own: see timeline_free()
	struct tables *tables;
	ARRAY(struct moment *) chunks;
	uint32_t moment_count;                 // the first one is not used
	ARRAY(struct timeline_thread) threads; // the first one is not used
	struct map by_tid;
	ARRAY(struct timeline_cpu) cpus;
	ARRAY(struct timeline_case) cases;
	ARRAY(struct timeline_signal) signals; // the newest, in no order
	uint64_t signal_count;
	ARRAY(struct timeline_crash) crashes;  // the first ones and the newest
	ARRAY(struct timeline_victim) victims; // the same
	ARRAY(struct timeline_gap) gaps;       // in order of their ends
	uint32_t test, result, command, scope; // facts
	uint32_t wall_seconds;                 // the same
	uint32_t stuck;                        // the fact of format/stuck.h
	bool windows;                          // a process is no thread there
	uint32_t first_exec, command_exec;     // threads
	struct timeline_limits limits;
	uint64_t start, first, last; // when recording began; the first and the last event
	uint64_t lost, switches;
	uint32_t off_cpu; // a string
	bool has_stacks, has_samples;
};

enum { TIMELINE_CHUNK_BITS = 15, TIMELINE_CHUNK = 1 << TIMELINE_CHUNK_BITS };

static inline struct moment *timeline_moment(const struct timeline *timeline, uint32_t moment) {
	return &timeline->chunks.items[moment >> TIMELINE_CHUNK_BITS][moment & (TIMELINE_CHUNK - 1)];
}

static inline struct timeline_thread *timeline_thread(const struct timeline *timeline, uint32_t thread) {
	return &timeline->threads.items[thread];
}

struct sink *timeline_init(struct timeline *timeline, struct tables *tables);
void timeline_free(struct timeline *timeline);

const char *timeline_name(const struct timeline *timeline, uint32_t thread);         // "" if unknown
const char *timeline_process_name(const struct timeline *timeline, uint32_t thread); // of its first thread
bool timeline_is_kernel(const struct timeline *timeline, uint32_t thread);           // a kernel thread
bool timeline_is_idle(const struct timeline *timeline, uint32_t thread);
