// The binary form of events from capture: BPF programs write it, the spool stores it, the
// spool reader decodes it. Included by BPF programs, so it has only fixed-width types and
// no functions.
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

#include "format/sources.h"

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
	RECORD_MODULES, // from the collector to its client: it is in no spool
	RECORD_SCRIPT,
	RECORD_CODE,
	RECORD_KIND_COUNT
};

#define BATCH_NO_CPU 0xffffffffu // records that belong to no CPU

#define RECORD_TID_OUTSIDE 4194304u // instead of a task outside the session whose beginning is not recorded

enum { RECORD_NAME_SIZE = 16 }; // the kernel's TASK_COMM_LEN
#define RECORD_NAME_OTHER_USER                                                                               \
	"(other user)" // of a task that left the session: it runs with more rights than the user who traces

#define RECORD_NAME_FOREIGN "(another user)" // instead of the name of another user's task, from the collector

struct batch {
	uint64_t base; // time of the first record, nanoseconds of CLOCK_BOOTTIME
	uint32_t cpu;
	uint32_t size;        // bytes of records after this header
	uint32_t lost;        // from one source on this CPU; the next batch has those of the next source
	uint32_t lost_source; // that source
	uint32_t sequence;    // of batches of this CPU; nested ones have 0
	uint32_t unused;
};
_Static_assert(sizeof(struct batch) == 32, "no hidden padding");

struct record {
	uint32_t delta; // nanoseconds since the batch's base
	uint8_t kind;   // enum record_kind
	uint8_t flags;
	uint16_t size; // including this header
};

// ---- sched ----

enum {
	SWITCH_PREEMPTED = 1,
	SWITCH_NEXT_OUTSIDE = 2, // the next task is not the session's: its name follows
	SWITCH_PREV_OUTSIDE = 4,
	SWITCH_IO_WAIT = 8,     // the previous task waits for a device (the kernel's in_iowait)
	SWITCH_NO_IO_WAIT = 16, // it waits for something else; without either flag: not known
	SWITCH_FOLLOWED = 32,   // neither task is the session's; the next switch on this CPU is recorded, too
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

// Of the waker. The last one: in the softirq of the timers.
// After a long wait also what the waker was writing to.
enum {
	WAKING_OUTSIDE = 1,
	WAKING_HARDIRQ = 2,
	WAKING_SOFTIRQ = 4,
	WAKING_TIMER = 8,
	WAKING_PIPE = 16,
	WAKING_SOCKET = 32
};

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
	uint32_t tid, pid; // the forking task
	uint32_t child_tid, child_pid;
	uint32_t parent_pid; // the child's parent, which differs from pid with CLONE_PARENT
	uint32_t unused;
	char name[RECORD_NAME_SIZE];
};

enum { EXEC_TRUNCATED = 1 };
enum { EXEC_FILE_SIZE = 256, EXEC_ARGUMENTS_SHORT = 512, EXEC_ARGUMENTS_LONG = 4096 };

// Followed by the file name, the arguments, and zeros up to a multiple of 8 bytes.
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
	CRASH_REGISTERS = 34, // enough for any architecture
	CRASH_MODULES = 64,
	CRASH_MODULE_NAME = 120,
	CRASH_PROGRAM_SIZE = 256,
	CRASH_STACK_SIZE = 32768,
	CRASH_STACK_PIECE = 4096, // the stack is read in such pieces, up to the first unmapped one
};

struct crash_module {
	uint64_t bias; // address in memory minus address in the file
	char name[CRASH_MODULE_NAME];
};

// Followed by `stack_size` bytes of the stack from `stack_base` on. With the registers and
// the modules, that is what an unwinder needs when the process is gone.
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
	uint32_t module_count; // 0 if not dynamically linked, or not yet
	char name[RECORD_NAME_SIZE];
	char program[CRASH_PROGRAM_SIZE]; // AT_EXECFN
	struct crash_module
		modules[CRASH_MODULES]; // as the dynamic linker lists them; the program itself has no name
};

