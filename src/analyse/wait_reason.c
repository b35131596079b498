#include "analyse/wait_reason.h"

#include <string.h>

const char *const reason_names[REASON_COUNT] = {
#define X(id, name, words) name,
	REASONS(X)
#undef X
};

const char *const reason_words[REASON_COUNT] = {
#define X(id, name, words) words,
	REASONS(X)
#undef X
};

// ---- the kernel's half ----

struct rule {
	const char *pattern; // a function, or with * at its end the beginning of its name
	enum reason reason;
	const char *words; // that say more than those of the reason, or NULL
};

// A stack has the reason of the first rule here that matches any of its kernel functions: what the system
// call is for comes before what it happens to need, such as a lock or the disk.
static const struct rule kernel_rules[] = {
	{"exit_to_user_mode_*", REASON_UNKNOWN}, // it was interrupted: the stack of the wait is missing
	{"throttle_cfs_rq*", REASON_THROTTLED},
	{"do_signal_stop", REASON_STOPPED},
	{"ptrace_stop", REASON_STOPPED},
	{"do_jobctl_trap*", REASON_STOPPED},
	{"do_freezer_trap", REASON_STOPPED},
	{"cgroup_enter_frozen", REASON_STOPPED},
	{"__refrigerator", REASON_STOPPED},
	{"try_to_free_pages", REASON_MEMORY},
	{"try_to_free_mem_cgroup*", REASON_MEMORY},
	{"mem_cgroup_handle_over_high*", REASON_MEMORY},
	{"__mem_cgroup_handle_over_high*", REASON_MEMORY},
	{"mem_cgroup_oom*", REASON_MEMORY},
	{"throttle_direct_reclaim", REASON_MEMORY},
	{"asm_exc_page_fault", REASON_PAGE_FAULT},
	{"exc_page_fault", REASON_PAGE_FAULT},
	{"do_user_addr_fault", REASON_PAGE_FAULT},
	{"do_page_fault", REASON_PAGE_FAULT},
	{"do_translation_fault", REASON_PAGE_FAULT},
	{"handle_mm_fault", REASON_PAGE_FAULT},
	{"wait_for_vfork_done", REASON_VFORK},
	{"kernel_clone", REASON_VFORK},
	{"_do_fork", REASON_VFORK},
	{"io_cqring_wait", REASON_IO_URING},
	{"io_uring_enter", REASON_IO_URING},
	{"__do_sys_io_uring_enter", REASON_IO_URING},
	{"__x64_sys_io_uring_enter", REASON_IO_URING},
	{"do_fsync", REASON_FSYNC},
	{"vfs_fsync*", REASON_FSYNC},
	{"__x64_sys_fsync", REASON_FSYNC},
	{"__x64_sys_fdatasync", REASON_FSYNC},
	{"__x64_sys_msync", REASON_FSYNC},
	{"__do_sys_msync", REASON_FSYNC},
	{"ksys_sync*", REASON_FSYNC},
	{"sync_filesystem", REASON_FSYNC},
	{"do_wait", REASON_CHILD},
	{"__do_wait", REASON_CHILD},
	{"kernel_wait4", REASON_CHILD},
	{"kernel_waitid", REASON_CHILD},
	{"do_nanosleep", REASON_SLEEP},
	{"hrtimer_nanosleep*", REASON_SLEEP},
	{"alarm_timer_nsleep", REASON_SLEEP},
	{"timerfd_*", REASON_SLEEP},
	{"flock_lock_inode*", REASON_KERNEL_LOCK, "waited for a file lock"},
	{"__do_sys_flock", REASON_KERNEL_LOCK, "waited for a file lock"},
	{"__x64_sys_flock", REASON_KERNEL_LOCK, "waited for a file lock"},
	{"posix_lock_inode*", REASON_KERNEL_LOCK, "waited for a file lock"},
	{"locks_lock_inode*", REASON_KERNEL_LOCK, "waited for a file lock"},
	{"fcntl_setlk*", REASON_KERNEL_LOCK, "waited for a file lock"},
	{"__break_lease", REASON_KERNEL_LOCK, "waited for a file lease"},
	{"inotify_read", REASON_OTHER, "waited for a change of files"},
	{"fanotify_read", REASON_OTHER, "waited for a change of files"},
	{"do_msgrcv", REASON_OTHER, "waited for a message queue"},
	{"do_msgsnd", REASON_OTHER, "waited for a message queue"},
	{"do_mq_*", REASON_OTHER, "waited for a message queue"},
	{"n_tty_*", REASON_OTHER, "waited for a terminal"},
	{"do_poll*", REASON_POLL},
	{"do_sys_poll", REASON_POLL},
	{"do_select", REASON_POLL},
	{"core_sys_select", REASON_POLL},
	{"ep_poll", REASON_POLL},
	{"do_epoll_wait", REASON_POLL},
	{"do_sigtimedwait", REASON_SIGNAL},
	{"sigsuspend", REASON_SIGNAL},
	{"__x64_sys_pause", REASON_SIGNAL},
	{"__do_sys_pause", REASON_SIGNAL},
	{"__arm64_sys_pause", REASON_SIGNAL},
	{"signalfd_*", REASON_SIGNAL},
	{"eventfd_*", REASON_EVENTFD},
	{"pipe_*", REASON_PIPE},
	{"anon_pipe_*", REASON_PIPE},
	{"wait_for_partner", REASON_PIPE},
	{"fifo_*", REASON_PIPE},
	{"futex_*", REASON_FUTEX},
	{"__futex_*", REASON_FUTEX},
	{"do_futex", REASON_FUTEX},
	{"do_semtimedop*", REASON_SEMAPHORE},
	{"__do_semtimedop", REASON_SEMAPHORE},
	{"unix_*", REASON_SOCKET},
	{"tcp_*", REASON_SOCKET},
	{"udp_*", REASON_SOCKET},
	{"inet_*", REASON_SOCKET},
	{"inet6_*", REASON_SOCKET},
	{"sk_wait*", REASON_SOCKET},
	{"sk_stream_wait*", REASON_SOCKET},
	{"__skb_*", REASON_SOCKET},
	{"skb_wait*", REASON_SOCKET},
	{"sock_*", REASON_SOCKET},
	{"vsock_*", REASON_SOCKET},
	{"netlink_*", REASON_SOCKET},
	{"__sys_recv*", REASON_SOCKET},
	{"__sys_send*", REASON_SOCKET},
	{"__sys_accept*", REASON_SOCKET},
	{"__sys_connect*", REASON_SOCKET},
	{"kvm_vcpu_block*", REASON_VIRTUAL_CPU},
	{"kvm_vcpu_halt", REASON_VIRTUAL_CPU},
	{"synchronize_rcu*", REASON_KERNEL_LOCK},
	{"synchronize_srcu*", REASON_KERNEL_LOCK},
	{"__synchronize_srcu", REASON_KERNEL_LOCK},
	{"__wait_rcu_gp", REASON_KERNEL_LOCK},
	{"rcu_barrier", REASON_KERNEL_LOCK},
	{"exp_funnel_lock", REASON_KERNEL_LOCK},
	{"__mutex_lock*", REASON_KERNEL_LOCK},
	{"mutex_lock*", REASON_KERNEL_LOCK},
	{"rwsem_down*", REASON_KERNEL_LOCK},
	{"down_read*", REASON_KERNEL_LOCK},
	{"down_write*", REASON_KERNEL_LOCK},
	{"__down*", REASON_KERNEL_LOCK},
	{"percpu_rwsem*", REASON_KERNEL_LOCK},
	{"__percpu_down*", REASON_KERNEL_LOCK},
	{"rt_mutex*", REASON_KERNEL_LOCK},
	{"io_schedule*", REASON_DISK},
	{"submit_bio_wait", REASON_DISK},
	{"folio_wait*", REASON_DISK},
	{"wait_on_page*", REASON_DISK},
	{"__wait_on_buffer", REASON_DISK},
	{"bit_wait_io", REASON_DISK},
	{"balance_dirty_pages*", REASON_DISK},
	{"rq_qos_wait", REASON_DISK},
	{"blk_mq_*", REASON_DISK},
	{"blkdev_*", REASON_DISK},
	{"jbd2_*", REASON_DISK},
	{"ext4_*", REASON_DISK},
	{"xfs_*", REASON_DISK},
	{"btrfs_*", REASON_DISK},
	{"f2fs_*", REASON_DISK},
	{"nfs_*", REASON_DISK},
	{"v9fs_*", REASON_DISK},
	{"p9_*", REASON_DISK},
	{"fuse_*", REASON_DISK},
	{"filemap_*", REASON_DISK},
};

