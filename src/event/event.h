// Everything is an event; events flow one way.
//
// A reader pushes events into a sink. A writer is a sink; the orderer is a sink
// that holds the next one. Nothing else connects readers and writers: a new
// format is one file on one side.
//
// Times are nanoseconds of the trace's clock (on Linux CLOCK_BOOTTIME). Tasks
// are named by the kernel's global thread id, and `pid` is the process (thread
// group). Strings are ids in the pipeline's string table.
#pragma once

#include "event/tables.h"

enum event_kind {
	EVENT_WATERMARK, // nothing earlier than this time will be pushed any more
	EVENT_START,     // recording began
	EVENT_META,      // a fact about the whole trace
	EVENT_CLOCK,     // the trace's clock and the wall clock, read together
	EVENT_TASK,      // a task that was there before the trace began
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
	EVENT_MAPPING,     // code that a process got into its address space; size 0: it is new and empty
	EVENT_SAMPLE,      // where a task was when it was sampled
	EVENT_GENERIC,     // an event with fields of its own
	EVENT_CRASH,       // a signal that ends the process, in the thread that caused it
	EVENT_CRASH_STACK, // found out afterwards
	EVENT_MARK,        // what the test itself says about its phases
	EVENT_LOST,        // events that are missing here, and how many
	EVENT_COUNTER,     // the value of something that is counted or measured
	EVENT_POINT,       // of the kernel: one of those that event/points.h tells about
	EVENT_KIND_COUNT
};

// Where an event comes from, for counting losses.
enum event_source {
	SOURCE_SCHED,
	SOURCE_PROCESS,
	SOURCE_IRQ,
	SOURCE_MARKER,
	SOURCE_SAMPLE,
	SOURCE_FAULT,
	SOURCE_MEMORY,
	SOURCE_FILE,
	SOURCE_SYSTEM_CALL,
	SOURCE_BLOCK,
	SOURCE_TIMER,
	SOURCE_WORK,
	SOURCE_IPI,
	SOURCE_NETWORK,
	SOURCE_POWER,
	SOURCE_KVM,
	SOURCE_PRIORITY,
	SOURCE_MIGRATION,
	SOURCE_CLOCK,
	SOURCE_SOFTIRQ_QUEUE,
	SOURCE_RSS,
	SOURCE_SLAB,
	SOURCE_LOCK,
	SOURCE_BIO,
	SOURCE_TRACE,  // of whatever kind
	SOURCE_BUFFER, // whole buffers, with nobody knows how many events
	SOURCE_COUNT
};
extern const char *const event_source_names[SOURCE_COUNT];

// Why a thread of Windows waits (KWAIT_REASON), by its number.
enum { WAIT_REASON_COUNT = 39 };
extern const char *const event_wait_reasons[WAIT_REASON_COUNT];

enum {
	CPU_NONE = UINT32_MAX,
	CPU_COUNT_MOST = 8192, // of a Linux kernel: the largest that can be configured
	// The rest of a CPU's time, when a trace follows one test: "(not this
	// test)". The kernel's largest possible pid is one less.
	TID_OUTSIDE = 4194304,
};

// The event of samples that tell how long a task waited, and where, in nanoseconds.
#define EVENT_OFF_CPU "off-cpu"

// The provider of counters of a PMU, and of the generic events that tell what each slice of a
// thread has counted.
#define PROVIDER_PMU "pmu"

// The state in which a task left the CPU, numbered as the kernel's
// sched_switch tracepoint prints it (since 4.14).
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

// In what context a wakeup happened; the bits of ftrace's common_flags.
enum { CONTEXT_HARDIRQ = 0x08, CONTEXT_SOFTIRQ = 0x10 };

// What the source of a sample does not say; and a sample of the profile that
// this one is compared with.
enum {
	SAMPLE_NO_PID = 1,
	SAMPLE_NO_TASK = 2,
	SAMPLE_BASELINE = 4,
	SAMPLE_RAW = 8,     // its frames are addresses in the process, and nothing else is known of them yet
	SAMPLE_BROKEN = 16, // the walk up its stack did not reach the outermost function
	SAMPLE_WAITS = 32,  // taken when its task began to wait; the weight is how long, once that is known
	SAMPLE_METRIC = 64, // its event is one of heap_metrics[]: a place in a heap profile has one of each
	SAMPLE_AT_EVENT = 128 // the stack at an event of the kernel (event/event_stacks.h)
};

// What a test may say (enum tl_mark_type of tracelet/mark.h has the same numbers).
enum mark_type {
	MARK_INSTANT = 1,
	MARK_SLICE_BEGIN,
	MARK_SLICE_END, // of the innermost open one of its thread
	MARK_COUNTER,
	MARK_TEST_BEGIN, // a case of a test program; its end closes what is open inside
	MARK_TEST_END,
	MARK_TYPE_COUNT
};

// The top of a stack, to be walked when all is known. Lives as long as the push.
struct sample_copy {
	uint64_t pc, stack, frame;
	const uint8_t *bytes;
	size_t size;
};

// The numbers that a generic event is known by, where its format has such.
struct event_numbers {
	uint16_t id, version, task;
	uint8_t opcode, level;
	bool has_id; // else only opcode and version mean something
	uint64_t keywords;
	const char *activity, *related_activity; // GUIDs, or NULL
	const char *provider;                    // its GUID, or NULL
	uint32_t instance, parent_instance;      // of whatever the event is about; 0: none
};

