/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
// The maps, and the hand-over of batches to the ring.
#include "capture/bpf/emit.h"

char LICENSE[] SEC("license") = "Dual BSD/GPL";

struct task_slots task_slots SEC(".maps");
struct slots slots SEC(".maps");
struct lanes lanes SEC(".maps");
struct rings rings SEC(".maps");
struct cpu_states cpu_states SEC(".maps");
struct queues queues SEC(".maps");

uint64_t task_generation = 0;

const volatile uint32_t cpu_count = 1;
const volatile bool preemptible = true;
SESSION_VARIABLES

// Hands the lane's batch to the ring. If the ring is full, the batch is dropped and counted.
__attribute__((noinline)) int lane_flush(struct lane *lane, uint32_t slot) {
	if (!lane)
		return 0;
	uint32_t index = slot_index(slot);
	struct slot *session = slot_at(&index, slot);
	void *ring = bpf_map_lookup_elem(&rings, &index);
	uint32_t size = lane->batch.size;
	if (!session || !ring || size > LANE_RECORDS)
		return 0;
	lane->batch.cpu = bpf_get_smp_processor_id();
	lane->batch.sequence = ++lane->sequence;
	uint32_t turn = lane->sequence % RECORD_SOURCE_COUNT; // each batch reports losses for one source
	asm volatile("" : "+r"(turn)); // keeps the bounds check visible to the verifier
	if (turn >= RECORD_SOURCE_COUNT)
		return 0;
	lane->batch.lost_source = turn;
	lane->batch.lost = lane->lost[turn];
	uint64_t waiting = bpf_ringbuf_query(ring, BPF_RB_AVAIL_DATA);
	uint64_t wake = waiting >= session->wakeup_bytes ? BPF_RB_FORCE_WAKEUP : BPF_RB_NO_WAKEUP;
	if (!bpf_ringbuf_output(ring, &lane->batch, sizeof(struct batch) + size, wake)) {
		if (lane->batch.lost)
			__sync_fetch_and_add(&lane->lost[turn], -lane->batch.lost);
	} else {
		for (int source = 0; source < RECORD_SOURCE_COUNT; source++) {
			__sync_fetch_and_add(&session->lost[source], lane->counts[source]);
			__sync_fetch_and_add(&lane->lost[source], lane->counts[source]);
		}
	}
	__builtin_memset(lane->counts, 0, sizeof(lane->counts));
	lane->batch.size = 0;
	return 0;
}

// Sends one record past a busy lane, in a batch of its own.
static __always_inline void emit_alone(struct lane *lane, uint32_t slot, uint64_t now,
				       const union any_record *record, uint32_t source) {
	struct {
		struct batch batch;
		union any_record record;
	} alone = {.batch = {.base = now, .cpu = bpf_get_smp_processor_id(), .size = record->head.size}};
	uint32_t index = slot_index(slot);
	void *ring = bpf_map_lookup_elem(&rings, &index);
	if (!ring || !is_source(&source))
		return;
	alone.record = *record;
	// The loader reads only as much as the batch's size says.
	if (bpf_ringbuf_output(ring, &alone, sizeof(alone), BPF_RB_NO_WAKEUP)) {
		__sync_fetch_and_add(&lane->lost[source], 1);
		count_loss(slot, source, 1);
	}
}

__attribute__((noinline)) int emit(union any_record *record, uint32_t slot, uint64_t now, uint32_t size,
				   uint32_t source) {
	struct slot *session = slot_get(slot);
	if (!record || !session || !session->recording || source >= RECORD_SOURCE_COUNT ||
	    !(session->sources >> source & 1))
		return 0;
	uint32_t place = lane_place(slot);
	struct lane *lane = lane_at(&place, slot);
	if (!lane)
		return 0;
	record->head.size = size;
	record->head.delta = 0;
	bool taken = lane_take(lane);
	if (!taken) {
		emit_alone(lane, slot, now, record, source);
	} else {
		uint32_t used = lane->batch.size;
		uint64_t since = now - lane->batch.base;
		if (used + size > LANE_RECORDS || (used && since > 0xffffffff)) {
			lane_flush(lane, slot);
			used = 0;
		}
		if (used == 0) {
			lane->batch.base = now;
			since = 0;
		}
		record->head.delta = since;
		if (used <= LANE_RECORDS)
			*(union any_record *)(lane->records + used) = *record;
		lane->batch.size = used + size;
		if (is_source(&source))
			lane->counts[source]++;
	}
	lane_leave(lane, taken);
	return 0;
}

// Run by the loader on a given CPU, never attached: empties its lane. Returns 1 if a program is
// writing there right now.
SEC("raw_tp/flush_lane")
int flush_lane(struct bpf_raw_tracepoint_args *context) {
	uint32_t slot = context->args[0];
	uint32_t place = lane_place(slot);
	struct lane *lane = lane_at(&place, slot);
	if (!lane)
		return 0;
	bool taken = lane_take(lane);
	if (taken && lane->batch.size)
		lane_flush(lane, slot);
	lane_leave(lane, taken);
	return !taken;
}
