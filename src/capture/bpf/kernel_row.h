// How to find a function's caller, from a given instruction on: one row of an unwind table in the
// kernel's form, and the step it describes. It packs the 16 bytes of symbol/unwind.h into eight,
// enough for the two registers that lead to the caller on x86-64. The CFA is the caller's stack
// pointer before the call.
#pragma once

#include "format/record.h"

enum row_rule {
	ROW_NONE,    // no unwind information from here on, or a rule that this table cannot express
	ROW_END,     // the outermost frame: it has no caller
	ROW_STACK,   // CFA = stack pointer + cfa
	ROW_FRAME,   // CFA = frame pointer + cfa
	ROW_PLT,     // CFA = stack pointer + 8, plus 8 after byte `cfa` of 16
	ROW_ALIGNED, // CFA = value at frame pointer + cfa; the saved frame pointer is at offset 0
	ROW_SIGNAL,  // a signal frame: the kernel saved the registers
	ROW_FIRST, // CFA = stack pointer + cfa; the first argument's register has the return address (vfork)
	ROW_RULE_COUNT
};

enum { ROW_RULE_BITS = 3 }; // for all of them

struct kernel_row {
	uint32_t pc;  // relative to the file's base
	int16_t cfa;  // in words of 8 bytes; for ROW_PLT, in bytes
	int8_t rule;  // enum row_rule; the bits above it are the upper ones of `cfa`: frames are below 8 MB
	int8_t frame; // caller's frame pointer, from the CFA, in words of 8 bytes; 0 if unchanged
};

// The frame pointer is rarely needed, so it is read on demand; until then we remember where a
// function saved it.
struct row_registers {
	uint64_t pc, stack, frame;
	uint64_t frame_at; // where it is saved; 0 if `frame` holds the value
	uint64_t first;    // the first argument's register, of the innermost function only; 0 if unknown
};

static inline __attribute__((always_inline)) enum row_rule row_rule(const struct kernel_row *row) {
	return (enum row_rule)(row->rule & ((1 << ROW_RULE_BITS) - 1));
}

static inline __attribute__((always_inline)) int64_t row_cfa(const struct kernel_row *row) {
	return row->cfa + (int64_t)(row->rule >> ROW_RULE_BITS) * 65536;
}

// False: it is too large.
static inline _Bool row_set(struct kernel_row *row, enum row_rule rule, int64_t cfa) {
	int64_t upper = (cfa - (int16_t)cfa) / 65536;
	row->cfa = (int16_t)cfa;
	row->rule = (int8_t)(upper * (1 << ROW_RULE_BITS) + rule);
	return row_cfa(row) == cfa;
}

enum row_result { ROW_STEPPED, ROW_FINISHED, ROW_BROKEN };

// Reads 8 bytes of the thread's memory; false if they cannot be read. It gets inlined, so the
// function pointer costs nothing (and BPF accepts it).
typedef _Bool row_read(void *context, uint64_t address, uint64_t *value);

static inline __attribute__((always_inline)) _Bool row_fetch_frame(struct row_registers *registers,
								   row_read *read, void *context) {
	uint64_t at = registers->frame_at;
	registers->frame_at = 0;
	return !at || read(context, at, &registers->frame);
}

static inline __attribute__((always_inline)) enum row_result
row_step(const struct kernel_row *row, struct row_registers *registers, row_read *read, void *context) {
	uint64_t cfa, pc, frame, offset = (uint64_t)row_cfa(row) * 8;
	switch (row_rule(row)) {
	case ROW_END:
		return ROW_FINISHED;
	case ROW_STACK:
		cfa = registers->stack + offset;
		break;
	case ROW_FRAME:
		if (!row_fetch_frame(registers, read, context))
			return ROW_BROKEN;
		cfa = registers->frame + offset;
		break;
	case ROW_FIRST:
		pc = registers->first;
		*registers = (struct row_registers){
			.pc = pc, .stack = registers->stack + offset, .frame = registers->frame};
		return pc ? ROW_STEPPED : ROW_BROKEN;
	case ROW_PLT:
		cfa = registers->stack + 8 + ((registers->pc & 15) >= (uint64_t)row->cfa ? 8 : 0);
		break;
	case ROW_ALIGNED:
		if (!row_fetch_frame(registers, read, context) ||
		    !read(context, registers->frame + offset, &cfa))
			return ROW_BROKEN;
		registers->frame_at = registers->frame;
		break;
	case ROW_SIGNAL: // struct ucontext from byte 40 on: rbp is the 10th register, then rsp and rip
		if (!read(context, registers->stack + 120, &frame) ||
		    !read(context, registers->stack + 160, &cfa) ||
		    !read(context, registers->stack + 168, &pc))
			return ROW_BROKEN;
		*registers = (struct row_registers){.pc = pc, .stack = cfa, .frame = frame};
		return ROW_STEPPED;
	default:
		return ROW_BROKEN;
	}
	if (cfa <= registers->stack || !read(context, cfa - 8, &pc)) // callers lie above
		return ROW_BROKEN;
	if (row->frame)
		registers->frame_at = cfa + (uint64_t)(int64_t)row->frame * 8;
	registers->pc = pc;
	registers->stack = cfa;
	registers->first = 0;
	return ROW_STEPPED;
}
