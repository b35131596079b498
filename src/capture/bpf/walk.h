/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
// A walk up a user stack, shared by the programs that need one: sample.bpf.c implements walking and
// has walks of its own; heap.bpf.c has others.
#pragma once

#include "capture/bpf/emit.h"
#include "capture/bpf/heap_record.h"
#include "capture/bpf/sample.h"

#ifdef TRACELET_COLLECTOR
enum { COPY_PAGES = COLLECTOR_COPY_PAGES };
#else
enum { COPY_PAGES = SAMPLE_COPY_PAGES };
#endif

struct walk {
	struct batch batch;
	union {
		struct record_sample sample;
		struct heap_stack heap;
	};
	uint64_t addresses[SAMPLE_ADDRESSES];
	struct sample_copied copied;
	uint8_t copy[(COPY_PAGES + 1) * SAMPLE_COPY_PAGE];
	// everything above may go to the ring; the rest is private
	struct row_registers registers;
	struct kernel_row row;
	uint32_t space, file, low, high;
	uint64_t start, end; // of the last mapping found
	uint32_t unknown;    // met code that the loader has not described yet
	uint32_t exact;      // the address is where the thread was, not a return address
	uint64_t bias;
	uint64_t window;      // stack address at which the piece in `copy` starts
	uint64_t window_room; // 8 bytes can be read at every multiple of 8 from there to below this
	uint64_t hash;        // of the addresses, when requested
	uint32_t busy;        // walks that use this or just tried to; free at 0
};

// A sample may arrive in the middle of a switch, so each has its own walk. A walk for the heap may
// be interrupted by another thread that allocates, and an event by another event, so each CPU has
// several of these. (Heap and event programs are never used together.)
enum {
	WALK_OF_SAMPLE,
	WALK_OF_SWITCH,
	WALK_COUNT,
	WALK_OF_HEAP = WALK_COUNT,
	WALKS_OF_HEAP = 4,
	WALK_OF_EVENT = WALK_COUNT,
	WALKS_OF_EVENT = 4
};

// Memory of a CPU's own is limited to 32 kB for each element, and the collector copies more.
struct walks {
#ifdef TRACELET_COLLECTOR
	__uint(type, BPF_MAP_TYPE_ARRAY);
#else
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
#endif
	__uint(max_entries, WALK_COUNT); // more when recording the heap or stacks at events; or for all CPUs
	__type(key, uint32_t);
	__type(value, struct walk);
};
extern struct walks walks SEC(".maps");

static __always_inline struct walk *walk_of(uint32_t which) {
#ifdef TRACELET_COLLECTOR
	which += bpf_get_smp_processor_id() * WALK_COUNT;
#endif
	return bpf_map_lookup_elem(&walks, &which);
}

// Walks the current process's stack upwards from `pc`, a return address, into walk->addresses, and
// sets walk->hash to their hash. Returns the number of addresses.
int walk_callers(uint64_t pc, uint64_t stack, uint64_t frame, uint32_t which);
