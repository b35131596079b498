/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
// The programs of a tracer: one session. A task's storage holds the number of its slot.
#pragma once

#include "capture/bpf/kernel.h"

// The session of a task. Children inherit it in process.bpf.c.
struct task_slots {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, uint32_t);
};

struct slots {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, uint32_t);
	__type(value, struct slot);
};

struct lanes { // slot * CPUs + CPU
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(max_entries, 1);
	__type(key, uint32_t);
	__type(value, struct lane);
};

// A task and its session packed into one word, so that nothing on this CPU can see it half written.
// Tasks are cache-line aligned, which leaves the low bits of their addresses free.
enum { KNOWN_TASKS = 16, KNOWN_SLOTS = 63 };

// Per-CPU state of the programs.
struct cpu_state {
	uint64_t current;            // address of the task that the last switch brought in
	uint32_t slot;               // its session
	uint32_t follower;           // the session for which the next switch here is recorded
	uint32_t outside;            // a task outside all sessions runs here; `queues` says so, too
	uint32_t softirq;            // the number of the last softirq that began here
	uint32_t hardirqs, softirqs; // nesting depth right now
	uint64_t fired, fired_in;    // addresses of the last expired timer and of the task it interrupted
	uint64_t late;               // known_task() of the task that is back from a long wait (waits.h), or 0
	uint64_t late_time;          // when it came back
	uint64_t late_waited, late_ready; // before that, in nanoseconds
	uint64_t generation;              // the task_generation that the entries below are valid for
	uint64_t known[KNOWN_TASKS];      // recently seen tasks, each with its session
	int known_ids[KNOWN_TASKS];       // and their ids: a new task may reuse an old one's address
};

extern struct task_slots task_slots SEC(".maps");
extern struct slots slots SEC(".maps");
extern struct lanes lanes SEC(".maps");

extern uint64_t task_generation; // changes when an existing task joins a session

extern const volatile uint32_t system_slot; // the session that records every task, or NO_SLOT
extern const volatile uint64_t long_wait;   // nanoseconds; 0 if the stacks of long waits are not recorded
extern const volatile uint64_t boot_offset; // CLOCK_BOOTTIME minus CLOCK_MONOTONIC

// Whom the recording is for. Unless that is root, the memory of tasks with other rights is not copied, and a
// task that gets them by exec (set-user-id, set-group-id, file capabilities) leaves the session; but not if
// root records its own script for another user.
extern const volatile bool owner_is_root, keeps_members;
extern const volatile uint32_t owner, owner_group;

#define SESSION_VARIABLES                                                                                    \
	const volatile uint32_t system_slot = NO_SLOT;                                                       \
	const volatile uint64_t boot_offset = 0;                                                             \
	const volatile bool owner_is_root = true, keeps_members = true;                                      \
	const volatile uint32_t owner = 0, owner_group = 0;

static __always_inline bool waits_are_recorded(void) {
	return long_wait;
}

static __always_inline uint64_t long_wait_of(uint32_t slot) {
	return long_wait;
}

static __always_inline uint32_t slot_index(uint32_t slot) {
	return slot - 1;
}

static __always_inline struct slot *slot_at(const uint32_t *index, uint32_t slot) {
	return bpf_map_lookup_elem(&slots, index);
}

static __always_inline struct slot *slot_get(uint32_t slot) {
	uint32_t index = slot_index(slot);
	return slot_at(&index, slot);
}

// The session's lane on this CPU, in two steps: the first one is a call.
static __always_inline uint32_t lane_place(uint32_t slot) {
	return (slot - 1) * cpu_count + bpf_get_smp_processor_id();
}

static __always_inline struct lane *lane_at(const uint32_t *place, uint32_t slot) {
	return bpf_map_lookup_elem(&lanes, place);
}

// It has been checked.
static __always_inline bool is_source(const uint32_t *source) {
	return true;
}

// The session that records what this task does, or NO_SLOT.
static __always_inline uint32_t slot_of(struct task_struct *task) {
	if (system_slot != NO_SLOT)
		return system_slot;
	uint32_t *slot = bpf_task_storage_get(&task_slots, task, 0, 0);
	return slot ? *slot : NO_SLOT;
}

