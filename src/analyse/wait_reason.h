// Why a thread waited, and in which function of the program: read off its stack by tables of function names.
#pragma once

#include "event/event.h"

// The closed set of reasons: name, and how a sentence says it after "waited".
#define REASONS(X)                                                                                           \
	X(CPU, "cpu", "")                                                                                    \
	X(READY, "ready", "")                                                                                \
	X(THROTTLED, "throttled", "")                                                                        \
	X(SLEEP, "sleep", "slept")                                                                           \
	X(TIMEOUT, "timeout", "waited until a time limit")                                                   \
	X(MUTEX, "mutex", "waited for a mutex")                                                              \
	X(RWLOCK, "rwlock", "waited for a read-write lock")                                                  \
	X(CONDITION, "condition", "waited for a condition variable")                                         \
	X(SEMAPHORE, "semaphore", "waited for a semaphore")                                                  \
	X(JOIN, "join", "waited for a thread to end")                                                        \
	X(FUTEX, "futex", "waited for a futex")                                                              \
	X(CHILD, "child", "waited for a child process")                                                      \
	X(VFORK, "vfork", "waited in vfork for its child")                                                   \
	X(PIPE, "pipe", "waited for a pipe")                                                                 \
	X(SOCKET, "socket", "waited for a socket")                                                           \
	X(POLL, "poll", "polled descriptors")                                                                \
	X(EVENTFD, "eventfd", "waited for an eventfd")                                                       \
	X(DISK, "disk", "waited for the disk")                                                               \
	X(FSYNC, "fsync", "waited in fsync for the disk")                                                    \
	X(PAGE_FAULT, "page-fault", "waited in a page fault")                                                \
	X(MEMORY, "memory", "waited for memory")                                                             \
	X(IO_URING, "io-uring", "waited for io_uring")                                                       \
	X(SIGNAL, "signal", "waited for a signal")                                                           \
	X(STOPPED, "stopped", "was stopped")                                                                 \
	X(KERNEL_LOCK, "kernel-lock", "waited for a lock in the kernel")                                     \
	X(INTERRUPT, "interrupt", "")                                                                        \
	X(VIRTUAL_CPU, "virtual-cpu", "ran a virtual CPU that was idle")                                     \
	X(OTHER, "other", "waited")                                                                          \
	X(UNKNOWN, "unknown", "waited for an unknown reason")

enum reason {
#define X(id, name, words) REASON_##id,
	REASONS(X)
#undef X
		REASON_COUNT
};

extern const char *const reason_names[REASON_COUNT];
extern const char *const reason_words[REASON_COUNT];

// What a stack says.
struct place {
	enum reason reason; // as of a blocked stack
	const char *words;  // that say more than those of the reason, or NULL
	bool faults;        // it is inside a page fault
	uint32_t own;       // frame + 1 of the innermost function that is the program's own; 0 if none
	uint32_t caller;    // the same for the function that called it; 0 if none, or if it is main()
	uint32_t inner; // symbol of the kernel's innermost function that is not the scheduler's; 0 if none
};

struct places {
	const struct tables *tables;
	ARRAY(struct place) list; // the first is that of no stack
	struct map by_stack;
};

void places_init(struct places *places, const struct tables *tables);
void places_free(struct places *places);
const struct place *place_of(struct places *places, uint32_t stack); // valid until the next call

// Whether the function belongs to the C library or another runtime, not to the program. `module` is the file
// that has it, or "".
bool function_is_runtime(const char *function, const char *module);

// Whether the kernel's function is part of the scheduler: at the inner end of every wait, and says nothing.
bool function_is_scheduler(const char *function);

// How much a kernel function says about the reason of a wait: the one with the lowest rank in a stack
// decides. From wait_reason_ranks on: nothing.
size_t wait_reason_rank(const char *function);
extern const size_t wait_reason_ranks;

// Whether waits for this reason can end without the awaited event: one that begins again at once is the
// same wait.
bool reason_may_wake_early(enum reason reason);

// The reason for a wait that an interrupt ended, which is a time limit for some.
enum reason reason_after_interrupt(enum reason reason, bool timer_softirq);

enum reason reason_of_windows(uint16_t wait_reason);            // KWAIT_REASON + 1
enum reason reason_of_state(uint16_t state, enum reason other); // enum task_state, where there is no stack
