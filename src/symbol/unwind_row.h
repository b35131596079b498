// How to find the caller of a function, from a given instruction on: one row of
// an unwind table, and the step that it describes. Included by BPF programs too,
// so that a stack is walked by the same code in the kernel and from a copy.
//
// A row is what .eh_frame says about the two registers that lead to the caller on
// x86-64, in eight bytes: the canonical frame address (CFA: the stack pointer of
// the caller before its call) and where the caller's frame pointer is.
#pragma once

#ifdef __bpf__
#include "event/record.h"
typedef _Bool unwind_bool;
#else
#include <stdbool.h>
#include <stdint.h>
typedef bool unwind_bool;
#endif

enum unwind_rule {
	UNWIND_NONE,     // nothing is known about the code from here on
	UNWIND_END,      // nobody has called this: the outermost frame
	UNWIND_STACK,    // CFA = stack pointer + cfa
	UNWIND_FRAME,    // CFA = frame pointer + cfa
	UNWIND_PLT,      // CFA = stack pointer + 8, and 8 more behind byte `cfa` of 16
	UNWIND_ALIGNED,  // CFA = what is at frame pointer + cfa; the frame pointer is at 0 there
	UNWIND_SIGNAL,   // a signal came in between: the kernel has saved the registers
	UNWIND_STRANGE,  // a rule that this table does not know
	UNWIND_RULE_COUNT
};

struct unwind_row {
	uint32_t pc;  // from the base of its file
	int16_t cfa;
	uint8_t rule; // enum unwind_rule
	int8_t frame; // where the caller's frame pointer is, from the CFA, in words of 8 bytes; 0: unchanged
};

struct unwind_registers {
	uint64_t pc, stack, frame;
};

enum unwind_result { UNWIND_STEPPED, UNWIND_FINISHED, UNWIND_BROKEN };

// `read` gets 8 bytes of the thread's memory; false: they cannot be had. It is
// inlined, so a function pointer costs nothing (and BPF accepts it).
static inline __attribute__((always_inline)) enum unwind_result
unwind_step(const struct unwind_row *row, struct unwind_registers *registers,
	    unwind_bool (*read)(void *context, uint64_t address, uint64_t *value), void *context) {
	uint64_t cfa, pc, frame = registers->frame;
	switch (row->rule) {
	case UNWIND_END:
		return UNWIND_FINISHED;
	case UNWIND_STACK:
		cfa = registers->stack + (uint64_t)(int64_t)row->cfa;
		break;
	case UNWIND_FRAME:
		cfa = registers->frame + (uint64_t)(int64_t)row->cfa;
		break;
	case UNWIND_PLT:
		cfa = registers->stack + 8 + ((registers->pc & 15) >= (uint64_t)row->cfa ? 8 : 0);
		break;
	case UNWIND_ALIGNED:
		if (!read(context, registers->frame + (uint64_t)(int64_t)row->cfa, &cfa) ||
		    !read(context, registers->frame, &frame))
			return UNWIND_BROKEN;
		break;
	case UNWIND_SIGNAL: // struct ucontext, from its 40th byte: rbp is the 10th register, rsp, rip follow
		if (!read(context, registers->stack + 120, &frame) || !read(context, registers->stack + 160, &cfa) ||
		    !read(context, registers->stack + 168, &pc))
			return UNWIND_BROKEN;
		*registers = (struct unwind_registers){.pc = pc, .stack = cfa, .frame = frame};
		return UNWIND_STEPPED;
	default:
		return UNWIND_BROKEN;
	}
	if (!read(context, cfa - 8, &pc))
		return UNWIND_BROKEN;
	if (row->frame && !read(context, cfa + (uint64_t)(int64_t)row->frame * 8, &frame))
		return UNWIND_BROKEN;
	if (cfa <= registers->stack) // callers are above
		return UNWIND_BROKEN;
	*registers = (struct unwind_registers){.pc = pc, .stack = cfa, .frame = frame};
	return UNWIND_STEPPED;
}
