// The binary form in which capture hands over events: what the kernel programs
// write, what the spool keeps, what the spool reader takes apart. Included by
// BPF programs, so only fixed-width types and no functions.
//
// Records travel in batches. A batch belongs to one CPU and has one full time;
// its records carry the nanoseconds since then. All sizes are multiples of 8.
#pragma once

#ifdef __bpf__
#include <linux/types.h>
typedef __u8 uint8_t;
typedef __u16 uint16_t;
typedef __u32 uint32_t;
typedef __u64 uint64_t;
typedef __s16 int16_t;
typedef __s32 int32_t;
typedef __s64 int64_t;
typedef __s8 int8_t;
#else
#include <stdint.h>
#endif

enum record_kind {
	RECORD_SWITCH = 1,
	RECORD_WAKING,
	RECORD_FORK,
	RECORD_EXEC,
	RECORD_RENAME,
	RECORD_EXIT,
	RECORD_IRQ_ENTRY,
	RECORD_IRQ_EXIT,
	RECORD_SOFTIRQ_ENTRY,
	RECORD_SOFTIRQ_EXIT,
	RECORD_MARK,
	RECORD_SAMPLE,
	RECORD_CRASH,
	RECORD_POINT,
	RECORD_COUNTS,
	RECORD_KIND_COUNT
};

// Losses are counted for each of these (enum event_source has the same order).
enum {
	RECORD_SOURCE_SCHED,
	RECORD_SOURCE_PROCESS,
	RECORD_SOURCE_IRQ,
	RECORD_SOURCE_MARKER,
	RECORD_SOURCE_SAMPLE,
	RECORD_SOURCE_FAULT,
	RECORD_SOURCE_MEMORY, // system calls about address space; of SYSTEM_CALL those that it needs
	RECORD_SOURCE_FILE,   // likewise about files
	RECORD_SOURCE_SYSTEM_CALL,
	RECORD_SOURCE_BLOCK,
	RECORD_SOURCE_TIMER,
	RECORD_SOURCE_WORK,
	RECORD_SOURCE_IPI,
	RECORD_SOURCE_NETWORK,
	RECORD_SOURCE_POWER,
	RECORD_SOURCE_KVM,
	RECORD_SOURCE_PRIORITY,
	RECORD_SOURCE_MIGRATION,
	RECORD_SOURCE_CLOCK,         // interrupts of the local timer
	RECORD_SOURCE_SOFTIRQ_QUEUE, // softirqs being raised, tasklets
	RECORD_SOURCE_RSS,           // memory that is resident
	RECORD_SOURCE_SLAB,          // the kernel's heap
	RECORD_SOURCE_LOCK,
	RECORD_SOURCE_BIO, // block I/O before it is made requests
	RECORD_SOURCE_COUNT
};

#define BATCH_NO_CPU 0xffffffffu // records that are of no CPU

enum { RECORD_NAME_SIZE = 16 }; // the kernel's TASK_COMM_LEN

struct batch {
	uint64_t base; // time of the first record, nanoseconds of CLOCK_BOOTTIME
	uint32_t cpu;
	uint32_t size;        // bytes of records behind this header
	uint32_t lost;        // of one source on this CPU; the next batch tells of the next one
	uint32_t lost_source; // that one
	uint32_t sequence;    // of batches of this CPU; nested ones have 0
	uint32_t unused;
};
_Static_assert(sizeof(struct batch) == 32, "no hidden padding");

struct record {
	uint32_t delta; // nanoseconds since the batch's base
	uint8_t kind;   // enum record_kind
	uint8_t flags;
	uint16_t size; // with this header
};

// ---- sched ----

enum {
	SWITCH_PREEMPTED = 1,
	SWITCH_NEXT_OUTSIDE = 2, // the next task is not the session's: its name follows
	SWITCH_PREV_OUTSIDE = 4,
};

struct record_switch {
	struct record head;
	uint32_t prev_tid, next_tid;
	uint16_t prev_state; // the kernel's __state and exit_state
	int16_t prev_priority, next_priority;
	uint16_t unused;
};

struct record_switch_named {
	struct record_switch base;
	char next_name[RECORD_NAME_SIZE];
};

enum { WAKING_OUTSIDE = 1, WAKING_HARDIRQ = 2, WAKING_SOFTIRQ = 4 }; // of the waker

struct record_waking {
	struct record head;
	uint32_t waker_tid, wakee_tid;
	uint32_t target_cpu;
	int16_t priority;
	uint16_t unused;
};

struct record_waking_named {
	struct record_waking base;
	char waker_name[RECORD_NAME_SIZE];
};

// ---- process ----

