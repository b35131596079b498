// How to find the caller of a function, from a given instruction on: one row of
// an unwind table as the kernel has it, and the step that it describes. It is what
// symbol/unwind.h has in 16 bytes, in eight: enough for the two registers that lead
// to the caller on x86-64. The CFA is the stack pointer of the caller before its call.
#pragma once

#include "event/record.h"

enum row_rule {
	ROW_NONE,    // nothing is known about the code from here on
	ROW_END,     // nobody has called this: the outermost frame
	ROW_STACK,   // CFA = stack pointer + cfa
	ROW_FRAME,   // CFA = frame pointer + cfa
	ROW_PLT,     // CFA = stack pointer + 8, and 8 more behind byte `cfa` of 16
	ROW_ALIGNED, // CFA = what is at frame pointer + cfa; the frame pointer is at 0 there
	ROW_SIGNAL,  // a signal came in between: the kernel has saved the registers
	ROW_STRANGE, // a rule that this table does not know
	ROW_RULE_COUNT
};

struct kernel_row {
	uint32_t pc;  // from the base of its file
	int16_t cfa;  // in words of 8 bytes; of a PLT, in bytes
	uint8_t rule; // enum row_rule
	int8_t frame; // where the caller's frame pointer is, from the CFA, in words of 8 bytes; 0: unchanged
};

// The frame pointer is fetched when it is needed, which is seldom: until then it is where a function
// has saved it.
struct row_registers {
	uint64_t pc, stack, frame;
	uint64_t frame_at; // 0: `frame` is it
};

enum row_result { ROW_STEPPED, ROW_FINISHED, ROW_BROKEN };

// `read` gets 8 bytes of the thread's memory; false: they cannot be had. It is
// inlined, so a function pointer costs nothing (and BPF accepts it).
typedef _Bool row_read(void *context, uint64_t address, uint64_t *value);

static inline __attribute__((always_inline)) _Bool row_fetch_frame(struct row_registers *registers,
								   row_read *read, void *context) {
	uint64_t at = registers->frame_at;
	registers->frame_at = 0;
	return !at || read(context, at, &registers->frame);
}

static inline __attribute__((always_inline)) enum row_result
row_step(const struct kernel_row *row, struct row_registers *registers, row_read *read, void *context) {
	uint64_t cfa, pc, frame;
	switch (row->rule) {
	case ROW_END:
		return ROW_FINISHED;
	case ROW_STACK:
		cfa = registers->stack + (uint64_t)(int64_t)row->cfa * 8;
		break;
	case ROW_FRAME:
		if (!row_fetch_frame(registers, read, context))
			return ROW_BROKEN;
		cfa = registers->frame + (uint64_t)(int64_t)row->cfa * 8;
		break;
	case ROW_PLT:
		cfa = registers->stack + 8 + ((registers->pc & 15) >= (uint64_t)row->cfa ? 8 : 0);
		break;
	case ROW_ALIGNED:
		if (!row_fetch_frame(registers, read, context) ||
		    !read(context, registers->frame + (uint64_t)(int64_t)row->cfa * 8, &cfa))
			return ROW_BROKEN;
		registers->frame_at = registers->frame;
		break;
	case ROW_SIGNAL: // struct ucontext, from its 40th byte: rbp is the 10th register, rsp, rip follow
		if (!read(context, registers->stack + 120, &frame) ||
		    !read(context, registers->stack + 160, &cfa) ||
		    !read(context, registers->stack + 168, &pc))
			return ROW_BROKEN;
		*registers = (struct row_registers){.pc = pc, .stack = cfa, .frame = frame};
		return ROW_STEPPED;
	default:
		return ROW_BROKEN;
	}
	if (cfa <= registers->stack || !read(context, cfa - 8, &pc)) // callers are above
		return ROW_BROKEN;
	if (row->frame)
		registers->frame_at = cfa + (uint64_t)(int64_t)row->frame * 8;
	registers->pc = pc;
	registers->stack = cfa;
	return ROW_STEPPED;
}
