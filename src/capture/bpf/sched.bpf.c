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
	struct task_struct *next;
	uint64_t now;
	uint32_t prev_slot, next_slot;
	uint8_t flags;
};

static __always_inline void emit_switch(const struct switched *switched, union any_record *record,
					uint32_t slot) {
	uint8_t flags = switched->flags;
	if (switched->prev_slot != slot)
		flags |= SWITCH_PREV_OUTSIDE;
	if (switched->next_slot != slot)
		flags |= SWITCH_NEXT_OUTSIDE;
	uint32_t size = sizeof(struct record_switch);
	// The session knows the names of its own tasks; in a trace of the whole
	// system only the switch itself is sure to.
	if (switched->next_slot != slot || system_slot != NO_SLOT) {
		struct task_struct *next = switched->next;
		bpf_probe_read_kernel(record->switched.next_name, RECORD_NAME_SIZE, &next->comm);
		size = sizeof(struct record_switch_named);
	}
	record->head.flags = flags;
	emit(record, slot, switched->now, size, RECORD_SOURCE_SCHED);
}

// From one task of the session to another one, or from outside: true if that is told.
static __always_inline bool emit_inside(const struct switched *switched, const union any_record *record,
					uint32_t slot) {
	struct lane *lane;
	struct record_switch *room = system_slot != NO_SLOT ? 0
							    : lane_room(&lane, slot, switched->now,
									sizeof(*room), RECORD_SOURCE_SCHED);
	if (!room)
		return false;
	const struct record_switch *base = &record->switched.base;
	room->head.kind = RECORD_SWITCH;
	room->head.flags = switched->flags | (switched->prev_slot != slot ? SWITCH_PREV_OUTSIDE : 0);
	room->prev_tid = base->prev_tid;
	room->next_tid = base->next_tid;
	room->prev_state = base->prev_state;
	room->prev_priority = base->prev_priority;
	room->next_priority = base->next_priority;
	room->unused = 0;
	lane_leave(lane, true);
	return true;
}

// To look up a task's session takes longer than all else about a switch but the clock. A task that
// has been here lately is remembered; only here, where no interrupt comes in between.
static __always_inline uint32_t slot_of_next(struct cpu_state *cpu, struct task_struct *next) {
	bool known;
	uint32_t slot = known_slot(cpu, next, &known);
	if (system_slot != NO_SLOT || known)
		return system_slot != NO_SLOT ? system_slot : slot;
	uint64_t generation = *(volatile uint64_t *)&task_generation; // before the look
	if (cpu->generation != generation)
		__builtin_memset(cpu->known, 0, sizeof(cpu->known));
	cpu->generation = generation;
	slot = slot_of(next);
	uint64_t number = known_task(cpu, next);
	if (slot <= KNOWN_SLOTS) {
		uint32_t place = known_place(number);
		cpu->known[place] = number | slot;
		cpu->known_ids[place] = next->pid;
	}
	return slot;
}

SEC("tp_btf/sched_switch")
int on_switch(uint64_t *context) {
	struct task_struct *prev = (void *)context[1];
	struct task_struct *next = (void *)context[2];
	struct cpu_state *cpu = this_cpu();
	if (!cpu)
		return 0;
	struct switched switched = {.prev_slot = slot_of_current(cpu, prev),
				    .next_slot = slot_of_next(cpu, next)};
	cpu->current = (uint64_t)next;
	cpu->slot = switched.next_slot;
	uint32_t prev_slot = switched.prev_slot, next_slot = switched.next_slot, ending = cpu->follower;
	if (prev_slot == NO_SLOT && next_slot == NO_SLOT && ending == NO_SLOT)
		return 0;

	uint32_t state = switch_has_state ? (uint32_t)context[3] : prev->__state;
	if (state & TASK_DEAD)
		state |= prev->exit_state;
	switched.now = boot_time();
	switched.next = next;
	switched.flags = context[0] & 1 ? SWITCH_PREEMPTED : 0;
	union any_record record = {};
	record.switched.base = (struct record_switch){
		.head = {.kind = RECORD_SWITCH},
		.prev_tid = prev->pid,
		.next_tid = next->pid,
		.prev_state = state,
		.prev_priority = prev->prio,
		.next_priority = next->prio,
	};
	if (next_slot != NO_SLOT && !emit_inside(&switched, &record, next_slot))
		emit_switch(&switched, &record, next_slot);
	if (prev_slot != NO_SLOT && prev_slot != next_slot)
		emit_switch(&switched, &record, prev_slot);
	if (ending != NO_SLOT && ending != next_slot && ending != prev_slot)
		emit_switch(&switched, &record, ending);
	cpu->follower = prev_slot != next_slot ? prev_slot : NO_SLOT;
	return 0;
}

// ---- wakeups ----

// In what context we are, as irq.bpf.c has seen it.
static __always_inline uint32_t interrupt_flags(const struct cpu_state *cpu) {
	return (cpu->hardirqs ? WAKING_HARDIRQ : 0) | (cpu->softirqs ? WAKING_SOFTIRQ : 0);
}

static __always_inline uint32_t cpu_of(struct task_struct *task) {
	if (bpf_core_field_exists(task->cpu))
		return BPF_CORE_READ(task, cpu);
	return task->thread_info.cpu;
}

SEC("tp_btf/sched_waking")
int on_waking(uint64_t *context) {
	struct task_struct *wakee = (void *)context[0];
	struct cpu_state *cpu = this_cpu();
	uint32_t slot = cpu ? slot_of_known(cpu, wakee) : NO_SLOT;
	if (!cpu || slot == NO_SLOT)
		return 0;
	struct task_struct *waker = bpf_get_current_task_btf();
	uint64_t now = boot_time();
	bool inside = slot_of_current(cpu, waker) == slot;
	struct lane *lane;
	struct record_waking *room = inside ? lane_room(&lane, slot, now, sizeof(*room), RECORD_SOURCE_SCHED)
					    : 0;
	if (room) {
		room->head.kind = RECORD_WAKING;
		room->head.flags = interrupt_flags(cpu);
		room->waker_tid = waker->pid;
		room->wakee_tid = wakee->pid;
		room->target_cpu = cpu_of(wakee);
		room->priority = wakee->prio;
		room->unused = 0;
		lane_leave(lane, true);
		return 0;
	}
	union any_record record = {};
	record.waking.base = (struct record_waking){
		.head = {.kind = RECORD_WAKING, .flags = interrupt_flags(cpu)},
		.waker_tid = waker->pid,
		.wakee_tid = wakee->pid,
		.target_cpu = cpu_of(wakee),
		.priority = wakee->prio,
	};
	if (inside)
		return emit(&record, slot, now, sizeof(struct record_waking), RECORD_SOURCE_SCHED);
	record.head.flags |= WAKING_OUTSIDE;
	bpf_probe_read_kernel(record.waking.waker_name, RECORD_NAME_SIZE, &waker->comm);
	return EMIT(&record, slot, waking, RECORD_SOURCE_SCHED);
}
