/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
// Signals to the test's threads, with their senders; and what the kernel ended for lack of memory.
#include "capture/bpf/point.h"

// The code of a siginfo. Some senders pass none: then the pointer is one of two small numbers.
static __always_inline int64_t signal_code(uint64_t info) {
	enum { NO_INFO, FROM_KERNEL, CODE_AT = 8, SI_KERNEL = 0x80 };
	int32_t code = info == FROM_KERNEL ? SI_KERNEL : 0;
	if (info > FROM_KERNEL)
		bpf_probe_read_kernel(&code, sizeof(code), (void *)info + CODE_AT);
	return code;
}

// The task that a SIGKILL was sent to last. The kernel ends one process at a time for lack of memory.
uint64_t victim_task = 0;
uint32_t victim_pid = 0, victim_slot = 0;

enum { SIGKILL = 9 };

SEC("tp_btf/signal_generate")
int on_signal_sent(uint64_t *context) {
	struct task_struct *receiver = (void *)context[2], *sender = bpf_get_current_task_btf();
	uint32_t slot = slot_of(receiver);
	if (slot == NO_SLOT)
		return 0;
	union any_record record = begin(POINT_SIGNAL);
	record.point.small = context[0];
	record.point.values[0] = (uint32_t)receiver->pid | (context[3] & 0xff) << 32 |
				 (context[4] & 0xff) << 40;
	record.point.values[1] = signal_code(argument(context, 1));
	foreign_name((char *)&record.point.values[2], sender, slot);
	if (context[0] == SIGKILL) {
		victim_task = (uint64_t)receiver;
		victim_pid = receiver->pid;
		victim_slot = slot;
	}
	return end(&record, slot, POINT_SIGNAL);
}

// ---- out of memory ----

const volatile uint32_t page_size = 4096;

struct cgroup_subsys {
	const char *name;
} KERNEL_TYPE;

struct cgroup_subsys_state {
	struct cgroup_subsys *ss;
} KERNEL_TYPE;

struct css_set {
	struct cgroup_subsys_state *subsys[1];
} KERNEL_TYPE;

struct page_counter {
	atomic_long_t usage;
	unsigned long max;
	struct page_counter *parent;
} KERNEL_TYPE;

struct mem_cgroup {
	struct page_counter memory; // after a struct cgroup_subsys_state
} KERNEL_TYPE;

struct task_struct___groups {
	struct css_set *cgroups;
} KERNEL_TYPE;

// Which of a task's groups is that for memory depends on the kernel's configuration: they are found by name.
static __always_inline struct mem_cgroup *memory_group(struct task_struct___groups *task) {
	enum { MOST_CONTROLLERS = 16 };
	const uint64_t MEMORY = 0x79726f6d656d; // the text, in the order of bytes of x86 and ARM
	struct css_set *groups = BPF_CORE_READ(task, cgroups);
	uint32_t count = bpf_core_field_size(groups->subsys) / sizeof(void *);
	void **list = (void *)groups + bpf_core_field_offset(groups->subsys);
	for (uint32_t i = 0; i < MOST_CONTROLLERS && i < count; i++) {
		struct cgroup_subsys_state *group = NULL;
		uint64_t name = 0;
		bpf_probe_read_kernel(&group, sizeof(group), &list[i]);
		bpf_probe_read_kernel_str(&name, sizeof(name), BPF_CORE_READ(group, ss, name));
		if (name == MEMORY)
			return (void *)group;
	}
	return NULL;
}

// The tightest limit of the task's group and of those above it, and how much of it was used.
static __always_inline void read_memory(struct task_struct___groups *task, uint64_t *limit, uint64_t *usage) {
	enum { DEEPEST = 16 };
	struct mem_cgroup *group = memory_group(task);
	struct page_counter *counter = group ? (void *)group + bpf_core_field_offset(group->memory) : NULL;
	uint64_t most = -1ull >> 1;
	*limit = *usage = 0;
	for (int i = 0; i < DEEPEST && counter; i++, counter = BPF_CORE_READ(counter, parent)) {
		uint64_t max = BPF_CORE_READ(counter, max);
		if (max >= most / page_size || (*limit && max >= *limit))
			continue;
		*limit = max;
		*usage = BPF_CORE_READ(counter, usage.counter);
	}
	*limit *= page_size;
	*usage *= page_size;
}

// The kernel sends the victim a signal first, which says to which session it belongs. The argument is the
// task, and was its id before 6.9.
SEC("raw_tp/mark_victim")
int on_oom_victim(uint64_t *context) {
	struct task_struct *task = (void *)context[0];
	uint32_t pid = context[0] >> 32 ? BPF_CORE_READ(task, pid) : context[0];
	if (!victim_task || victim_pid != pid)
		return 0;
	task = (void *)victim_task;
	union any_record record = begin(POINT_OOM_VICTIM);
	record.point.values[0] = BPF_CORE_READ(task, tgid);
	if (bpf_core_type_exists(struct mem_cgroup) &&
	    bpf_core_field_exists(((struct task_struct___groups *)0)->cgroups))
		read_memory((void *)task, &record.point.values[1], &record.point.values[2]);
	victim_task = 0;
	return end(&record, victim_slot, POINT_OOM_VICTIM);
}