const size_t wait_reason_ranks = ARRAY_SIZE(kernel_rules);

static bool begins(const char *text, const char *with) {
	return strncmp(text, with, strlen(with)) == 0;
}

bool function_is_scheduler(const char *function) {
	static const char *const names[] = {"schedule",    "__schedule",  "preempt_schedule",
					    "io_schedule", "__traceiter", "bpf_"};
	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (begins(function, names[i]))
			return true;
	return false;
}

// The compiler's variants of a function have names like "ext4_fsync.constprop.0".
static bool matches(const char *function, const char *pattern) {
	size_t length = strlen(pattern);
	if (pattern[length - 1] == '*')
		return strncmp(function, pattern, length - 1) == 0;
	return strncmp(function, pattern, length) == 0 && (!function[length] || function[length] == '.');
}

size_t wait_reason_rank(const char *function) {
	size_t rank = 0;
	while (rank < ARRAY_SIZE(kernel_rules) && !matches(function, kernel_rules[rank].pattern))
		rank++;
	return rank;
}

// ---- the program's half ----

// Which lock a futex is, by the function of the runtime library that waits for it.
static const struct {
	const char *part;
	enum reason reason;
} lock_rules[] = {
	{"mutex_cond_lock", REASON_MUTEX},
	{"rwlock", REASON_RWLOCK},
	{"RwLock", REASON_RWLOCK},
	{"shared_mutex", REASON_RWLOCK},
	{"pthread_cond", REASON_CONDITION},
	{"condition_variable", REASON_CONDITION},
	{"ondvar", REASON_CONDITION},
	{"cnd_", REASON_CONDITION},
	{"barrier", REASON_CONDITION},
	{"Parker", REASON_CONDITION}, // of Rust, which wakes a thread by name
	{"sem_wait", REASON_SEMAPHORE},
	{"sem_timedwait", REASON_SEMAPHORE},
	{"sem_clockwait", REASON_SEMAPHORE},
	{"semaphore", REASON_SEMAPHORE},
	{"clockjoin", REASON_JOIN},
	{"timedjoin", REASON_JOIN},
	{"pthread_join", REASON_JOIN},
	{"pthread_tryjoin", REASON_JOIN},
	{"thrd_join", REASON_JOIN},
	{"thread::join", REASON_JOIN},
	{"mutex", REASON_MUTEX},
	{"Mutex", REASON_MUTEX},
	{"mtx_", REASON_MUTEX},
	{"lll_lock", REASON_MUTEX},
	{"RtlpEnterCriticalSection", REASON_MUTEX},
	{"RtlEnterCriticalSection", REASON_MUTEX},
	{"AcquireSRWLock", REASON_RWLOCK},
	{"SleepConditionVariable", REASON_CONDITION},
};

