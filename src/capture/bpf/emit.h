/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
// What every program does with an event: find the session of a task, put a
// record into the session's lane on this CPU, hand a full lane to the ring.
//
// A program may be interrupted by another one on the same CPU (an interrupt
// inside a process's fork). The first takes the lane by raising `busy` from 0;
// whoever finds it taken sends its record to the ring by itself. The reader
// orders by time, so nothing depends on who came first.
#pragma once

#include "capture/bpf/kernel.h"

// ---- maps and settings, defined in session.bpf.c ----

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

struct ring {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 4096);
};

struct rings {
	__uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);
	__uint(max_entries, 1);
	__type(key, uint32_t);
	__array(values, struct ring);
};

// A task and its session in one word, which nothing on this CPU can see half written: tasks lie on
// cache lines, so their addresses have bits to spare.
enum { KNOWN_TASKS = 16, KNOWN_SLOTS = 63 };

// What the programs remember of a CPU.
struct cpu_state {
	uint64_t current;            // the task that came with the last switch, as an address
	uint32_t slot;               // its session
	uint32_t follower;           // the session that lost this CPU with the last switch
	uint32_t hardirqs, softirqs; // being handled right now
	uint64_t fired, fired_in;    // the timer that has expired last and the task that it met, as addresses
	uint64_t generation;         // for which these hold:
	uint64_t known[KNOWN_TASKS]; // tasks that came lately, each with its session
	int known_ids[KNOWN_TASKS];  // and with its id: another one may come to lie where it lay
};

struct cpu_states {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, uint32_t);
	__type(value, struct cpu_state);
};

extern struct task_slots task_slots SEC(".maps");
extern struct slots slots SEC(".maps");
extern struct lanes lanes SEC(".maps");
extern struct rings rings SEC(".maps");
extern struct cpu_states cpu_states SEC(".maps");

extern uint64_t task_generation; // a new one: a task that was there before has got a session

extern const volatile uint32_t cpu_count;   // possible CPUs
extern const volatile uint32_t system_slot; // the session that sees every task, or NO_SLOT
extern const volatile uint64_t boot_offset; // from CLOCK_MONOTONIC to CLOCK_BOOTTIME
extern const volatile bool preemptible;     // programs are, on this kernel

// The monotonic clock takes 30 ns to read here, bpf_ktime_get_boot_ns() 75. They
// differ by a constant, but for a suspend, whose time is then not counted.
static __always_inline uint64_t boot_time(void) {
	return bpf_ktime_get_ns() + boot_offset;
}

// ---- sessions ----

static __always_inline struct slot *slot_get(uint32_t slot) {
	uint32_t index = slot - 1;
	return bpf_map_lookup_elem(&slots, &index);
}

// The session that records what this task does, or NO_SLOT.
static __always_inline uint32_t slot_of(struct task_struct *task) {
	if (system_slot != NO_SLOT)
		return system_slot;
	uint32_t *slot = bpf_task_storage_get(&task_slots, task, 0, 0);
	return slot ? *slot : NO_SLOT;
}

static __always_inline struct cpu_state *this_cpu(void) {
	uint32_t zero = 0;
	return bpf_map_lookup_elem(&cpu_states, &zero);
}

// A number of the task's own. Of all that can be reckoned with two addresses a program may only take
// their difference.
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

// The same for a task that may have been on this CPU lately.
static __always_inline uint32_t slot_of_known(struct cpu_state *cpu, struct task_struct *task) {
	bool known;
	uint32_t slot = known_slot(cpu, task, &known);
	return system_slot == NO_SLOT && known ? slot : slot_of(task);
}

// The same for the task that runs on this CPU, which the last switch has looked up.
static __always_inline uint32_t slot_of_current(struct cpu_state *cpu, struct task_struct *task) {
	return cpu && cpu->current == (uint64_t)task ? cpu->slot : slot_of(task);
}

static __always_inline void count_loss(uint32_t slot, uint32_t source, uint64_t count) {
	struct slot *session = slot_get(slot);
	if (session && source < RECORD_SOURCE_COUNT)
		__sync_fetch_and_add(&session->lost[source], count);
}

// ---- records ----

// Takes a lane, or does not: another program on this CPU has it. Interrupts nest,
// so a plain flag will do; where programs can be preempted, only an atomic one.
static __always_inline bool lane_take(struct lane *lane) {
	if (preemptible)
		return __sync_fetch_and_add(&lane->busy, 1) == 0;
	if (*(volatile uint32_t *)&lane->busy)
		return false;
	*(volatile uint32_t *)&lane->busy = 1;
	return true;
}

static __always_inline void lane_leave(struct lane *lane, bool taken) {
	if (preemptible)
		__sync_fetch_and_add(&lane->busy, -1);
	else if (taken)
		*(volatile uint32_t *)&lane->busy = 0;
}

// Appends a record for the session: `size` bytes of it count. Its delta and size
// are filled in there. A function that the verifier looks at once, not at every
// call: inlined, it made up most of the time to load.
int emit(union any_record *record, uint32_t slot, uint64_t now, uint32_t size, uint32_t source);

#define EMIT(record, slot, member, source) emit(record, slot, boot_time(), sizeof((record)->member), source)

// The quick way of what comes most often: room in a lane that has a batch under way, to be filled in
// place and left by lane_leave(lane, true). NULL: it goes by emit().
static __always_inline void *lane_room(struct lane **lane, uint32_t slot, uint64_t now, uint32_t size,
				       uint32_t source) {
	uint32_t index = (slot - 1) * cpu_count + bpf_get_smp_processor_id();
	struct slot *session = slot_get(slot);
	struct lane *mine = bpf_map_lookup_elem(&lanes, &index);
	if (!session || !session->recording || !mine)
		return 0;
	bool taken = lane_take(mine);
	uint32_t used = mine->batch.size;
	uint64_t since = now - mine->batch.base;
	if (!taken || !used || used > LANE_RECORDS - size || since > 0xffffffff) {
		lane_leave(mine, taken);
		return 0;
	}
	struct record *record = (void *)(mine->records + used);
	record->delta = since;
	record->size = size;
	mine->batch.size = used + size;
	mine->counts[source]++;
	*lane = mine;
	return record;
}