struct record_fork {
	struct record head;
	uint32_t tid, pid; // who forks
	uint32_t child_tid, child_pid;
	uint32_t parent_pid; // the child's, which CLONE_PARENT makes differ from pid
	uint32_t unused;
	char name[RECORD_NAME_SIZE];
};

enum { EXEC_TRUNCATED = 1 };
enum { EXEC_FILE_SIZE = 256, EXEC_ARGUMENTS_SHORT = 512, EXEC_ARGUMENTS_LONG = 4096 };

// Behind it: the file name, then the arguments, then zeros up to 8 bytes.
struct record_exec {
	struct record head;
	uint32_t tid, pid, old_tid;
	uint16_t file_size, arguments_size;
	char name[RECORD_NAME_SIZE];
};

struct record_rename {
	struct record head;
	uint32_t tid, pid;
	char name[RECORD_NAME_SIZE];
};

enum { EXIT_LAST = 1, EXIT_CODE_UNKNOWN = 2 }; // the last thread of its process

struct record_exit {
	struct record head;
	uint32_t tid, pid;
	int32_t code;
	uint32_t unused;
};

// ---- crash ----

enum {
	CRASH_REGISTERS = 34, // room for those of any machine
	CRASH_MODULES = 64,
	CRASH_MODULE_NAME = 120,
	CRASH_PROGRAM_SIZE = 256,
	CRASH_STACK_SIZE = 32768,
	CRASH_STACK_PIECE = 4096, // the stack is read in such pieces, up to the first that is not there
};

struct crash_module {
	uint64_t bias; // from the addresses in the file to those in memory
	char name[CRASH_MODULE_NAME];
};

// Behind it: `stack_size` bytes of the stack from `stack_base` on, which with the registers
// and the modules is what an unwinder needs when the process is gone.
struct record_crash {
	struct record head;
	uint32_t tid, pid;
	uint32_t signal;
	int32_t code;     // siginfo's si_code
	uint64_t address; // siginfo's si_addr; the sender's pid if code <= 0
	uint64_t instruction;
	uint64_t entry, interpreter;         // AT_ENTRY, AT_BASE
	uint64_t registers[CRASH_REGISTERS]; // the machine's struct pt_regs
	uint64_t stack_base;
	uint32_t stack_size;
	uint32_t module_count; // 0: not dynamically linked, or not yet
	char name[RECORD_NAME_SIZE];
	char program[CRASH_PROGRAM_SIZE]; // AT_EXECFN
	struct crash_module
		modules[CRASH_MODULES]; // as the dynamic linker lists them; the program itself has no name
};

// ---- irq ----

struct record_irq {
	struct record head;
	uint32_t tid; // whom it interrupted
	uint32_t number;
};

struct record_irq_exit {
	struct record_irq base;
	int32_t result;
	uint32_t unused;
};

struct record_irq_named {
	struct record_irq base;
	char name[RECORD_NAME_SIZE]; // of the handler
};

// ---- points: all other events of the kernel ----

// What each has to say is in event/points.c.
enum point_number {
	POINT_SYS_ENTER,
	POINT_SYS_EXIT,
	POINT_FAULT_MINOR,
	POINT_FAULT_MAJOR,
	POINT_BLOCK_ISSUE,
	POINT_BLOCK_COMPLETE,
	POINT_HRTIMER_START,
	POINT_HRTIMER_ENTRY,
	POINT_HRTIMER_EXIT,
	POINT_TIMER_START,
	POINT_TIMER_ENTRY,
	POINT_TIMER_EXIT,
	POINT_WORK_QUEUE,
	POINT_WORK_START,
	POINT_WORK_END,
	POINT_IPI_CPU,
	POINT_IPI_MASK,
	POINT_IPI_RAISE,
	POINT_SOCKET_STATE,
	POINT_PACKET_SENT,
	POINT_PACKET_RECEIVED,
	POINT_CPU_IDLE,
	POINT_CPU_FREQUENCY,
	POINT_KVM_ENTRY,
	POINT_KVM_EXIT,
	POINT_KVM_CREATE_VM,
	POINT_KVM_CREATE_VCPU,
	POINT_PRIORITY,
	POINT_MIGRATION,
	POINT_CLOCK_ENTRY,
	POINT_CLOCK_EXIT,
	POINT_SOFTIRQ_RAISE,
	POINT_TASKLET_ENTRY,
	POINT_TASKLET_EXIT,
	POINT_SUSPEND,
	POINT_HOTPLUG_ENTER,
	POINT_HOTPLUG_EXIT,
	POINT_RSS,
	POINT_KMALLOC,
	POINT_KFREE,
	POINT_CACHE_ALLOC,
	POINT_CACHE_FREE,
	POINT_LOCK_BEGIN,
	POINT_LOCK_END,
	POINT_BIO_QUEUE,
	POINT_BIO_SPLIT,
	POINT_RESCHEDULE_ENTRY,
	POINT_RESCHEDULE_EXIT,
	POINT_CALL_ENTRY,
	POINT_CALL_EXIT,
	POINT_CALL_SINGLE_ENTRY,
	POINT_CALL_SINGLE_EXIT,
	POINT_COUNT
};