static enum reason lock_of(const char *function) {
	for (size_t i = 0; i < ARRAY_SIZE(lock_rules); i++)
		if (strstr(function, lock_rules[i].part))
			return lock_rules[i].reason;
	return REASON_FUTEX;
}

// An interpreter's lock is a mutex, whatever it is made of. CPython's take_gil() has no name in a stripped
// program; the functions that do nothing but call it are exported.
static bool is_interpreter_lock(const char *function) {
	static const char *const names[] = {"take_gil", "PyEval_RestoreThread", "PyEval_AcquireThread",
					    "gvl_acquire"};
	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (strcmp(function, names[i]) == 0)
			return true;
	return begins(function, "thread_sched_to_running");
}

// A thread of a Go program that looks for a goroutine: what the goroutines wait for is not on its stack.
static bool is_go_scheduler(const char *function) {
	return strcmp(function, "runtime.findRunnable") == 0 || strcmp(function, "runtime.findrunnable") == 0;
}

static bool same_letters(const char *text, const char *with) {
	for (; *with; text++, with++)
		if ((*text >= 'A' && *text <= 'Z' ? *text + 32 : *text) != *with)
			return false;
	return true;
}

static bool is_runtime_module(const char *path) {
	static const char *const names[] = {
		"libc.",        "libc-",      "libpthread", "ld-linux",   "ld-musl",      "ld-2",
		"ld.so",        "libstdc++",  "libgcc_s",   "libc++",     "librt.",       "librt-",
		"libm.",        "libm-",      "libdl.",     "linux-vdso", "[vdso]",       "libtracelet",
		"libasan",      "libtsan",    "libubsan",   "ntdll.dll",  "kernel32.dll", "kernelbase.dll",
		"ucrtbase.dll", "msvcrt.dll", "vcruntime",  "msvcp",      "win32u.dll",   "ntoskrnl",
		"combase.dll",  "rpcrt4.dll",
	};
	const char *name = path;
	for (const char *at = path; *at; at++)
		if (*at == '/' || *at == '\\')
			name = at + 1;
	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (same_letters(name, names[i]))
			return true;
	return false;
}

