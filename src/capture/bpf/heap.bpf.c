/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
// What a running process allocates and frees: programs at entry and return of its allocator's
// functions. Each block goes to the ring with the id of its stack; each stack's addresses go there
// once. The reader adds up in ring order, which is the order of events: a block is recorded after
// its allocation and before it is freed.
//
// Allocator functions call each other, and only the outermost call counts. Inner calls are deeper
// in the stack or, after a tail call, at the same place.
#include "capture/bpf/walk.h"

#include <asm/ptrace.h>

const volatile uint32_t heap_process;

struct heap_call {
	uint64_t size, old;
	uint64_t stack;         // id
	uint64_t stack_pointer; // at function entry
	uint32_t function;      // enum heap_function; HEAP_CALL_NONE: it has returned
	uint32_t unused;
};

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 16384);
	__type(key, uint32_t); // thread
	__type(value, struct heap_call);
} heap_calls SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 131072);
	__type(key, uint64_t); // ids of recorded stacks
	__type(value, uint32_t);
} heap_stacks SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_RINGBUF);
	__uint(max_entries, 4096);
} heap_ring SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__type(key, uint32_t);
	__type(value, struct heap_counts);
} heap_counts SEC(".maps");

static __always_inline struct heap_counts *counts(void) {
	uint32_t zero = 0;
	return bpf_map_lookup_elem(&heap_counts, &zero);
}

#define COUNT(what)                                                                                          \
	do {                                                                                                 \
		struct heap_counts *all = counts();                                                          \
		if (all)                                                                                     \
			__sync_fetch_and_add(&all->what, 1);                                                 \
	} while (0)

// ---- stacks ----

static __always_inline void record_new_stack(struct walk *walk, uint32_t frames) {
	uint64_t id = walk->hash;
	uint32_t known = 1, flags = walk->sample.head.flags;
	if (bpf_map_lookup_elem(&heap_stacks, &id))
		return;
	walk->heap = (struct heap_stack){
		.kind = HEAP_RECORD_STACK, .frames = frames, .id = id, .flags = flags};
	uint32_t size = sizeof(walk->heap) + frames * 8;
	if (size > sizeof(walk->heap) + sizeof(walk->addresses) ||
	    bpf_ringbuf_output(&heap_ring, &walk->heap, size, BPF_RB_NO_WAKEUP))
		COUNT(lost);
	else if (bpf_map_update_elem(&heap_stacks, &id, &known, BPF_ANY))
		COUNT(crowded);
}

// The id of the caller's stack at function entry; 0 if unknown.
static __always_inline uint64_t stack_of_caller(uint64_t stack, uint64_t frame) {
	uint64_t pc = 0, id = 0;
	if (bpf_probe_read_user(&pc, sizeof(pc), (void *)stack))
		return 0;
	for (uint32_t i = 0; i < WALKS_OF_HEAP && !id; i++) {
		struct walk *walk = walk_of(WALK_OF_HEAP + i);
		if (!walk)
			return 0;
		if (__sync_fetch_and_add(&walk->busy, 1) == 0) {
			int frames = walk_callers(pc, stack + 8, frame, WALK_OF_HEAP + i);
			id = walk->hash | 1;
			walk->hash = id;
			record_new_stack(walk, frames & (SAMPLE_ADDRESSES / 2 - 1));
		}
		__sync_fetch_and_add(&walk->busy, -1);
	}
	if (!id)
		COUNT(unwalked);
	return id;
}

// ---- the allocator's functions ----

#ifdef __TARGET_ARCH_x86
#define FIRST(context)         ((context)->rdi)
#define SECOND(context)        ((context)->rsi)
#define THIRD(context)         ((context)->rdx)
#define RESULT(context)        ((context)->rax)
#define STACK_POINTER(context) ((context)->rsp)
#define FRAME_POINTER(context) ((context)->rbp)
enum { RETURN_ADDRESS_SIZE = 8 };
#else // stacks are walked on x86-64 only; the loader reports that
#define FIRST(context)         0
#define SECOND(context)        0
#define THIRD(context)         0
#define RESULT(context)        0
#define STACK_POINTER(context) 0
#define FRAME_POINTER(context) 0
enum { RETURN_ADDRESS_SIZE = 0 };
#endif

