/* SPDX-License-Identifier: BSD-2-Clause OR GPL-2.0 */
// Where a thread is in user code, and a copy of its stack from there on: for stacks that are walked later, by
// the reader. sample.bpf.c copies what it cannot walk, stacks.bpf.c (the collector's) everything.
#pragma once

#include "capture/bpf/walk.h"

#include <asm/ptrace.h>
#include <linux/bpf_perf_event.h>

enum { IS_EXITING = 0x00000004, IS_KERNEL_THREAD = 0x00200000 };

extern const volatile bool sample_cycles; // samples come in NMIs

struct pt_regs___kernel {
	unsigned long ip, sp, bp, di, orig_ax;
} KERNEL_TYPE;

// The thread's user registers when it entered the kernel; pc 0 if it has none.
static __always_inline struct row_registers saved_registers(struct task_struct *task) {
	struct row_registers registers = {};
#ifdef __TARGET_ARCH_x86
	if (task->flags & (IS_KERNEL_THREAD | IS_EXITING)) // has no user memory, or no longer
		return registers;
	struct pt_regs___kernel *saved = (void *)bpf_task_pt_regs(task);
	registers.pc = BPF_CORE_READ(saved, ip);
	registers.stack = BPF_CORE_READ(saved, sp);
	registers.frame = BPF_CORE_READ(saved, bp);
	registers.first = BPF_CORE_READ(saved, di);
#endif
	return registers;
}

static __always_inline bool was_in_kernel(struct bpf_perf_event_data *context) {
#ifdef __TARGET_ARCH_x86
	return (context->regs.cs & 3) != 3;
#else
	return true; // it may have been; we cannot tell
#endif
}

// The same, for a thread that may not be in the kernel.
static __always_inline struct row_registers user_registers(struct bpf_perf_event_data *context,
							   struct task_struct *task) {
#ifdef __TARGET_ARCH_x86
	if (!was_in_kernel(context))
		return (struct row_registers){.pc = context->regs.rip,
					      .stack = context->regs.rsp,
					      .frame = context->regs.rbp,
					      .first = context->regs.rdi};
#endif
	return saved_registers(task);
}

// Where the stack of a thread begins, about: of the first one the kernel knows it, of the others it is below
// what belongs to the thread in the C library.
static __always_inline uint64_t top_of_stack(struct task_struct *task) {
#ifdef __TARGET_ARCH_x86
	if (task->pid != task->tgid)
		return BPF_CORE_READ(task, thread.fsbase);
#endif
	return BPF_CORE_READ(task, mm, start_stack);
}

// Copies the top of the stack, page by page as far as it is readable, and not beyond where it begins. Returns
// the size.
static __always_inline uint32_t copy_stack(struct walk *walk, uint64_t stack, uint64_t top) {
	uint32_t size = 0;
	for (int page = 0; page < COPY_PAGES; page++) {
		uint64_t piece = SAMPLE_COPY_PAGE - ((stack + size) & (SAMPLE_COPY_PAGE - 1));
		uint64_t left = top - (stack + size);
		if (left < piece)
			piece = left;
		asm volatile("" : "+r"(piece)); // keeps the bounds check visible to older verifiers
		if (size > COPY_PAGES * SAMPLE_COPY_PAGE || piece > SAMPLE_COPY_PAGE ||
		    bpf_probe_read_user(walk->copy + size, piece, (void *)(stack + size)))
			break;
		size += piece;
	}
	return size;
}

// For a moment, files and processes are new to the loader. A stack that could not be walked for
// that reason is sent as a copy. Returns the size of the record.
static __always_inline uint32_t add_copy(struct walk *walk, const struct row_registers *begin, uint64_t top) {
	uint32_t size = copy_stack(walk, begin->stack, top);
	walk->copied = (struct sample_copied){.pc = begin->pc,
					      .stack = begin->stack,
					      .frame = begin->frame,
					      .first = begin->first,
					      .top = top,
					      .size = size};
	walk->sample.head.flags |= SAMPLE_STACK_COPIED;
	return sizeof(walk->sample) + sizeof(walk->addresses) + sizeof(walk->copied) + ((size + 7) & ~7u);
}

// In an NMI (from a PMU) the ring may be locked by another CPU, which will soon release it.
static __always_inline bool put_into_ring(void *ring, struct walk *walk, uint32_t size, bool wake) {
	enum { TRIES = 64 };
	if (size > __builtin_offsetof(struct walk, registers))
		return false;
	uint64_t flags = wake ? BPF_RB_FORCE_WAKEUP : BPF_RB_NO_WAKEUP;
	for (int i = 0; i < (sample_cycles ? TRIES : 1); i++)
		if (!bpf_ringbuf_output(ring, walk, size, flags))
			return true;
	return false;
}
