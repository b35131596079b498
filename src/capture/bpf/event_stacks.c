#include "capture/bpf/event_stacks.h"
#include "base/log.h"
#include "capture/sources.h"
#include "event/event_stacks.h"
#include "tracelet.skel.h"

#include <bpf/libbpf.h>
#include <linux/perf_event.h>
#include <sys/utsname.h>

enum { WALKS = 6 }; // two for samples, four for events

static const struct {
	int event;
	const char *program, *point; // point: its tracefs name, to check for it; NULL if every kernel has it
} programs_at[] = {
	{POINT_SYS_ENTER, "stack_at_sys_enter", "raw_syscalls/sys_enter"},
	{POINT_SYS_EXIT, "stack_at_sys_exit", "raw_syscalls/sys_exit"},
	{POINT_FAULT_MINOR, "stack_at_minor_fault", NULL},
	{POINT_FAULT_MAJOR, "stack_at_major_fault", NULL},
	{STACK_AT_WAKING, "stack_at_waking", "sched/sched_waking"},
	{STACK_AT_NEWTASK, "stack_at_newtask", "task/task_newtask"},
	{STACK_AT_SOFTIRQ, "stack_at_softirq", "irq/softirq_entry"},
	{POINT_SOFTIRQ_RAISE, "stack_at_softirq_raise", "irq/softirq_raise"},
	{POINT_IPI_CPU, "stack_at_ipi_cpu", "ipi/ipi_send_cpu"},
	{POINT_IPI_MASK, "stack_at_ipi_mask", "ipi/ipi_send_cpumask"},
	{POINT_IPI_RAISE, "stack_at_ipi_raise", "ipi/ipi_raise"},
	{POINT_WORK_QUEUE, "stack_at_work_queue", "workqueue/workqueue_queue_work"},
	{POINT_HRTIMER_START, "stack_at_hrtimer_start", "timer/hrtimer_start"},
	{POINT_TIMER_START, "stack_at_timer_start", "timer/timer_start"},
	{POINT_LOCK_BEGIN, "stack_at_lock_begin", "lock/contention_begin"},
	{POINT_BIO_QUEUE, "stack_at_bio_queue", "block/block_bio_queue"},
	{POINT_BIO_SPLIT, "stack_at_bio_split", "block/block_split"},
	{POINT_KMALLOC, "stack_at_kmalloc", "kmem/kmalloc"},
	{POINT_CACHE_ALLOC, "stack_at_cache_alloc", "kmem/kmem_cache_alloc"},
	{POINT_KFREE, "stack_at_kfree", "kmem/kfree"},
	{POINT_CACHE_FREE, "stack_at_cache_free", "kmem/kmem_cache_free"},
	{POINT_KVM_EXIT, "stack_at_kvm_exit", "kvm/kvm_exit"},
};

static const char *const operations[] = {"read", "write", "flush"}; // the kernel's numbers

// ---- choosing ----

static void want_call(struct tracelet *programs, uint32_t call) {
	programs->rodata->stacked_calls[call / 64] |= (uint64_t)1 << call % 64;
}

static void want_kind(struct tracelet *programs, int event, const char *kind) {
	if (event == STACK_AT_NEWTASK && !kind)
		programs->rodata->stacked_threads = true;
	for (uint32_t i = 0; event == POINT_BIO_QUEUE && i < ARRAY_SIZE(operations); i++)
		if (!kind || strcmp(kind, operations[i]) == 0)
			programs->rodata->stacked_operations |= 1u << i;
}

// Another architecture may lack this system call.
static void want_event(struct tracelet *programs, const char *machine, char *name) {
	enum { POINT = (1 << STACK_CALL_SHIFT) - 1 };
	char *kind = strchr(name, ':');
	if (kind)
		*kind++ = 0;
	int event = stack_event_find(machine, name);
	if (event == NO_STACK_EVENT)
		return;
	if (strcmp(name, "sys_enter") == 0)
		memset(programs->rodata->stacked_calls, 0xff, sizeof(programs->rodata->stacked_calls));
	else if ((event & POINT) == POINT_SYS_ENTER)
		want_call(programs, (uint32_t)event >> STACK_CALL_SHIFT);
	want_kind(programs, event, kind);
	for (size_t i = 0; i < ARRAY_SIZE(programs_at); i++)
		if (programs_at[i].event == (event & POINT) &&
		    (!programs_at[i].point || source_has_point(programs_at[i].point)))
			bpf_program__set_autoload(
				bpf_object__find_program_by_name(programs->obj, programs_at[i].program),
				true);
}

void event_stacks_choose(struct tracelet *programs, const char *events) {
	for (size_t i = 0; i < ARRAY_SIZE(programs_at); i++)
		bpf_program__set_autoload(
			bpf_object__find_program_by_name(programs->obj, programs_at[i].program), false);
	bpf_program__set_autoattach(programs->progs.stack_at_minor_fault, false);
	bpf_program__set_autoattach(programs->progs.stack_at_major_fault, false);
	if (!events)
		return;
	struct utsname system;
	uname(&system);
	CLEANUP_FREE char *words = memory_string(events);
	char *rest = NULL;
	for (char *word = strtok_r(words, " ", &rest); word; word = strtok_r(NULL, " ", &rest))
		want_event(programs, system.machine, word);
	bpf_map__set_max_entries(programs->maps.walks, WALKS);
	bpf_map__set_max_entries(programs->maps.memories, WALKS);
	bpf_map__set_max_entries(programs->maps.python_walks, WALKS);
}

int event_stacks_attach(struct tracelet *programs, struct point_links *links) {
	int error = points_attach_event(programs->progs.stack_at_minor_fault, PERF_COUNT_SW_PAGE_FAULTS_MIN,
					links);
	return error ? error
		     : points_attach_event(programs->progs.stack_at_major_fault,
					   PERF_COUNT_SW_PAGE_FAULTS_MAJ, links);
}
