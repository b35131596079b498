/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
// Context switches and wakeups.
//
// A switch is kept when either side belongs to a session, and the next switch
// on that CPU too: so whoever took the CPU from the test is named, with the
// exact time it held it. That may concern three sessions at once: that of the
// task which leaves, that of the task which comes, and the one whose follower
// ends here.
#include "capture/bpf/emit.h"

enum { TASK_DEAD = 0x80 };

// sched_switch has the previous state as an argument since 5.18.
const volatile bool switch_has_state = true;

struct switched {
	uint64_t now;
	struct task_struct *next;
	struct record_switch record;
	uint32_t prev_slot, next_slot;
};

static __always_inline void emit_switch(struct switched *switched, uint32_t slot, uint32_t flags) {
	struct record_switch_named named;
	named.base = switched->record;
	named.base.head.flags |= flags;
	if (switched->prev_slot != slot)
		named.base.head.flags |= SWITCH_PREV_OUTSIDE;
	if (switched->next_slot == slot && system_slot == NO_SLOT) {
		emit(slot, switched->now, &named.base.head, sizeof(struct record_switch), RECORD_SOURCE_SCHED);
		return;
	}
	// In a trace of the whole system everybody is inside, but only the
	// switch itself is sure to know the name.
	if (switched->next_slot != slot)
		named.base.head.flags |= SWITCH_NEXT_OUTSIDE;
	struct task_struct *next = switched->next;
	bpf_probe_read_kernel(named.next_name, sizeof(named.next_name), &next->comm);
	emit(slot, switched->now, &named.base.head, sizeof(named), RECORD_SOURCE_SCHED);
}

SEC("tp_btf/sched_switch")
int on_switch(uint64_t *context) {
	struct task_struct *prev = (void *)context[1];
	struct task_struct *next = (void *)context[2];
	struct cpu_state *cpu = this_cpu();
	if (!cpu)
		return 0;
	struct switched switched = {.prev_slot = slot_of(prev), .next_slot = slot_of(next)};
	uint32_t prev_slot = switched.prev_slot, next_slot = switched.next_slot, ending = cpu->follower;
	if (prev_slot == NO_SLOT && next_slot == NO_SLOT && ending == NO_SLOT)
		return 0;

	uint32_t state = switch_has_state ? (uint32_t)context[3] : prev->__state;
	if (state & TASK_DEAD)
		state |= prev->exit_state;
	switched.now = bpf_ktime_get_boot_ns();
	switched.next = next;
	switched.record = (struct record_switch){
		.head = {.kind = RECORD_SWITCH, .flags = context[0] & 1 ? SWITCH_PREEMPTED : 0},
		.prev_tid = prev->pid,
		.next_tid = next->pid,
		.prev_state = state,
		.prev_priority = prev->prio,
		.next_priority = next->prio,
	};
	if (next_slot != NO_SLOT)
		emit_switch(&switched, next_slot, 0);
	if (prev_slot != NO_SLOT && prev_slot != next_slot)
		emit_switch(&switched, prev_slot, 0);
	if (ending != NO_SLOT && ending != next_slot && ending != prev_slot)
		emit_switch(&switched, ending, 0);
	cpu->follower = prev_slot != next_slot ? prev_slot : NO_SLOT;
	return 0;
}

// ---- wakeups ----

// In what context we are, as irq.bpf.c has seen it.
static __always_inline uint32_t interrupt_flags(void) {
	struct cpu_state *cpu = this_cpu();
	if (!cpu)
		return 0;
	return (cpu->hardirqs ? WAKING_HARDIRQ : 0) | (cpu->softirqs ? WAKING_SOFTIRQ : 0);
}

static __always_inline uint32_t cpu_of(struct task_struct *task) {
	struct task_struct___old *old = (void *)task;
	if (bpf_core_field_exists(old->cpu))
		return BPF_CORE_READ(old, cpu);
	return task->thread_info.cpu;
}

SEC("tp_btf/sched_waking")
int on_waking(uint64_t *context) {
	struct task_struct *wakee = (void *)context[0];
	uint32_t slot = slot_of(wakee);
	if (slot == NO_SLOT)
		return 0;
	struct task_struct *waker = bpf_get_current_task_btf();
	struct record_waking_named named = {
		.base = {
			.head = {.kind = RECORD_WAKING, .flags = interrupt_flags()},
			.waker_tid = waker->pid,
			.wakee_tid = wakee->pid,
			.target_cpu = cpu_of(wakee),
			.priority = wakee->prio,
		}};
	uint64_t now = bpf_ktime_get_boot_ns();
	if (slot_of(waker) == slot) {
		emit(slot, now, &named.base.head, sizeof(named.base), RECORD_SOURCE_SCHED);
	} else {
		named.base.head.flags |= WAKING_OUTSIDE;
		bpf_probe_read_kernel(named.waker_name, sizeof(named.waker_name), &waker->comm);
		emit(slot, now, &named.base.head, sizeof(named), RECORD_SOURCE_SCHED);
	}
	return 0;
}
