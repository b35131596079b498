// Everything is an event; events flow one way.
//
// A reader pushes events into a sink, in order of time. A writer is a sink; other sinks
// are in front of the next one. Nothing else connects readers and writers: a new format
// is one file on one side.
//
// Times are nanoseconds of the trace's clock (on Linux CLOCK_BOOTTIME). Tasks
// are named by the kernel's global thread id, and `pid` is the process (thread
// group). Strings are ids in the pipeline's string table.
#pragma once

#include "event/tables.h"
#include "format/sources.h"

enum event_kind {
	EVENT_WATERMARK, // no events before this time will follow
	EVENT_LATE,      // how many events of the whole input came nevertheless; has no time
	EVENT_START,     // recording began
	EVENT_META,      // a fact about the whole trace
	EVENT_CLOCK,     // the trace's clock and the wall clock, read together
	EVENT_TASK,      // a task that existed before the trace began
	EVENT_SWITCH,
	EVENT_WAKING,
	EVENT_FORK,
	EVENT_EXEC,
	EVENT_RENAME,
	EVENT_EXIT,
	EVENT_IRQ_ENTRY,
	EVENT_IRQ_EXIT,
	EVENT_SOFTIRQ_ENTRY,
	EVENT_SOFTIRQ_EXIT,
	EVENT_MAPPING,     // code mapped into a process; size 0 if the address space is new and empty
	EVENT_SAMPLE,      // where a task was when it was sampled
	EVENT_GENERIC,     // an event with its own fields
	EVENT_CRASH,       // a signal that ends the process, in the thread that caused it
	EVENT_CRASH_STACK, // found afterwards
	EVENT_MARK,        // a mark of the test about its phases
	EVENT_LOST,        // how many events are missing here
	EVENT_COUNTER,     // the value of something that is counted or measured
	EVENT_POINT,       // one of the kernel events in event/points.h
	EVENT_PATH,        // a piece of the critical path, which was computed: no reader pushes it
	EVENT_KIND_COUNT
};
_Static_assert(EVENT_KIND_COUNT < 32, "sets of kinds are bits of an int");

// By enum event_source.
extern const char *const event_source_names[SOURCE_COUNT];

// Why a Windows thread waits, by KWAIT_REASON.
enum { WAIT_REASON_COUNT = 43 };
extern const char *const event_wait_reasons[WAIT_REASON_COUNT];

enum {
	CPU_NONE = UINT32_MAX,
	CPU_COUNT_MOST = 8192, // the largest number that a Linux kernel can be configured for
	// The rest of a CPU's time in a trace of one test: "(not this test)". The kernel's
	// largest possible pid is one less.
	TID_OUTSIDE = 4194304,
	TID_LOST = TID_OUTSIDE +
		   (1 << 20), // the same for time without records: "(events lost)"; both plus the CPU
};

// CPU numbers index arrays: readers push no event with any other number.
static inline bool cpu_is_possible(uint32_t cpu) {
	return cpu < CPU_COUNT_MOST || cpu == CPU_NONE;
}

// The event of samples that say where and how long a task waited, in nanoseconds.
#define EVENT_OFF_CPU "off-cpu"

// The event of samples that are pieces of the critical path; in nanoseconds, too.
#define EVENT_CRITICAL_PATH "critical path"

// A fact: which disk has which number, "254:0 vda, 7:1 loop1".
#define DISKS_FACT "disks"

// Facts about the control group of the test, as numbers; absent if 0. What was counted is for the time of the
// test; the peak of memory is not.
#define FACT_CPU_LIMIT         "cpu-limit" // thousandths of a CPU
#define FACT_THROTTLED         "cpu-throttled-ns"
#define FACT_THROTTLED_PERIODS "cpu-throttled-periods"
#define FACT_PERIODS           "cpu-periods"
#define FACT_MEMORY_LIMIT      "memory-limit" // bytes
#define FACT_MEMORY_PEAK       "memory-peak"
#define FACT_OOM_KILLS         "oom-kills"

// Facts about the whole machine during a test that did not pass; absent if 0.
#define FACT_CPU_STALLED      "machine-cpu-stalled-ns" // some task was held up
#define FACT_IO_STALLED       "machine-io-stalled-ns"
#define FACT_MEMORY_STALLED   "machine-memory-stalled-ns"
#define FACT_LISTEN_OVERFLOWS "machine-listen-overflows"
#define FACT_RETRANSMITS      "machine-tcp-retransmits"

// The event of samples in an ETL file, which are taken on a clock; also in nanoseconds.
#define EVENT_CPU_SAMPLES "CPU samples"

// The provider of PMU counters, and of the generic events with the counts of each slice of a
// thread.
#define PROVIDER_PMU "pmu"

// The state in which a task left the CPU, numbered as in the kernel's sched_switch
// tracepoint (since 4.14).
enum task_state {
	STATE_RUNNING = 0,
	STATE_SLEEPING = 0x01,
	STATE_DISK = 0x02,
	STATE_STOPPED = 0x04,
	STATE_TRACED = 0x08,
	STATE_DEAD = 0x10,
	STATE_ZOMBIE = 0x20,
	STATE_PARKED = 0x40,
	STATE_IDLE = 0x80,
	STATE_PREEMPTED = 0x100,
};

