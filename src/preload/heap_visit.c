// A handler of a signal may interrupt us anywhere, and never come back: siglongjmp(), an
// exception, the end of its thread. Then a lock may stay held and a table half changed.
// Signals are not blocked for that, which would cost each allocation two system calls.
// Instead:
//
// - a thread notes what it holds, and a lock who holds it;
// - a visit has a mark in its frame; the next one sees by the stack that this frame is
//   gone, and first puts in order what was left (tables are changed so that this is
//   possible after any instruction);
// - whoever waits for a lock waits for some time only. Then the table is lost to all, and
//   blocks are missed, which the profile tells.
#include "preload/heap.h"

#include <sched.h>
#include <signal.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

__thread struct heap_self heap_self = {.countdown = -1};

// ---- locks ----

static uint64_t milliseconds(void) {
	struct timespec now = {0};
	clock_gettime(CLOCK_MONOTONIC, &now);
	return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

static bool try_lock(uint32_t *lock) {
	uint32_t nobody = 0;
	return !__atomic_load_n(lock, __ATOMIC_RELAXED) &&
	       __atomic_compare_exchange_n(lock, &nobody, heap_self.id, false, __ATOMIC_ACQUIRE,
					   __ATOMIC_RELAXED);
}

bool heap_lock_slowly(uint32_t *lock) {
	enum { SPINS = 100, YIELDS = 1000, PATIENCE = 3000 };
	uint64_t begin = 0;
	for (unsigned turn = 0;; turn++) {
		uint32_t holder = __atomic_load_n(lock, __ATOMIC_RELAXED);
		if (try_lock(lock))
			return true;
		if (holder == HEAP_LOCK_BROKEN)
			break;
		if (turn < SPINS) {
			__atomic_signal_fence(__ATOMIC_SEQ_CST);
		} else if (turn < YIELDS) {
			sched_yield();
		} else { // a holder of lower priority must get to run
			begin = begin ? begin : milliseconds();
			if ((holder == heap_self.id || milliseconds() - begin > PATIENCE) && holder &&
			    __atomic_compare_exchange_n(lock, &holder, HEAP_LOCK_BROKEN, false,
							__ATOMIC_RELAXED, __ATOMIC_RELAXED)) {
				__atomic_add_fetch(&heap_area->broken, 1, __ATOMIC_RELAXED);
				break;
			}
			syscall(SYS_nanosleep, &(struct timespec){.tv_nsec = 50000}, NULL);
		}
	}
	heap_self.held = NULL;
	return false;
}

// ---- signals ----

// The kernel's own call: it takes eight bytes for its 64 signals, and nobody stands before it.
static void set_signals(const uint64_t *wanted, uint64_t *before) {
	syscall(SYS_rt_sigprocmask, SIG_SETMASK, wanted, before, sizeof(*wanted));
}

void heap_quiet_begin(struct heap_quiet *quiet) {
	const uint64_t all = UINT64_MAX;
	set_signals(&all, &quiet->signals);
}

void heap_quiet_end(const struct heap_quiet *quiet) {
	set_signals(&quiet->signals, NULL);
}

// ---- who does not come back ----

static bool is_over(uint64_t now) {
	const struct heap_visit *visit = heap_self.visit;
	uint64_t then = (uint64_t)visit;
	stack_t other = {0};
	syscall(SYS_sigaltstack, NULL, &other);
	bool now_on_other = other.ss_flags & SS_ONSTACK;
	bool then_on_other = other.ss_size && then - (uint64_t)other.ss_sp < other.ss_size;
	if (now_on_other != then_on_other)
		return then_on_other; // a handler inside of a handler stays on that one's stack
	if (!heap_same_stack(heap_self.thread, now, then))
		return false;
	return now > then || visit->mark != HEAP_MARK;
}

void heap_recover(void) {
	uint32_t *held = heap_self.held;
	struct heap_block block;
	if (held && __atomic_load_n(held, __ATOMIC_RELAXED) == heap_self.id) {
		heap_blocks_repair(held);
		heap_unlock(held);
	}
	heap_self.held = NULL;
	if (heap_self.pending)
		heap_block_take(heap_self.pending, &block);
	heap_self.pending = 0;
	if (heap_self.thread)
		heap_thread_recover(heap_self.thread);
	__atomic_add_fetch(&heap_area->interrupted, 1, __ATOMIC_RELAXED);
}

bool heap_visit_is_over(const void *frame) {
	struct heap_visit visit;
	if (!is_over((uint64_t)frame))
		return false;
	heap_enter(&visit);
	heap_recover();
	heap_leave();
	return true;
}
