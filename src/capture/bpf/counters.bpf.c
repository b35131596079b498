/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
// Event counters run on every CPU by themselves; they are read here whenever a task of the session
// is switched in or out, and at every tick. The difference to the previous reading belongs to the
// task that ran in between. So each slice of a thread gets its exact counts, and no extra wakeup is
// needed. Counts of other tasks are recorded with the next tick.
#include "capture/bpf/emit.h"

struct counter_events { // event * CPUs + CPU
	__uint(type, BPF_MAP_TYPE_PERF_EVENT_ARRAY);
	__uint(max_entries, 1);
	__type(key, uint32_t);
	__type(value, uint32_t);
};
struct counter_events counter_events SEC(".maps");

struct cpu_counts {
	uint64_t time; // of the last reading; 0 before the first
	uint64_t last[COUNTERS_MOST];
	uint64_t now[COUNTS_MOST];    // since then: nanoseconds, then each event
	uint64_t others[COUNTS_MOST]; // by tasks outside the session, not recorded yet
	uint64_t slice[COUNTS_MOST];  // of the current slice, recorded by ticks
	bool ticked;                  // `slice` holds something
};

struct cpu_counts_map {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, uint32_t);
	__type(value, struct cpu_counts);
};
struct cpu_counts_map cpu_counts SEC(".maps");

const volatile uint32_t counter_count = 0;
const volatile uint32_t counter_slot = NO_SLOT;
const volatile bool counter_slices = false; // record the counts of each slice

// Where events take turns on the counters, only part of the time is measured, so scale it up. The
// share is taken since the start: within a short slice an event may not have had its turn.
static __always_inline uint64_t scaled(uint64_t count, const struct bpf_perf_event_value *value) {
	enum { FRACTION = 16 };
	if (value->running == value->enabled || !value->running)
		return count;
	return count * ((value->enabled << FRACTION) / value->running) >> FRACTION;
}

// Updates `now`. Not inlined, so that the verifier checks it once.
__attribute__((noinline)) int counters_take(struct cpu_counts *counts, uint64_t time) {
	if (!counts)
		return 0;
	bool first = !counts->time;
	uint32_t cpu = bpf_get_smp_processor_id();
	counts->now[0] = first ? 0 : time - counts->time;
	counts->time = time;
	for (uint32_t i = 0; i < COUNTERS_MOST && i < counter_count; i++) {
		struct bpf_perf_event_value value = {};
		long error = bpf_perf_event_read_value(&counter_events, i * cpu_count + cpu, &value,
						       sizeof(value));
		counts->now[i + 1] = 0;
		if (error || value.counter < counts->last[i])
			continue;
		if (!first)
			counts->now[i + 1] = scaled(value.counter - counts->last[i], &value);
		counts->last[i] = value.counter;
	}
	return 0;
}

// A record holds only a few values: emit as many as needed, all with the same time.
static __always_inline void emit_counts(const uint64_t *values, uint32_t tid, uint32_t flags, uint64_t time) {
	for (uint32_t first = 0; first < COUNTS_MOST && first <= counter_count; first += COUNTS_IN_RECORD) {
		union any_record record = {};
		uint32_t left = counter_count + 1 - first;
		uint32_t count = left < COUNTS_IN_RECORD ? left : COUNTS_IN_RECORD;
		record.counts = (struct record_counts){
			.head = {.kind = RECORD_COUNTS, .flags = flags},
			.tid = tid,
			.first = first,
			.count = count,
		};
		for (uint32_t i = 0; i < COUNTS_IN_RECORD; i++)
			if (first + i < COUNTS_MOST)
				record.counts.values[i] = values[first + i];
		emit(&record, counter_slot, time, sizeof(struct record_counts), SOURCE_SAMPLE);
	}
}

static __always_inline void add_counts(uint64_t *to, const uint64_t *counts) {
	for (uint32_t i = 0; i < COUNTS_MOST && i <= counter_count; i++)
		to[i] += counts[i];
}

static __always_inline void clear_counts(uint64_t *counts) {
	for (uint32_t i = 0; i < COUNTS_MOST && i <= counter_count; i++)
		counts[i] = 0;
}

static __always_inline bool is_counted(struct task_struct *task) {
	return task->pid && slot_of(task) == counter_slot;
}

static __always_inline struct cpu_counts *counts_of_cpu(void) {
	uint32_t zero = 0;
	return bpf_map_lookup_elem(&cpu_counts, &zero);
}

// What the outgoing task counted over its whole slice, including what ticks recorded already.
static __always_inline void end_slice(struct cpu_counts *counts, uint32_t tid, uint64_t time) {
	bool whole = counter_slices && !counts->ticked;
	emit_counts(counts->now, tid, COUNTS_OF_TEST | (whole ? COUNTS_OF_SLICE : 0), time);
	if (!counter_slices || !counts->ticked)
		return;
	add_counts(counts->slice, counts->now);
	emit_counts(counts->slice, tid, COUNTS_OF_SLICE, time);
	clear_counts(counts->slice);
	counts->ticked = false;
}

SEC("tp_btf/sched_switch")
int count_switch(uint64_t *context) {
	struct task_struct *prev = (void *)context[1], *next = (void *)context[2];
	bool leaves = is_counted(prev);
	if (!leaves && !is_counted(next))
		return 0;
	struct cpu_counts *counts = counts_of_cpu();
	uint64_t time = boot_time();
	if (!counts)
		return 0;
	counters_take(counts, time);
	if (leaves)
		end_slice(counts, prev->pid, time);
	else
		add_counts(counts->others, counts->now);
	return 0;
}

SEC("perf_event")
int count_tick(struct bpf_perf_event_data *context) {
	struct task_struct *task = bpf_get_current_task_btf();
	struct cpu_counts *counts = counts_of_cpu();
	uint64_t time = boot_time(), any = 0;
	if (!counts)
		return 0;
	counters_take(counts, time);
	if (is_counted(task)) {
		emit_counts(counts->now, task->pid, COUNTS_OF_TEST, time);
		add_counts(counts->slice, counts->now);
		counts->ticked = counter_slices;
	} else {
		add_counts(counts->others, counts->now);
	}
	for (uint32_t i = 1; i < COUNTS_MOST && i <= counter_count; i++)
		any |= counts->others[i];
	if (any) {
		emit_counts(counts->others, 0, 0, time);
		clear_counts(counts->others);
	}
	return 0;
}
