/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
// What every program does with an event: find the task's session, append a record to that session's
// lane on this CPU, and hand a full lane to the ring.
//
// One program can interrupt another on the same CPU (say, an interrupt during a fork). The first
// one takes the lane by raising `busy` from 0; a program that finds the lane busy sends its record
// straight to the ring. The reader sorts by time, so the order of arrival does not matter.
#pragma once

#include "capture/bpf/which_session.h"

// ---- maps and settings, defined in session.bpf.c ----

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

struct cpu_states {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, uint32_t);
	__type(value, struct cpu_state);
};

// A CPU, as the programs on other CPUs see it: whether a task outside of all sessions keeps it busy, and the
// task of a session that was seen last to be ready there.
struct queue {
	uint32_t outside;
	uint32_t slot;
	uint64_t task;       // an address, or 0
	int pid;             // another task may come to lie where it lay
	uint32_t unused[11]; // on a cache line of its own
};

struct queues { // by CPU
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, uint32_t);
	__type(value, struct queue);
};

extern struct rings rings SEC(".maps");
extern struct cpu_states cpu_states SEC(".maps");
extern struct queues queues SEC(".maps");

extern const volatile bool preemptible; // this kernel can preempt our programs

// Reading the monotonic clock takes 30 ns here, bpf_ktime_get_boot_ns() 75. The two differ by a
// constant, except across a suspend, whose time is then not counted.
static __always_inline uint64_t boot_time(void) {
	return bpf_ktime_get_ns() + boot_offset;
}

// ---- sessions ----

static __always_inline struct cpu_state *this_cpu(void) {
	uint32_t zero = 0;
	return bpf_map_lookup_elem(&cpu_states, &zero);
}

// The session of a task that may have run on this CPU recently.
static __always_inline uint32_t slot_of_known(struct cpu_state *cpu, struct task_struct *task) {
	bool known;
	uint32_t slot = known_slot(cpu, task, &known);
	return system_slot == NO_SLOT && known ? slot : slot_of(task);
}

static __always_inline void count_loss(uint32_t slot, uint32_t source, uint64_t count) {
	struct slot *session = slot_get(slot);
	if (session && source < RECORD_SOURCE_COUNT)
		__sync_fetch_and_add(&session->lost[source], count);
}

// ---- records ----

// Takes the lane; false if another program on this CPU holds it. Interrupts nest, so a plain flag
// is enough; where programs can be preempted it must be atomic.
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

// Appends the first `size` bytes of a record to the session's lane, filling in its delta and size.
// Not inlined, so that the verifier checks it once and not at every call; inlined, it took most of
// the load time.
int emit(union any_record *record, uint32_t slot, uint64_t now, uint32_t size, uint32_t source);

#define EMIT(record, slot, member, source) emit(record, slot, boot_time(), sizeof((record)->member), source)

// Fast path for the most frequent records: room in a lane whose batch is already open, to be filled
// in place and released with lane_leave(lane, true). NULL means: use emit().
static __always_inline void *lane_room(struct lane **lane, uint32_t slot, uint64_t now, uint32_t size,
				       uint32_t source) {
	uint32_t place = lane_place(slot);
	struct slot *session = slot_get(slot);
	struct lane *mine = lane_at(&place, slot);
	if (!session || !session->recording || !(session->sources >> source & 1) || !mine)
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
