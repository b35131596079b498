/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
// Context switches and wakeups.
//
// A switch is recorded if either task belongs to a session, and so is the next switch on that CPU:
// it names the task that took the CPU from the test, and for exactly how long. While a task of the
// session is ready on a CPU, all switches there are recorded, so that every task that it has to wait
// for is named. Up to three sessions
// can be concerned: that of the outgoing task, that of the incoming task, and the one whose
// follower leaves here.
#include "capture/bpf/waits.h"

enum { TASK_DEAD = 0x80, TASK_WAKING = 0x200 };

// sched_switch passes the previous state as an argument since 5.18.
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
	// A session knows its own tasks' names; in a system-wide trace only the switch is sure to
	// have the name.
	if (switched->next_slot != slot || system_slot != NO_SLOT) {
		foreign_name(record->switched.next_name, switched->next, slot);
		size = sizeof(struct record_switch_named);
	}
	record->head.flags = flags;
	emit(record, slot, switched->now, size, SOURCE_SCHED);
}

// A switch between two tasks of the session, or into it from outside; true if it was recorded.
static __always_inline bool emit_inside(const struct switched *switched, const union any_record *record,
					uint32_t slot) {
	struct lane *lane;
	struct record_switch *room = system_slot != NO_SLOT ? 0
							    : lane_room(&lane, slot, switched->now,
									sizeof(*room), SOURCE_SCHED);
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

// Is a task that starts to wait waiting for a device? Its state does not say.
static __always_inline uint8_t io_wait_flag(struct task_struct *task) {
	return BPF_CORE_READ_BITFIELD(task, in_iowait) ? SWITCH_IO_WAIT : SWITCH_NO_IO_WAIT;
}

// Apart from the clock, looking up a task's session is the most expensive part of a switch. So
// recently seen tasks are cached, but only here, where no interrupt can come in between.
static __always_inline uint32_t slot_of_next(struct cpu_state *cpu, struct task_struct *next) {
	bool known;
	uint32_t slot = known_slot(cpu, next, &known);
	if (system_slot != NO_SLOT || known)
		return system_slot != NO_SLOT ? system_slot : slot;
	uint64_t generation = *(volatile uint64_t *)&task_generation; // read before the lookup
	if (cpu->generation != generation)
		__builtin_memset(cpu->known, 0, sizeof(cpu->known));
	cpu->generation = generation;
	slot = slot_of(next);
	know(cpu, next, slot);
	return slot;
}

// ---- tasks that are ready ----

static __always_inline uint32_t cpu_of(struct task_struct *task) {
	if (bpf_core_field_exists(task->cpu))
		return BPF_CORE_READ(task, cpu);
	return task->thread_info.cpu;
}

static __always_inline struct queue *queue_of(uint32_t cpu) {
	return bpf_map_lookup_elem(&queues, &cpu);
}

static __always_inline void set_waiting(struct queue *queue, struct task_struct *task, uint32_t slot) {
	queue->slot = slot;
	queue->pid = task->pid;
	queue->task = (uint64_t)task;
}

// The session of the task that waits for this CPU, or NO_SLOT. The task may be gone by now: its memory is
// read with care, and must have the same id.
static __always_inline uint32_t slot_waiting(struct queue *queue) {
	struct task_struct *task = (void *)queue->task;
	if (!task)
		return NO_SLOT;
	uint32_t cpu = bpf_core_field_exists(task->cpu) ? BPF_CORE_READ(task, cpu)
							: BPF_CORE_READ(task, thread_info.cpu);
	bool ready = BPF_CORE_READ(task, pid) == queue->pid &&
		     !(BPF_CORE_READ(task, __state) & ~TASK_WAKING) &&
		     !(bpf_core_field_exists(task->on_cpu) && BPF_CORE_READ(task, on_cpu)) &&
		     cpu == bpf_get_smp_processor_id();
	if (ready)
		return queue->slot;
	queue->task = 0;
	return NO_SLOT;
}

// A task outside of all sessions comes: the session of a task that waits meanwhile, or NO_SLOT.
static __always_inline uint32_t waits_for(struct cpu_state *cpu, const struct switched *switched,
					  struct task_struct *prev, bool prev_ready) {
	bool outside = switched->next_slot == NO_SLOT && switched->next->pid;
	if (system_slot != NO_SLOT || (!outside && !cpu->outside))
		return NO_SLOT;
	struct queue *queue = queue_of(bpf_get_smp_processor_id());
	if (!queue)
		return NO_SLOT;
	if (cpu->outside != outside)
		cpu->outside = queue->outside = outside;
	if (!outside)
		return NO_SLOT;
	if (switched->prev_slot != NO_SLOT && prev_ready)
		set_waiting(queue, prev, switched->prev_slot);
	return switched->prev_slot != NO_SLOT ? NO_SLOT : slot_waiting(queue);
}

SEC("tp_btf/sched_switch")
int on_switch(uint64_t *context) {
	struct task_struct *prev = (void *)context[1];
	struct task_struct *next = (void *)context[2];
	struct cpu_state *cpu = this_cpu();
	if (!cpu)
		return 0;
	struct switched switched = {
		.next = next, .prev_slot = slot_of_current(cpu, prev), .next_slot = slot_of_next(cpu, next)};
	set_current(cpu, next, switched.next_slot);
	// No switch happens inside an interrupt, but an entry may have come without its exit, if it
	// was in progress while our programs were being attached.
	cpu->hardirqs = cpu->softirqs = 0;
	uint32_t prev_slot = switched.prev_slot, next_slot = switched.next_slot;
	bool preempted = context[0] & 1;
	uint32_t state = switch_has_state ? (uint32_t)context[3] : prev->__state;
	uint32_t waiting = waits_for(cpu, &switched, prev, preempted || !state);
	uint32_t ending = cpu->follower != NO_SLOT ? cpu->follower : waiting;
	if (prev_slot == NO_SLOT && next_slot == NO_SLOT && ending == NO_SLOT)
		return 0;

	if (state & TASK_DEAD)
		state |= prev->exit_state;
	switched.now = boot_time();
	switched.flags = preempted ? SWITCH_PREEMPTED : state ? io_wait_flag(prev) : 0;
	if (waits_are_recorded()) {
		struct wait_switch waits = {.next = known_task(cpu, next),
					    .now = switched.now,
					    .prev_tid = prev->pid,
					    .next_tid = next->pid,
					    .prev_slot = prev_slot,
					    .next_slot = next_slot,
					    .prev_state = state,
					    .prev_flags = prev->flags,
					    .preempted = preempted,
					    .prev_io_wait = switched.flags & SWITCH_IO_WAIT};
		switch_waits(&waits);
	}
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
	cpu->follower = prev_slot != next_slot ? prev_slot : NO_SLOT;
	if (ending == NO_SLOT || ending == next_slot || ending == prev_slot)
		return 0;
	// An idle CPU is followed, too, so that it is not taken for a busy one.
	if (prev_slot == NO_SLOT && next_slot == NO_SLOT && (waiting == ending || !next->pid)) {
		switched.flags |= SWITCH_FOLLOWED;
		cpu->follower = ending;
	}
	emit_switch(&switched, &record, ending);
	return 0;
}

// ---- wakeups ----

// Interrupt context, as tracked by irq.bpf.c.
static __always_inline uint32_t interrupt_flags(const struct cpu_state *cpu) {
	enum { TIMERS = 1 };
	return (cpu->hardirqs ? WAKING_HARDIRQ : 0) | (cpu->softirqs ? WAKING_SOFTIRQ : 0) |
	       (cpu->softirqs && cpu->softirq == TIMERS ? WAKING_TIMER : 0);
}

// A task of the session is ready on this CPU, where a task outside of it runs that no record has named.
static __always_inline void name_current(struct cpu_state *cpu, struct task_struct *current, uint32_t slot,
					 uint64_t now) {
	union any_record record = {};
	record.switched.base = (struct record_switch){
		.head = {.kind = RECORD_SWITCH,
			 .flags = SWITCH_PREV_OUTSIDE | SWITCH_NEXT_OUTSIDE | SWITCH_FOLLOWED},
		.prev_tid = RECORD_TID_OUTSIDE,
		.next_tid = current->pid,
		.next_priority = current->prio,
	};
	foreign_name(record.switched.next_name, current, slot);
	cpu->follower = slot;
	emit(&record, slot, now, sizeof(struct record_switch_named), SOURCE_SCHED);
}

// A wakeup: where its task will be ready is not known yet, but it stays if no CPU is idle.
static __always_inline void is_ready(struct cpu_state *cpu, struct task_struct *current,
				     struct task_struct *wakee, uint32_t slot, uint64_t now) {
	uint32_t target = cpu_of(wakee);
	bool here = target == bpf_get_smp_processor_id();
	if (system_slot != NO_SLOT || (here && !cpu->outside))
		return;
	struct queue *queue = queue_of(target);
	if (!queue || !*(volatile uint32_t *)&queue->outside)
		return;
	set_waiting(queue, wakee, slot);
	if (here && cpu->follower == NO_SLOT && cpu->current == (uint64_t)current)
		name_current(cpu, current, slot, now);
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
	uint32_t flags = interrupt_flags(cpu);
	if (waits_are_recorded())
		flags |= wait_is_over(wakee->pid, slot, now);
	is_ready(cpu, waker, wakee, slot, now);
	struct lane *lane;
	struct record_waking *room = inside ? lane_room(&lane, slot, now, sizeof(*room), SOURCE_SCHED) : 0;
	if (room) {
		room->head.kind = RECORD_WAKING;
		room->head.flags = flags;
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
		.head = {.kind = RECORD_WAKING, .flags = flags},
		.waker_tid = waker->pid,
		.wakee_tid = wakee->pid,
		.target_cpu = cpu_of(wakee),
		.priority = wakee->prio,
	};
	if (inside)
		return emit(&record, slot, now, sizeof(struct record_waking), SOURCE_SCHED);
	record.head.flags |= WAKING_OUTSIDE;
	foreign_name(record.waking.waker_name, waker, slot);
	return EMIT(&record, slot, waking, SOURCE_SCHED);
}