// Whether a task that waits does so for a device. STATE_DISK does not say that: it is also the state of
// waits for a child after vfork, or for a lock inside the kernel.
enum io_wait { IO_WAIT_UNKNOWN, IO_WAIT_NO, IO_WAIT_YES };

// The context of a wakeup; the bits of ftrace's common_flags, and one that is ours: the softirq is that of
// the timers.
enum { CONTEXT_HARDIRQ = 0x08, CONTEXT_SOFTIRQ = 0x10, CONTEXT_TIMER = 0x100 };

// What a waker was writing to; known only for wakeups after a long wait. In traces above the bits of the
// context.
enum written { WRITTEN_NOTHING, WRITTEN_PIPE, WRITTEN_SOCKET };
enum { CONTEXT_WRITTEN_SHIFT = 9, CONTEXT_WRITTEN_MASK = 3 };

// An interrupt is no task: readers give its wakeups tid 0 and no name. The task that it interrupted did
// nothing. The one exception is a softirq in a task of the trace: a task that sends over loopback wakes
// the receiver in one.
static inline bool waker_is_interrupt(uint16_t context, bool outside) {
	return context & CONTEXT_HARDIRQ || (context & CONTEXT_SOFTIRQ && outside);
}

// What the source of a sample does not provide; and a sample of the profile that this one
// is compared with.
enum {
	SAMPLE_NO_PID = 1,
	SAMPLE_NO_TASK = 2,
	SAMPLE_BASELINE = 4,
	SAMPLE_RAW = 8,        // its frames are bare addresses in the process
	SAMPLE_BROKEN = 16,    // the stack walk did not reach the outermost function
	SAMPLE_WAITS = 32,     // taken when its task began to wait; the weight is how long, once known
	SAMPLE_METRIC = 64,    // its event is one of heap_metrics[]: one sample for each place and metric
	SAMPLE_AT_EVENT = 128, // the stack at a kernel event (event/event_stacks.h)
	SAMPLE_CUT = 512,      // the stack has more frames than were kept
	SAMPLE_WAITED = 1024,  // with SAMPLE_WAITS: taken when the wait was over; the weight is known
	SAMPLE_READY = 256 // the end of a wait: woken, and ready until a CPU was free; the weight is how long
};

// Types of marks (enum tl_mark_type of tracelet/mark.h has the same numbers).
enum mark_type {
	MARK_INSTANT = 1,
	MARK_SLICE_BEGIN,
	MARK_SLICE_END, // of the thread's innermost open slice
	MARK_COUNTER,
	MARK_TEST_BEGIN, // a case of a test program; its end closes open slices inside
	MARK_TEST_END,
	MARK_TYPE_COUNT
};

// The top of a stack, to be walked later. Valid during the push.
struct sample_copy {
	uint64_t pc, stack, frame;
	uint64_t first; // the first argument's register; 0 if unknown
	uint64_t top;   // about where the thread's stack begins; 0 if unknown
	const uint8_t *bytes;
	size_t size;
};

// The numbers that identify a generic event, if its format has them.
struct event_numbers {
	uint16_t id, version, task;
	uint8_t opcode, level;
	bool has_id; // otherwise only opcode and version are valid
	uint64_t keywords;
	const char *activity, *related_activity; // GUIDs, or NULL
	const char *provider;                    // its GUID, or NULL
	const char *message;                     // its text in words, or NULL
	uint32_t instance, parent_instance;      // of the event's subject; 0 if none
};

// A field of a generic event. Strings are not interned, as most occur once.
struct event_field {
	const char *name;
	enum { FIELD_UINT, FIELD_INT, FIELD_HEX, FIELD_DOUBLE, FIELD_BOOL, FIELD_TEXT } type;
	union {
		uint64_t uint;
		int64_t sint;
		double real;
		struct {
			const char *text; // UTF-8, not terminated
			size_t size;
		};
	};
};

struct buffer;
void field_print(struct buffer *out, const struct event_field *field); // its value as text, without quotes