static __always_inline bool is_inside(const struct heap_call *call, uint64_t stack_pointer) {
	return call && call->function != HEAP_CALL_NONE && stack_pointer <= call->stack_pointer;
}

SEC("uprobe")
int heap_enter(struct pt_regs *context) {
	uint64_t stack_pointer = STACK_POINTER(context);
	uint32_t thread = bpf_get_current_pid_tgid();
	struct heap_call *open = bpf_map_lookup_elem(&heap_calls, &thread);
	if (is_inside(open, stack_pointer))
		return 0;
	struct heap_call call = {.stack_pointer = stack_pointer, .function = bpf_get_attach_cookie(context)};
	switch (call.function) {
	case HEAP_CALL_SIZE:
		call.size = FIRST(context);
		break;
	case HEAP_CALL_COUNT:
		call.size = FIRST(context) * SECOND(context);
		break;
	case HEAP_CALL_ALIGNED:
		call.size = SECOND(context);
		break;
	case HEAP_CALL_INTO:
		call.old = FIRST(context);
		call.size = THIRD(context);
		break;
	case HEAP_CALL_RESIZE:
		call.old = FIRST(context);
		call.size = SECOND(context);
		break;
	case HEAP_CALL_RESIZE_COUNT:
		call.old = FIRST(context);
		call.size = SECOND(context) * THIRD(context);
		break;
	}
	call.stack = stack_of_caller(stack_pointer, FRAME_POINTER(context));
	if (open)
		*open = call;
	else if (bpf_map_update_elem(&heap_calls, &thread, &call, BPF_ANY))
		COUNT(crowded);
	return 0;
}

static __always_inline void record_end(uint32_t kind, uint64_t address) {
	struct heap_free *record = bpf_ringbuf_reserve(&heap_ring, sizeof(*record), 0);
	if (!record) {
		COUNT(lost);
		return;
	}
	*record = (struct heap_free){.kind = kind, .time = bpf_ktime_get_ns(), .address = address};
	bpf_ringbuf_submit(record, BPF_RB_NO_WAKEUP);
}

static __always_inline void record_block(const struct heap_call *call, uint64_t address, bool resized) {
	struct heap_block *record = bpf_ringbuf_reserve(&heap_ring, sizeof(*record), 0);
	if (!record) {
		COUNT(lost);
		return;
	}
	*record = (struct heap_block){.kind = HEAP_RECORD_BLOCK,
				      .resized = resized,
				      .time = bpf_ktime_get_ns(),
				      .address = address,
				      .size = call->size,
				      .stack = call->stack,
				      .old = resized ? call->old : 0};
	bpf_ringbuf_submit(record, BPF_RB_NO_WAKEUP);
}

SEC("uretprobe")
int heap_leave(struct pt_regs *context) {
	uint32_t thread = bpf_get_current_pid_tgid();
	struct heap_call *open = bpf_map_lookup_elem(&heap_calls, &thread);
	if (!open || open->function == HEAP_CALL_NONE ||
	    STACK_POINTER(context) != open->stack_pointer + RETURN_ADDRESS_SIZE)
		return 0;
	struct heap_call call = *open;
	open->function = HEAP_CALL_NONE;
	uint64_t address = RESULT(context);
	bool resized = (call.function == HEAP_CALL_RESIZE || call.function == HEAP_CALL_RESIZE_COUNT) &&
		       call.old;
	if (call.function == HEAP_CALL_INTO &&
	    (address || bpf_probe_read_user(&address, sizeof(address), (void *)call.old)))
		return 0;
	if (address)
		record_block(&call, address, resized);
	else if (resized && !call.size)
		record_end(HEAP_RECORD_FREE, call.old);
	return 0;
}

SEC("uprobe")
int heap_release(struct pt_regs *context) {
	uint64_t address = FIRST(context);
	uint32_t thread = bpf_get_current_pid_tgid();
	if (address && !is_inside(bpf_map_lookup_elem(&heap_calls, &thread), STACK_POINTER(context)))
		record_end(HEAP_RECORD_FREE, address);
	return 0;
}

// All blocks are gone; what follows belongs to another program.
SEC("tp_btf/sched_process_exec")
int heap_exec(uint64_t *context) {
	if (bpf_get_current_pid_tgid() >> 32 == heap_process)
		record_end(HEAP_RECORD_EXEC, 0);
	return 0;
}