// A field of a generic event. Strings are not interned: most occur once.
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

struct event {
	uint64_t time;
	uint32_t cpu;
	uint16_t kind;
	uint32_t tid, pid; // the task it happened in; pid 0 where the source does not say
	union {
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
		struct { // tid leaves, next_tid comes
			uint32_t next_tid;
			uint32_t next_name; // 0: the name the task is known by
			uint16_t state;     // enum task_state, of the one that leaves
			int16_t priority, next_priority;
			bool outside, next_outside; // does not belong to this trace's test
			uint16_t wait_reason;       // Windows' KWAIT_REASON + 1; 0: not known
		} switched;
		struct { // tid wakes wakee_tid
			uint32_t wakee_tid;
			uint32_t waker_name; // 0: as known
			uint32_t target_cpu;
			int16_t priority;
			uint16_t context; // CONTEXT_ bits
			bool waker_outside;
		} waking;
		struct { // tid makes child_tid
			uint32_t child_tid, child_pid;
			uint32_t parent_pid; // the child's
			uint32_t name;
		} fork;
		struct {
			uint32_t old_tid; // differs when another thread than the first one calls exec
			uint32_t name, file, arguments; // arguments separated by NUL
			bool truncated;                 // the arguments were longer
		} exec;
		struct {
			uint32_t name;
		} rename;
		struct {
			int32_t code; // as wait() gives it: exit status << 8, or the signal
			bool last;    // of its process
			bool unknown; // the code is not known
			bool has_status;
			uint32_t status; // the whole of a status that has 32 bits
		} exit;
		struct {
			uint32_t number; // interrupt, or softirq vector
			uint32_t name;   // handler
			int32_t result;  // at exit: 1 handled
		} irq;
		struct {
			uint64_t start, size, offset;
			uint32_t file, build_id; // strings
		} mapping;
		struct {
			uint64_t weight; // period, or nanoseconds
			uint32_t stack;
			uint32_t name;                  // the sampled event's
			uint32_t comm;                  // the task's name then; 0: as known, or none
			uint32_t flags;                 // SAMPLE_ bits
			const struct sample_copy *copy; // of a raw sample, or NULL
		} sample;
		struct { // the fields live as long as the push
			uint32_t provider, name;
			uint32_t field_count;
			const struct event_field *fields;
			uint64_t duration; // it took so long and ended at the event's time; 0: an instant
			uint32_t stack;    // where it happened; 0: not known
			bool on_cpu;       // it took the time of its CPU: no thread's
			const struct event_numbers *numbers; // live as long as the push; or NULL
		} generic;
		struct {
			uint64_t address; // of the fault; who sent the signal, if code <= 0
			uint64_t instruction;
			uint32_t signal;
			int32_t code;  // siginfo's si_code
			uint32_t name; // of the thread
		} crash;
		struct {
			uint64_t crash_time;
			uint32_t text; // a line for each frame
		} crash_stack;
		struct {
			double value;  // of a counter; of a case's end its result: 0 passed, 77 skipped, else
				       // failed
			uint32_t name; // or text
			uint16_t type; // enum mark_type
			bool no_task;  // is about the test as a whole
			bool cut;      // the text was longer
		} mark;
		struct {
			uint64_t count;
			uint16_t source; // enum event_source
		} lost;
		struct {
			double value;
			uint32_t provider, name;
			uint32_t unit; // 0: a plain number
			bool adds;     // to what was before, on this CPU, or in this task of the test
		} counter;
		struct {
			uint16_t number, small;
			uint64_t values[4]; // as many as the point has; the others are 0
		} point;
	};
};

// The fields of a generic event live as long as the push: a copy of them, in one piece with their
// texts and names, to be freed. NULL: there are none.
const struct event_field *event_fields_copy(const struct event_field *fields, size_t count);

// Records of one CPU (event/record.h), whole and in order of time, that become events when it is
// their turn: to keep them takes a third of the memory.
struct record_run {
	uint32_t cpu, size;
	const uint8_t *bytes;    // live as long as the push
	uint64_t base;           // that the records' times count from
	uint64_t last;           // time of the last one
	struct run_maker *maker; // lives until it says that it goes
};

struct run_maker {
	bool (*make)(struct run_maker *maker, const uint8_t *record, struct event *event); // false: none
};

// Whatever takes events. push() and finish() return 0 or -errno; after an error
// the pipeline stops. finish() says that everything has been pushed.
struct sink {
	int (*push)(struct sink *sink, const struct event *event);
	// NULL: takes events only. Returns 1 for a run that is to be pushed as events; a run that is NULL
	// says that the maker is about to go: what is left becomes events.
	int (*push_run)(struct sink *sink, const struct record_run *run);
	int (*finish)(struct sink *sink);
	void (*destroy)(struct sink *sink);
};

static inline int sink_push(struct sink *sink, const struct event *event) {
	return sink->push(sink, event);
}

static inline int sink_finish(struct sink *sink) {
	return sink->finish(sink);
}

static inline void sink_destroy(struct sink *sink) {
	if (sink)
		sink->destroy(sink);
}