struct event {
	uint64_t time;
	uint32_t cpu;
	uint16_t kind;
	uint32_t tid, pid; // the task it happened in; pid 0 if unknown
	union {
		struct {
			uint64_t count;
		} late;
		struct {
			uint32_t key, value; // strings
		} meta;
		struct {
			uint64_t wall; // nanoseconds since 1970
			uint64_t monotonic;
		} clock;
		struct {
			uint32_t parent_pid;
			uint32_t name, command_line; // arguments separated by NUL
		} task;
		struct { // tid leaves the CPU, next_tid gets it
			uint32_t next_tid;
			uint32_t next_name; // 0 for the task's known name
			uint16_t state;     // enum task_state, of the task that leaves
			int16_t priority, next_priority;
			bool outside, next_outside; // does not belong to this trace's test
			bool followed; // neither does, but the next switch on this CPU is recorded, too
			uint16_t wait_reason; // Windows' KWAIT_REASON + 1; 0 if unknown
			uint8_t io_wait;      // enum io_wait, of the task that leaves
		} switched;
		struct { // tid wakes wakee_tid; 0 for an interrupt, see waker_is_interrupt()
			uint32_t wakee_tid;
			uint32_t waker_name; // 0 for the known name
			uint32_t target_cpu;
			int16_t priority;
			uint16_t context; // CONTEXT_ bits
			bool waker_outside;
			uint8_t written; // enum written
		} waking;
		struct { // tid creates child_tid
			uint32_t child_tid, child_pid;
			uint32_t parent_pid; // the child's parent
			uint32_t name;
		} fork;
		struct {
			uint32_t old_tid; // differs if a thread other than the first one calls exec
			uint32_t name, file, arguments; // arguments separated by NUL
			bool truncated;                 // the arguments were longer
		} exec;
		struct {
			uint32_t name;
		} rename;
		struct {
			int32_t code; // as from wait(): exit status << 8, or the signal
			bool last;    // thread of its process
			bool unknown; // the code is not known
			bool has_status;
			uint32_t status; // all 32 bits of the status
		} exit;
		struct {
			uint32_t number; // interrupt, or softirq vector
			uint32_t name;   // handler
			int32_t result;  // at exit; 1 if handled
		} irq;
		struct {
			uint64_t start, size, offset;
			uint32_t file, build_id; // strings
		} mapping;
		struct {
			uint64_t weight; // period, or nanoseconds
			uint64_t ready;  // of SAMPLE_WAITED: nanoseconds for which it then was ready
			uint32_t stack;
			uint32_t name;  // of the sampled event
			uint32_t comm;  // the task's name at that time; 0 for the known name, or none
			uint32_t flags; // SAMPLE_ bits
			uint32_t script; // of a raw sample: the stack of an interpreter (script.h); 0 if none
			const struct sample_copy *copy; // of a raw sample, or NULL
		} sample;
		struct { // the fields are valid during the push
			uint32_t provider, name;
			uint32_t field_count;
			const struct event_field *fields;
			uint64_t duration;                   // ends at the event's time; 0 for an instant
			uint32_t stack;                      // where it happened; 0 if unknown
			bool on_cpu;                         // took time of its CPU, not of a thread
			const struct event_numbers *numbers; // valid during the push; or NULL
		} generic;
		struct {
			uint64_t address; // of the fault; the sender of the signal if code <= 0
			uint64_t instruction;
			uint32_t signal;
			int32_t code;  // siginfo's si_code
			uint32_t name; // of the thread
		} crash;
		struct {
			uint64_t crash_time;
			uint32_t text; // one line per frame
		} crash_stack;
		struct {
			double value;  // of a counter; of a case: 0 passed, 77 skipped, otherwise failed
			uint32_t name; // or text
			uint16_t type; // enum mark_type
			bool no_task;  // about the whole test
			bool cut;      // the text was longer
		} mark;
		struct {
			uint64_t count;
			uint16_t source; // enum event_source
		} lost;
		struct {
			double value;
			uint32_t provider, name;
			uint32_t unit; // 0 for a plain number
			bool adds; // the value is added to the previous ones, of this CPU or this task of the
				   // test
		} counter;
		struct {
			uint16_t number, small;
			uint32_t path;      // string: an argument of a system call; 0 if none
			uint64_t values[4]; // those that the point has; the others are 0
		} point;
		struct { // ends at the event's time; tid and pid are the thread on the path
			uint64_t from;
			uint32_t name, thread; // strings: "reason: function", the thread's name
			bool comes, goes;      // the piece before, or the next one, is another thread's
		} path;
	};
};

// Whether the event says what a task is called now: which one, and its name.
static inline bool event_names_task(const struct event *event, uint32_t *tid, uint32_t *name) {
	*tid = event->kind == EVENT_FORK ? event->fork.child_tid : event->tid;
	switch (event->kind) {
	case EVENT_TASK:
		*name = event->task.name;
		return true;
	case EVENT_FORK:
		*name = event->fork.name;
		return true;
	case EVENT_EXEC:
		*name = event->exec.name;
		return true;
	case EVENT_RENAME:
		*name = event->rename.name;
		return true;
	default:
		return false;
	}
}

// A copy of the fields of a generic event, which are valid only during the push: one allocation with
// texts and names, to be freed. NULL if there are none.
const struct event_field *event_fields_copy(const struct event_field *fields, size_t count);

// Takes events. push() and finish() return 0 or -errno; after an error the pipeline
// stops. finish() is called when everything has been pushed.
struct sink {
	int (*push)(struct sink *sink, const struct event *event);
	int (*finish)(struct sink *sink);
	void (*destroy)(struct sink *sink);
};

static inline int sink_push(struct sink *sink, const struct event *event) {
	return sink->push(sink, event);
}

// What a reader could not put in order; nothing is pushed for 0.
int sink_push_late(struct sink *sink, uint64_t count);

static inline int sink_finish(struct sink *sink) {
	return sink->finish(sink);
}

static inline void sink_destroy(struct sink *sink) {
	if (sink)
		sink->destroy(sink);
}
