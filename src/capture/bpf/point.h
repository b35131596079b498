/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
// Shared by the programs for points (format/point_table.h): a program begins a record, fills in its
// values and ends it. The table gives its length and the source it counts for.
#pragma once

#include "capture/bpf/emit.h"

static __always_inline uint32_t slot_here(void) {
	return slot_of_current(this_cpu(), bpf_get_current_task_btf());
}

// A raw argument: some kernels do not let programs load pointers to functions or to const void.
static __always_inline uint64_t argument(uint64_t *context, int place) {
	uint64_t value = 0;
	bpf_probe_read_kernel(&value, sizeof(value), &context[place]);
	return value;
}

static __always_inline union any_record begin(enum point_number point) {
	struct task_struct *task = bpf_get_current_task_btf();
	union any_record record = {};
	record.point.head.kind = RECORD_POINT;
	record.point.tid = task->pid;
	record.point.point = point;
	return record;
}

// What the table says about a point. The compiler evaluates this; nothing is left at run time.
static __always_inline uint32_t size_of(enum point_number point) {
	enum { EMPTY = sizeof(struct record_point) - POINT_VALUES * 8 };
	switch (point) {
#define POINT(NUMBER, program, group, name, source, values, message, ...)                                    \
	case POINT_##NUMBER:                                                                                 \
		return EMPTY + values * 8;
#include "format/point_table.h"
#undef POINT
	default:
		return 0;
	}
}

static __always_inline uint32_t source_of(enum point_number point) {
	switch (point) {
#define POINT(NUMBER, program, group, name, source, values, message, ...)                                    \
	case POINT_##NUMBER:                                                                                 \
		return SOURCE_##source;
#include "format/point_table.h"
#undef POINT
	default:
		return RECORD_SOURCE_COUNT;
	}
}

static __always_inline int end(union any_record *record, uint32_t slot, enum point_number point) {
	return emit(record, slot, boot_time(), size_of(point), source_of(point));
}

// Reads a tracepoint field at the offset given by tracefs; offset 0 if this kernel lacks the field.
static __always_inline uint64_t field_of(void *context, uint32_t offset, uint32_t size) {
	uint64_t value = 0;
	if (offset)
		bpf_probe_read_kernel(&value, size, context + offset);
	return value;
}

// ---- owners ----

// What a test starts often finishes elsewhere: a timer fires while its CPU is idle, a worker runs
// the work, a disk answers during an unrelated task's interrupt. So the owner of such an object is
// stored by its address until it is done.
struct owners {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 16384);
	__type(key, uint64_t);
	__type(value, uint32_t);
};

extern struct owners owners SEC(".maps"); // in block.bpf.c

static __always_inline void own(void *thing, uint32_t slot) {
	uint64_t key = (uint64_t)thing;
	if (system_slot == NO_SLOT)
		bpf_map_update_elem(&owners, &key, &slot, BPF_ANY);
}

static __always_inline uint32_t owner_of(void *thing) {
	uint64_t key = (uint64_t)thing;
	if (system_slot != NO_SLOT)
		return system_slot;
	uint32_t *slot = bpf_map_lookup_elem(&owners, &key);
	return slot ? *slot : NO_SLOT;
}

static __always_inline uint32_t disown(void *thing) {
	uint64_t key = (uint64_t)thing;
	uint32_t slot = owner_of(thing);
	if (slot != NO_SLOT && system_slot == NO_SLOT)
		bpf_map_delete_elem(&owners, &key);
	return slot;
}