// In a program that is linked statically, the runtime's functions are in the program's own file.
static bool is_runtime_function(const char *function) {
	static const char *const prefixes[] = {
		"__",      "pthread_",   "lll_",   "futex_",   "sem_",     "std::", "core::",
		"alloc::", "void std::", "[",      "runtime.", "_dl_",     "_IO_",  "start_thread",
		"clone3",  "clone64",    "<std::", "<core::",  "<alloc::",
	};
	static const char *const names[] = {
		"nanosleep",  "clock_nanosleep", "usleep",      "sleep",    "read",    "write",   "poll",
		"ppoll",      "select",          "pselect",     "wait4",    "waitpid", "waitid",  "wait",
		"recv",       "recvfrom",        "recvmsg",     "send",     "sendto",  "sendmsg", "accept",
		"accept4",    "connect",         "open",        "open64",   "openat",  "close",   "fsync",
		"fdatasync",  "epoll_wait",      "syscall",     "vfork",    "fork",    "_Fork",   "system",
		"do_system",  "pause",           "sigwait",     "ioctl",    "msync",   "munmap",  "mmap",
		"memcpy",     "memset",          "memmove",     "malloc",   "free",    "_start",  "clone",
		"sigsuspend", "sigtimedwait",    "sigwaitinfo", "mprotect", "pread",   "pread64", "pwrite",
		"pwrite64",   "posix_spawn",     "popen",       "pclose",   "fread",   "fwrite",  "fflush",
		"printf",     "eventfd_read",
	};
	for (size_t i = 0; i < ARRAY_SIZE(prefixes); i++)
		if (begins(function, prefixes[i]))
			return true;
	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		if (strcmp(function, names[i]) == 0)
			return true;
	return false;
}

bool function_is_runtime(const char *function, const char *module) {
	return is_runtime_module(module) || is_runtime_function(function) || is_interpreter_lock(function);
}

// ---- stacks ----

struct reading {
	struct place place;
	size_t rank;         // of the best kernel rule so far
	enum reason lock;    // by the innermost frame that says
	uint32_t first_user; // frame
	uint32_t own_symbol; // of the program's own function
	bool interpreter, go_scheduler;
};

static void read_kernel_frame(struct reading *reading, const struct frame *frame, const char *function) {
	size_t rank = wait_reason_rank(function);
	reading->rank = MIN(reading->rank, rank);
	if (rank < ARRAY_SIZE(kernel_rules) && kernel_rules[rank].reason == REASON_PAGE_FAULT)
		reading->place.faults = true;
	if (!reading->place.inner && !function_is_scheduler(function))
		reading->place.inner = frame->symbol;
}

static void read_user_frame(struct reading *reading, const struct strings *strings, uint32_t id,
			    const struct frame *frame) {
	const char *function = strings_get(strings, frame->symbol);
	reading->interpreter |= is_interpreter_lock(function);
	reading->go_scheduler |= is_go_scheduler(function);
	if (reading->place.caller)
		return;
	bool runtime = function_is_runtime(function, strings_get(strings, frame->module));
	if (reading->place.own) {
		if (!runtime && *function && frame->symbol != reading->own_symbol)
			reading->place.caller = id + 1;
		return;
	}
	if (!reading->first_user && *function)
		reading->first_user = id + 1;
	if (!runtime && *function) {
		reading->place.own = id + 1;
		reading->own_symbol = frame->symbol;
	}
	if (reading->lock == REASON_FUTEX && runtime)
		reading->lock = lock_of(function);
}