// A process's modules at the time of a stack that was copied: a struct record_crash without registers and
// stack, up to the last module.

// ---- irq ----

struct record_irq {
	struct record head;
	uint32_t tid; // the interrupted task
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

// ---- points: all other kernel events ----

// point_table.h describes their values.
enum point_number {
#define POINT(NUMBER, program, group, name, source, values, message, ...) POINT_##NUMBER,
#include "format/point_table.h"
#undef POINT
	POINT_COUNT
};

enum { POINT_VALUES = 4, CALL_PATH_SIZE = 128 };

// Ends after the last value that the point has. A system call may be followed by the path that is one of its
// arguments, up to CALL_PATH_SIZE bytes with a NUL, and zeros up to a multiple of 8 bytes.
struct record_point {
	struct record head;
	uint32_t tid;   // the task in which it happened
	uint16_t point; // enum point_number
	uint16_t small; // a value that fits into 16 bits
	uint64_t values[POINT_VALUES];
};

// ---- marker: marks of the test ----

enum { MARK_CUT = 1, MARK_NO_TASK = 2 }; // the text was longer; about the whole test

// Followed by the text and zeros up to a multiple of 8 bytes.
struct record_mark {
	struct record head;
	uint32_t tid, pid;
	uint64_t value; // the bits of a double
	uint16_t text_size;
	uint8_t type; // enum tl_mark_type of tracelet/mark.h, which enum mark_type follows
	uint8_t unused[5];
};

// ---- samples ----

enum { SAMPLE_MOST_FRAMES = 127 }; // of the kernel's half

// Of a deep user stack the innermost and the outermost frames are kept. Frame number N, from the innermost
// on, is in place N, or from SAMPLE_INNER_FRAMES on in a ring of SAMPLE_OUTER_FRAMES places after those.
// Walking takes time, so it ends at SAMPLE_DEEPEST.
enum {
	SAMPLE_INNER_FRAMES = 127,
	SAMPLE_OUTER_FRAMES = 128, // a power of two
	SAMPLE_USER_FRAMES = SAMPLE_INNER_FRAMES + SAMPLE_OUTER_FRAMES,
	SAMPLE_DEEPEST = 1024,
};

// How the walk of the user stack ended, and what it used.
enum {
	SAMPLE_STACK_COMPLETE = 1, // reached the outermost function
	SAMPLE_STACK_GUESSED = 2,  // used the frame pointer, for lack of a table, at least once
	SAMPLE_STACK_CUT = 4,      // the walk ended before the outermost function: there were too many frames
	SAMPLE_STACK_COPIED = 8,   // comes with a copy, to be walked later
	SAMPLE_STACK_PACKED = 64,  // the copy is compressed
	SAMPLE_CYCLES = 32,        // sampled on CPU cycles, not on the clock
	SAMPLE_BLOCKED = 16,       // not a CPU sample: the thread leaves the CPU to wait
	SAMPLE_EVENT = 128,        // not a CPU sample: the stack at an event, which `period` names
};

// That event: a point, with a system call's number in the upper bits, or one of these.
enum { STACK_AT_WAKING = 0x100, STACK_AT_NEWTASK, STACK_AT_SOFTIRQ };
enum { STACK_CALL_SHIFT = 16 };

// Whose events are recorded.
enum capture_scope { SCOPE_TREE, SCOPE_SYSTEM };

// How the user's stack is walked.
enum call_graph {
	CALL_GRAPH_AUTO,  // with tables, or the frame pointer where there is no table
	CALL_GRAPH_FP,    // with the frame pointer only
	CALL_GRAPH_DWARF, // with tables; the stack is copied where there is none
};

// A tracer copies what it cannot walk yet; the collector copies every stack.
enum { SAMPLE_ADDRESSES = 512, SAMPLE_COPY_PAGE = 4096, SAMPLE_COPY_PAGES = 4, COLLECTOR_COPY_PAGES = 8 };

// In a copied sample, follows SAMPLE_ADDRESSES addresses, used or not; then come the bytes. If it is
// compressed, only the kernel's addresses come before, and the bytes are a zstd frame.
struct sample_copied {
	uint64_t pc, stack, frame;
	uint64_t first; // the first argument's register: vfork() keeps its return address there; 0 if unknown
	uint64_t top;   // about where the thread's stack begins; 0 if unknown
	uint32_t size;
	uint32_t packed; // size of the zstd frame
};

// A sample of a blocked thread is taken when the thread leaves the CPU, and the switches say how long it
// waits; or when it is back from a long wait, and says so itself: the first two of the kernel's addresses are
// the nanoseconds for which it waited and those for which it then was ready, and the sample has the time of
// the switch that brought it back.
enum sample_waits { SAMPLE_WAIT_BEGINS, SAMPLE_WAIT_ENDS };
enum { SAMPLE_WAIT_WORDS = 2 };

// Followed by 8-byte addresses, first the kernel's, then the user's, each innermost first.
struct record_sample {
	struct record head;
	uint32_t tid, pid;
	uint32_t period; // nanoseconds or cycles it stands for; for a blocked thread enum sample_waits
	uint16_t kernel_frames, user_frames; // the latter is the depth: at most SAMPLE_USER_FRAMES are kept
};

// ---- interpreted code ----

// The frames of Python's interpreter, for the sample of the same thread one nanosecond later. Followed by a
// word for each frame, innermost first: the address of its code (0: no code), whether it is the first one of
// a C function of the interpreter, and the number of its instruction.
struct record_script {
	struct record head; // flags: SCRIPT_CUT if there are more
	uint32_t tid, pid;
};

enum { SCRIPT_CUT = 1, SCRIPT_MOST_FRAMES = 256, SCRIPT_POSITION_SHIFT = 48, SCRIPT_NO_POSITION = 0xffff };
#define SCRIPT_ENTRY (1ull << 47)
#define SCRIPT_CODE  (SCRIPT_ENTRY - 1)

// Code that later frames of this process refer to.
enum { CODE_NAME_ROOM = 256, CODE_FILE_ROOM = 512, CODE_LINES_ROOM = 4096 };

// The bytes that say which instruction is of which line.
enum python_lines {
	PYTHON_LINES_BYTES,     // 3.8 and 3.9: pairs, by bytes
	PYTHON_LINES_RANGES,    // 3.10: pairs, by bytes, with gaps
	PYTHON_LINES_LOCATIONS, // since 3.11: by instruction, with columns
};

struct record_code {
	struct record head;
	uint64_t code;
	uint32_t pid;
	uint32_t first_line;
	uint16_t name_size, file_size; // in characters
	uint16_t lines_size;
	uint8_t line_table; // enum python_lines
	uint8_t unused;
	uint8_t name_width, file_width; // bytes of a character
	uint8_t padding[6];
	uint8_t name[CODE_NAME_ROOM], file[CODE_FILE_ROOM];
	uint8_t lines[CODE_LINES_ROOM]; // only as many as it has, and up to 8-alignment
};

// ---- counters ----

enum {
	COUNTERS_MOST = 16,              // events
	COUNTS_MOST = COUNTERS_MOST + 1, // the first value is nanoseconds
	COUNTS_IN_RECORD = 4,
};

enum {
	COUNTS_OF_TEST = 1,  // a task of the test ran; without a flag: another task, or none
	COUNTS_OF_SLICE = 2, // the whole slice of the task that leaves now; alone: already counted, in parts
};

// Counts on a CPU since the previous record of that kind: `count` values from `first` on; the
// rest follows in records with the same time.
struct record_counts {
	struct record head;
	uint32_t tid;
	uint8_t first, count;
	uint16_t unused;
	uint64_t values[COUNTS_IN_RECORD];
};

// Large enough for any record of fixed size: the BPF programs fill this in.
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
