#include "profile/stacks.h"

#include <string.h>

#define CALL "sys_enter_"
#define MAPS CALL "mmap " CALL "mremap"

static const struct system_stack stacks[] = {
	{"CSwitch", NULL, SOURCE_SCHED, "with how long each thread waited, as by --off-cpu"},
	{"DiskFlushInit", "block_bio_queue:flush", SOURCE_BIO, NULL},
	{"DiskReadInit", "block_bio_queue:read", SOURCE_BIO, NULL},
	{"DiskWriteInit", "block_bio_queue:write", SOURCE_BIO, NULL},
	{"DpcEnqueue", "softirq_raise", SOURCE_SOFTIRQ_QUEUE, NULL},
	{"DpcExecute", "softirq_entry", SOURCE_IRQ, NULL},
	{"ExecutiveResource", "contention_begin", SOURCE_LOCK, NULL},
	{"FileCleanup", CALL "close", SOURCE_FILE, NULL},
	{"FileClose", CALL "close", SOURCE_FILE, NULL},
	{"FileCreate", CALL "open " CALL "creat " CALL "openat " CALL "openat2", SOURCE_FILE, NULL},
	{"FileDelete", CALL "unlink " CALL "unlinkat " CALL "rmdir", SOURCE_FILE, NULL},
	{"FileDirEnum", CALL "getdents " CALL "getdents64", SOURCE_FILE, NULL},
	{"FileDirNotify", CALL "inotify_add_watch", SOURCE_FILE, NULL},
	{"FileFlush", CALL "fsync " CALL "fdatasync " CALL "sync_file_range " CALL "syncfs", SOURCE_FILE,
	 NULL},
	{"FileFSCTL", CALL "ioctl", SOURCE_FILE, NULL},
	{"FileQueryInformation", CALL "stat " CALL "lstat " CALL "fstat " CALL "newfstatat " CALL "statx",
	 SOURCE_FILE, NULL},
	{"FileRead", CALL "read " CALL "pread64 " CALL "readv " CALL "preadv " CALL "preadv2", SOURCE_FILE,
	 NULL},
	{"FileRename", CALL "rename " CALL "renameat " CALL "renameat2", SOURCE_FILE, NULL},
	{"FileSetInformation", CALL "truncate " CALL "ftruncate " CALL "fallocate", SOURCE_FILE, NULL},
	{"FileWrite", CALL "write " CALL "pwrite64 " CALL "writev " CALL "pwritev " CALL "pwritev2",
	 SOURCE_FILE, NULL},
	{"HardFault", "page_fault_major", SOURCE_FAULT, NULL},
	{"ImageLoad", CALL "mmap", SOURCE_MEMORY, NULL},
	{"ImageUnload", CALL "munmap", SOURCE_MEMORY, NULL},
	{"InterProcessorInterrupt", "ipi_send_cpu ipi_send_cpumask ipi_raise", SOURCE_IPI, NULL},
	{"KernelHypercalls", "kvm_exit", SOURCE_KVM, NULL},
	{"KernelQueueEnqueue", "workqueue_queue_work", SOURCE_WORK, NULL},
	{"MapFile", CALL "mmap", SOURCE_MEMORY, NULL},
	{"PagefaultCopyOnWrite", "page_fault_minor", SOURCE_FAULT, NULL},
	{"PagefaultDemandZero", "page_fault_minor", SOURCE_FAULT, NULL},
	{"PagefaultHard", "page_fault_major", SOURCE_FAULT, NULL},
	{"PagefaultTransition", "page_fault_minor", SOURCE_FAULT, NULL},
	{"PoolAllocation", "kmalloc kmem_cache_alloc", SOURCE_SLAB, NULL},
	{"PoolFree", "kfree kmem_cache_free", SOURCE_SLAB, NULL},
	{"ProcessCreate", "task_newtask:process", SOURCE_PROCESS, NULL},
	{"ProcessDelete", CALL "exit_group", SOURCE_SYSTEM_CALL, NULL},
	{"ReadyThread", "sched_waking", SOURCE_SCHED, NULL},
	{"SampledProfile", NULL, SOURCE_SAMPLE, "with the samples"},
	{"SplitIO", "block_split", SOURCE_BIO, NULL},
	{"SystemCallEnter", "sys_enter", SOURCE_SYSTEM_CALL, NULL},
	{"SystemCallExit", "sys_exit", SOURCE_SYSTEM_CALL, NULL},
	{"ThreadCreate", "task_newtask", SOURCE_PROCESS, NULL},
	{"ThreadDelete", CALL "exit", SOURCE_SYSTEM_CALL, NULL},
	{"ThreadSetBasePriority", CALL "setpriority " CALL "sched_setattr", SOURCE_SYSTEM_CALL, NULL},
	{"ThreadSetIdealProcessor", CALL "sched_setaffinity", SOURCE_SYSTEM_CALL, NULL},
	{"ThreadSetPriority", CALL "sched_setscheduler " CALL "sched_setparam " CALL "sched_setattr",
	 SOURCE_SYSTEM_CALL, NULL},
	{"ThreadSetUserIdealProcessor", CALL "sched_setaffinity", SOURCE_SYSTEM_CALL, NULL},
	{"TimerOneShot", "hrtimer_start timer_start", SOURCE_TIMER, NULL},
	{"TimerPeriodic", "hrtimer_start timer_start", SOURCE_TIMER, NULL},
	{"UnMapFile", CALL "munmap", SOURCE_MEMORY, NULL},
	{"VirtualAllocation", MAPS " " CALL "brk", SOURCE_MEMORY, NULL},
	{"VirtualFree", CALL "munmap", SOURCE_MEMORY, NULL},
};