// A number unique to the task. The only arithmetic the verifier allows on two addresses is their
// difference.
static __always_inline uint64_t known_task(struct cpu_state *cpu, struct task_struct *task) {
	return ((uint64_t)task - (uint64_t)cpu) & ~(uint64_t)KNOWN_SLOTS;
}

static __always_inline uint32_t known_place(uint64_t task) {
	return (task >> 6 ^ task >> 12) & (KNOWN_TASKS - 1);
}

static __always_inline uint32_t known_slot(struct cpu_state *cpu, struct task_struct *task, bool *known) {
	uint64_t number = known_task(cpu, task);
	uint32_t place = known_place(number);
	uint64_t word = cpu->known[place];
	*known = (word & ~(uint64_t)KNOWN_SLOTS) == number && cpu->known_ids[place] == task->pid &&
		 cpu->generation == *(volatile uint64_t *)&task_generation;
	return word & KNOWN_SLOTS;
}

static __always_inline void know(struct cpu_state *cpu, struct task_struct *task, uint32_t slot) {
	uint64_t number = known_task(cpu, task);
	if (slot <= KNOWN_SLOTS) {
		uint32_t place = known_place(number);
		cpu->known[place] = number | slot;
		cpu->known_ids[place] = task->pid;
	}
}

// The same, for the task running on this CPU; the last switch looked it up.
static __always_inline uint32_t slot_of_current(struct cpu_state *cpu, struct task_struct *task) {
	return cpu && cpu->current == (uint64_t)task ? cpu->slot : slot_of(task);
}

static __always_inline void set_current(struct cpu_state *cpu, struct task_struct *task, uint32_t slot) {
	cpu->current = (uint64_t)task;
	cpu->slot = slot;
}

// The task joins the session; false if there is no memory for it.
static __always_inline bool join(struct task_struct *task, uint32_t *slot) {
	return bpf_task_storage_get(&task_slots, task, slot, BPF_LOCAL_STORAGE_GET_F_CREATE);
}

static __always_inline void forget(struct task_struct *task) {
	bpf_task_storage_delete(&task_slots, task);
}

// Capabilities in a user namespace of its own give a task no more rights outside of it.
static __always_inline bool has_other_rights(struct task_struct *task) {
	const struct cred *cred = BPF_CORE_READ(task, cred);
	uint64_t capabilities = 0;
	bpf_core_read(&capabilities, sizeof(capabilities), &cred->cap_permitted);
	return (capabilities && BPF_CORE_READ(cred, user_ns, level) == 0) ||
	       BPF_CORE_READ(cred, uid.val) != owner || BPF_CORE_READ(cred, euid.val) != owner ||
	       BPF_CORE_READ(cred, suid.val) != owner || BPF_CORE_READ(cred, fsuid.val) != owner ||
	       BPF_CORE_READ(cred, gid.val) != owner_group || BPF_CORE_READ(cred, egid.val) != owner_group ||
	       BPF_CORE_READ(cred, sgid.val) != owner_group || BPF_CORE_READ(cred, fsgid.val) != owner_group;
}

// After an exec: does the program run with more rights than the owner of the session?
static __always_inline bool is_beyond_owner(struct task_struct *task, uint32_t slot) {
	return !keeps_members && has_other_rights(task);
}

// May the memory of this task, which belongs to the session, be copied?
static __always_inline bool memory_is_owners(struct task_struct *task, uint32_t slot) {
	return owner_is_root || !has_other_rights(task);
}

// Programs for minor faults are not loaded then.
static __always_inline bool wants_hard_faults(uint32_t slot) {
	return false;
}

static __always_inline bool may_be_others(struct cpu_state *cpu, uint32_t slot) {
	return false;
}

static __always_inline uint64_t visible_address(uint64_t address, uint32_t slot) {
	return address;
}

// The name of a task that does not belong to the session.
static __always_inline void foreign_name(char name[RECORD_NAME_SIZE], struct task_struct *task,
					 uint32_t slot) {
	bpf_probe_read_kernel(name, RECORD_NAME_SIZE, &task->comm);
}