static struct place read_stack(const struct tables *tables, uint32_t stack) {
	enum { MOST_FRAMES = 1000 };
	struct reading reading = {.rank = ARRAY_SIZE(kernel_rules), .lock = REASON_FUTEX};
	const struct stack *at = stacks_get(tables->stacks, stack);
	for (int i = 0; at && i < MOST_FRAMES; i++, at = stacks_get(tables->stacks, at->caller)) {
		const struct frame *frame = stacks_frame(tables->stacks, at->frame);
		if (frame->kind == FRAME_KERNEL)
			read_kernel_frame(&reading, frame, strings_get(tables->strings, frame->symbol));
		else
			read_user_frame(&reading, tables->strings, at->frame, frame);
	}
	struct place place = reading.place;
	bool ruled = reading.rank < ARRAY_SIZE(kernel_rules);
	// Some recordings of perf have only the scheduler's own function.
	bool empty = !place.inner && !reading.first_user;
	place.reason = ruled ? kernel_rules[reading.rank].reason : empty ? REASON_UNKNOWN : REASON_OTHER;
	place.words = ruled ? kernel_rules[reading.rank].words : NULL;
	if (place.reason == REASON_FUTEX || (!place.inner && reading.lock != REASON_FUTEX))
		place.reason = reading.interpreter ? REASON_MUTEX : reading.lock;
	if (reading.go_scheduler && !place.own)
		place.words = "had no goroutine to run";
	else if (!place.own)
		place.own = reading.first_user;
	const struct frame *caller = place.caller ? stacks_frame(tables->stacks, place.caller - 1) : NULL;
	if (caller && strcmp(strings_get(tables->strings, caller->symbol), "main") == 0)
		place.caller = 0;
	return place;
}

void places_init(struct places *places, const struct tables *tables) {
	*places = (struct places){.tables = tables};
	array_push(&places->list, (struct place){.reason = REASON_UNKNOWN});
}

void places_free(struct places *places) {
	array_free(&places->list);
	map_free(&places->by_stack);
}

const struct place *place_of(struct places *places, uint32_t stack) {
	if (!stack)
		return &places->list.items[0];
	uint64_t *known = map_put(&places->by_stack, stack);
	if (!*known) {
		*known = places->list.count;
		array_push(&places->list, read_stack(places->tables, stack));
	}
	return &places->list.items[*known];
}

// ---- reasons ----

bool reason_may_wake_early(enum reason reason) {
	return reason == REASON_MUTEX || reason == REASON_RWLOCK || reason == REASON_CONDITION ||
	       reason == REASON_SEMAPHORE || reason == REASON_FUTEX;
}

// Nothing but a timer ends a wait for these from a hardware interrupt; packets come in softirqs.
enum reason reason_after_interrupt(enum reason reason, bool timer_softirq) {
	static const bool limited[REASON_COUNT] = {
		[REASON_MUTEX] = true, [REASON_RWLOCK] = true,    [REASON_CONDITION] = true,
		[REASON_POLL] = true,  [REASON_SEMAPHORE] = true, [REASON_FUTEX] = true,
		[REASON_JOIN] = true,  [REASON_SIGNAL] = true,    [REASON_IO_URING] = true,
	};
	return limited[reason] || (timer_softirq && reason == REASON_SOCKET) ? REASON_TIMEOUT : reason;
}

enum reason reason_of_windows(uint16_t wait_reason) {
	static const struct rule rules[] = {
		{"FreePage", REASON_MEMORY},
		{"WrFreePage", REASON_MEMORY},
		{"PageIn", REASON_PAGE_FAULT},
		{"WrPageIn", REASON_PAGE_FAULT},
		{"PoolAllocation", REASON_MEMORY},
		{"WrPoolAllocation", REASON_MEMORY},
		{"DelayExecution", REASON_SLEEP},
		{"WrDelayExecution", REASON_SLEEP},
		{"Suspended", REASON_STOPPED},
		{"WrSuspended", REASON_STOPPED},
		{"WrVirtualMemory", REASON_MEMORY},
		{"WrPageOut", REASON_MEMORY},
		{"WrKeyedEvent", REASON_FUTEX},
		{"WrAlertByThreadId", REASON_FUTEX},
		{"WrCpuRateControl", REASON_THROTTLED},
		{"WrResource", REASON_KERNEL_LOCK},
		{"WrPushLock", REASON_KERNEL_LOCK},
		{"WrMutex", REASON_KERNEL_LOCK},
		{"WrFastMutex", REASON_KERNEL_LOCK},
		{"WrGuardedMutex", REASON_KERNEL_LOCK},
	};
	if (!wait_reason || wait_reason > WAIT_REASON_COUNT)
		return REASON_UNKNOWN;
	for (size_t i = 0; i < ARRAY_SIZE(rules); i++)
		if (strcmp(event_wait_reasons[wait_reason - 1], rules[i].pattern) == 0)
			return rules[i].reason;
	return REASON_OTHER;
}

enum reason reason_of_state(uint16_t state, enum reason other) {
	return state & (STATE_STOPPED | STATE_TRACED) ? REASON_STOPPED : other;
}