const struct system_stack *stack_on_linux(const char *name) {
	for (size_t i = 0; i < ARRAY_SIZE(stacks); i++)
		if (strcmp(stacks[i].name, name) == 0)
			return &stacks[i];
	return NULL;
}

static bool has_word(const struct buffer *words, const char *word, size_t length) {
	const char *at = (const char *)words->data, *end = at + words->size;
	while (at < end) {
		const char *blank = memchr(at, ' ', (size_t)(end - at));
		size_t here = (size_t)((blank ? blank : end) - at);
		if (here == length && memcmp(at, word, length) == 0)
			return true;
		at += here + 1;
	}
	return false;
}

static void add_words(struct buffer *words, const char *more) {
	while (*more) {
		size_t length = strcspn(more, " ");
		if (!has_word(words, more, length))
			buffer_printf(words, "%s%.*s", words->size ? " " : "", (int)length, more);
		more += length + strspn(more + length, " ");
	}
}

void plan_stack_events(const struct plan *plan, plan_why_not *why_not, struct buffer *events,
		       struct buffer *missing) {
	for (int i = 0; i < STACK_COUNT; i++) {
		const struct system_stack *stack = plan->stacks[i] ? stack_on_linux(stack_names[i]) : NULL;
		if (!stack || !stack->events)
			continue;
		if (!why_not(stack->source))
			add_words(events, stack->events);
		else if (!plan_wants(plan, stack->source))
			add_words(missing, stack->events);
	}
}

bool plan_stacks_waits(const struct plan *plan) {
	return plan->stacks[stack_find("CSwitch")];
}

unsigned plan_stacks_missing(const struct plan *plan) {
	unsigned missing = 0;
	for (int i = 0; i < STACK_COUNT; i++)
		missing += plan->stacks[i] && !stack_on_linux(stack_names[i]);
	return missing;
}

void stack_describe(const char *name, plan_why_not *why_not, struct buffer *text) {
	const struct system_stack *stack = stack_on_linux(name);
	const char *reason = stack && why_not ? why_not(stack->source) : NULL;
	if (!stack) {
		buffer_printf(text, "Linux has nothing like it");
		return;
	}
	buffer_printf(text, "%s", reason ? "not available" : "recorded");
	const char *at = stack->events ? stack->events : "", *before = ": ";
	while (*at) {
		size_t length = strcspn(at, " ");
		buffer_printf(text, "%s", before);
		buffer_append(text, at, length);
		at += length + strspn(at + length, " ");
		before = ", ";
	}
	if (reason || stack->part)
		buffer_printf(text, "%s%s%s", reason ? " (" : " ", reason ? reason : stack->part,
			      reason ? ")" : "");
}