enum { POINT_VALUES = 4 };

// Cut off behind the last value that the point has.
struct record_point {
	struct record head;
	uint32_t tid;   // in which it happened
	uint16_t point; // enum point_number
	uint16_t small; // a value that 16 bits are enough for
	uint64_t values[POINT_VALUES];
};

// ---- marker: what the test says itself ----

enum { MARK_CUT = 1, MARK_NO_TASK = 2 }; // the text was longer; of the test as a whole

// Behind it: the text, then zeros up to 8 bytes.
struct record_mark {
	struct record head;
	uint32_t tid, pid;
	uint64_t value; // the bits of a double
	uint16_t text_size;
	uint8_t type; // enum tl_mark_type of tracelet/mark.h, which enum mark_type follows
	uint8_t unused[5];
};

// ---- samples ----

enum { SAMPLE_MOST_FRAMES = 127 }; // of each half

// How the walk up the user's stack ended, and what it went by.
enum {
	SAMPLE_STACK_COMPLETE = 1, // at the outermost function
	SAMPLE_STACK_GUESSED = 2,  // by the frame pointer, for want of a table, at least once
	SAMPLE_STACK_CUT = 4,      // there were more frames than room
	SAMPLE_STACK_COPIED = 8,   // a copy comes along, to be walked later
	SAMPLE_STACK_PACKED = 64,  // and is packed
	SAMPLE_CYCLES = 32,        // counted by the CPU's cycles, not by its clock
	SAMPLE_BLOCKED = 16,       // not a sample in time: the thread leaves the CPU to wait for something
	SAMPLE_EVENT = 128,        // nor this: it is the stack at an event, which the period tells
};

// Which event that is: a point, with a system call's number above it, or one of these.
enum { STACK_AT_WAKING = 0x100, STACK_AT_NEWTASK, STACK_AT_SOFTIRQ };
enum { STACK_CALL_SHIFT = 16 };

// How the user's stack is walked.
enum call_graph {
	CALL_GRAPH_AUTO,  // by tables, where there is none by the frame pointer
	CALL_GRAPH_FP,    // by the frame pointer only
	CALL_GRAPH_DWARF, // by tables; where there is none the stack is copied
};

enum { SAMPLE_ADDRESSES = 256, SAMPLE_COPY_PAGE = 4096, SAMPLE_COPY_PAGES = 4 };

// What a copied sample has behind SAMPLE_ADDRESSES addresses, used or not; then the bytes. If it is
// packed there are the kernel's addresses only, and the bytes are a frame of zstd.
struct sample_copied {
	uint64_t pc, stack, frame;
	uint32_t size;
	uint32_t packed; // bytes of that frame
};

// Behind it: addresses of 8 bytes, the kernel's and then the user's, each from the innermost on.
struct record_sample {
	struct record head;
	uint32_t tid, pid;
	uint32_t period; // nanoseconds or cycles that it stands for; of a blocked thread 0: the switches tell
	uint16_t kernel_frames, user_frames;
};

// ---- counters ----

enum {
	COUNTERS_MOST = 16,              // events
	COUNTS_MOST = COUNTERS_MOST + 1, // the first value is of nanoseconds
	COUNTS_IN_RECORD = 4,
};

enum {
	COUNTS_OF_TEST = 1,  // a task of the test ran; with no flag: others, or nobody
	COUNTS_OF_SLICE = 2, // from when the task came to now, when it leaves; alone: told already, in parts
};

// What was counted on a CPU since the one before of that kind: `count` values from `first` on, the
// rest follows in records of the same time.
struct record_counts {
	struct record head;
	uint32_t tid;
	uint8_t first, count;
	uint16_t unused;
	uint64_t values[COUNTS_IN_RECORD];
};

// Room for any record of fixed size: what the programs fill in and hand over.
union any_record {
	struct record head;
	struct record_switch_named switched;
	struct record_waking_named waking;
	struct record_fork fork;
	struct record_rename rename;
	struct record_exit exit;
	struct record_irq irq;
	struct record_irq_exit irq_exit;
	struct record_irq_named irq_named;
	struct record_point point;
	struct record_counts counts;
};
