// A signal handler may interrupt us anywhere and never return: siglongjmp(), an exception, the
// end of its thread. Then a lock may stay held and a table half changed. Blocking signals would
// cost two system calls for each allocation. Instead:
//
// - a thread records what it holds, and a lock its holder;
// - a visit has a mark in its frame; the next visit sees from the stack that this frame is
//   gone, and first repairs what was left (tables are changed so that this is possible
//   after any instruction);
// - a thread waits for a lock only for some time, and not if the holder sleeps. Then the table
//   is lost for all threads, and blocks are missed; the profile says so.
#include "heap/preload/heap.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
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

// No thread sleeps while it holds a lock. A holder that sleeps, or has ended, has abandoned it.
static bool sleeps(uint32_t thread) {
	char path[] = "/proc/self/task/0000000000/stat", text[128], *digit = path + sizeof(path) - 6;
	for (uint32_t rest = thread, i = 0; i < 10; i++, rest /= 10)
		*--digit = (char)('0' + rest % 10);
	digit = path + sizeof("/proc/self/task/") - 1; // without the prefix
	size_t zeros = strspn(digit, "0");
	memmove(digit, digit + zeros, strlen(digit + zeros) + 1);
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t got = fd < 0 ? 0 : read(fd, text, sizeof(text) - 1);
	if (fd >= 0)
		close(fd);
	if (got <= 0)
		return syscall(SYS_tgkill, getpid(), thread, 0) && errno == ESRCH;
	text[got] = 0;
	const char *name_end = strrchr(text, ')');
	return name_end && (name_end[2] == 'S' || name_end[2] == 'Z' || name_end[2] == 'X');
}

static bool give_up(uint32_t *lock, uint32_t holder) {
	if (!holder || !__atomic_compare_exchange_n(lock, &holder, HEAP_LOCK_BROKEN, false, __ATOMIC_RELAXED,
						    __ATOMIC_RELAXED))
		return false;
	__atomic_add_fetch(&heap_area->broken, 1, __ATOMIC_RELAXED);
	return true;
}

// After some time of spinning: lets a holder with lower priority run.
HEAP_COLD static bool lock_patiently(uint32_t *lock) {
	enum { PATIENCE = 3000, LOOK = 100, ASLEEP = 3, PAUSE = 50000 };
	uint64_t begin = milliseconds(), next_look = LOOK;
	unsigned asleep = 0;
	for (;;) {
		uint32_t holder = __atomic_load_n(lock, __ATOMIC_RELAXED);
		uint64_t waited = milliseconds() - begin;
		if (try_lock(lock))
			return true;
		if (holder && waited >= next_look) {
			asleep = sleeps(holder) ? asleep + 1 : 0;
			next_look = waited + LOOK / 2;
		}
		if (holder == HEAP_LOCK_BROKEN ||
		    ((holder == heap_self.id || asleep >= ASLEEP || waited > PATIENCE) &&
		     give_up(lock, holder)))
			return false;
		syscall(SYS_nanosleep, &(struct timespec){.tv_nsec = PAUSE}, NULL);
	}
}

bool heap_lock_slowly(uint32_t *lock) {
	enum { SPINS = 100, YIELDS = 1000 };
	int error = errno;
	bool locked = false;
	for (unsigned turn = 0; !locked && turn < YIELDS; turn++) {
		locked = try_lock(lock);
		if (__atomic_load_n(lock, __ATOMIC_RELAXED) == HEAP_LOCK_BROKEN)
			break;
		if (turn > SPINS && !locked)
			sched_yield();
	}
	if (!locked)
		locked = lock_patiently(lock);
	if (!locked)
		heap_self.held = NULL;
	errno = error;
	return locked;
}

// ---- signals ----

// The raw system call: it takes eight bytes for its 64 signals, and no wrapper intercepts it.
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

// ---- abandoned visits ----

static bool is_over(uint64_t now) {
	const struct heap_visit *visit = heap_self.visit;
	uint64_t then = (uint64_t)visit;
	stack_t other = {0};
	syscall(SYS_sigaltstack, NULL, &other);
	bool now_on_other = other.ss_flags & SS_ONSTACK;
	bool then_on_other = other.ss_size && then - (uint64_t)other.ss_sp < other.ss_size;
	if (now_on_other != then_on_other)
		return then_on_other; // a handler inside a handler stays on the same stack
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
