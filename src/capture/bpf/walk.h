/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
// A walk up a user's stack, as the programs that make them share it: sample.bpf.c has the
// way of walking, and its own walks; heap.bpf.c has others.
#pragma once

#include "capture/bpf/emit.h"
#include "capture/bpf/heap_record.h"
#include "capture/bpf/sample.h"

struct walk {
	struct batch batch;
	union {
		struct record_sample sample;
		struct heap_stack heap;
	};
	uint64_t addresses[SAMPLE_ADDRESSES];
	struct sample_copied copied;
	uint8_t copy[(SAMPLE_COPY_PAGES + 1) * SAMPLE_COPY_PAGE];
	// up to here it may go to the ring; from here on it is ours
	struct row_registers registers;
	struct kernel_row row;
	uint32_t space, file, low, high;
	uint64_t start, end; // of the mapping that was found last
	uint32_t unknown;    // code was met that the loader has not told about yet
	uint32_t exact;      // the address is where the thread was, not where a call returns to
	uint64_t bias;
	uint64_t window;      // the piece of the stack that is in `copy` begins there
	uint64_t window_room; // from there on 8 bytes can be had at any multiple of 8 below this
	uint64_t hash;        // of the addresses, where they are asked for
	uint32_t busy;        // somebody walks; as many more were turned away
};

// A sample may come in the middle of a switch: each has a walk of its own. A thread that allocates
// may be interrupted in its walk by another that does, and an event by another event: there are some
// for each CPU. (The heap and events are never watched by the same programs.)
enum {
	WALK_OF_SAMPLE,
	WALK_OF_SWITCH,
	WALK_COUNT,
	WALK_OF_HEAP = WALK_COUNT,
	WALKS_OF_HEAP = 4,
	WALK_OF_EVENT = WALK_COUNT,
	WALKS_OF_EVENT = 4
};

struct walks {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, WALK_COUNT); // more if the heap is watched, or stacks are taken at events
	__type(key, uint32_t);
	__type(value, struct walk);
};
extern struct walks walks SEC(".maps");

static __always_inline struct walk *walk_of(uint32_t which) {
	return bpf_map_lookup_elem(&walks, &which);
}

// The addresses of the current process's stack, from `pc`, where a call returns to, upwards, into
// walk->addresses; their hash into walk->hash. How many.
int walk_callers(uint64_t pc, uint64_t stack, uint64_t frame, uint32_t which);
