// Walks a copied stack from frame to frame. Without unwind information (JIT code), tries the frame
// pointer and trusts it if it leads to code.
#include "symbol/unwind.h"

#include "event/stacks.h"

#include <string.h>

// Register numbers of perf, and of DWARF.
enum {
	PERF_X86_BP = 6,
	PERF_X86_SP = 7,
	PERF_X86_IP = 8,
	PERF_ARM_FP = 29,
	PERF_ARM_LR = 30,
	PERF_ARM_SP = 31,
	PERF_ARM_PC = 32
};
enum { DWARF_X86_FIRST = 5 };
static const uint8_t perf_of_dwarf_x86[16] = {0, 3, 2, 1, 4, 5, 6, 7, 16, 17, 18, 19, 20, 21, 22, 23};

struct walk {
	const struct user_state *state;
	bool arm;
	uint64_t pc, sp, fp, lr;
	uint64_t stack_begin;
	unsigned depth;
	bool after_signal; // the address does not follow a call
};

static bool read_stack(const struct walk *walk, uint64_t address, uint64_t *value) {
	uint64_t at = address - walk->stack_begin;
	bool beyond = at > walk->state->stack_size || walk->state->stack_size - at < 8;
	if (beyond && address >= walk->stack_begin && walk->state->beyond)
		*walk->state->beyond = true;
	if (address < walk->stack_begin || beyond)
		return false;
	memcpy(value, walk->state->stack + at, 8);
	return true;
}

// A register by its DWARF number; for callers only stack and frame pointer are known.
static bool register_value(const struct walk *walk, uint8_t number, uint64_t *value) {
	if (number == (walk->arm ? PERF_ARM_SP : 7))
		*value = walk->sp;
	else if (number == (walk->arm ? PERF_ARM_FP : 6))
		*value = walk->fp;
	else {
		unsigned perf = walk->arm ? number : number < 16 ? perf_of_dwarf_x86[number] : 64;
		if (walk->depth || perf >= 33 || !(walk->state->valid >> perf & 1))
			return false;
		*value = walk->state->registers[perf];
	}
	return true;
}

// The kernel's struct rt_sigframe on x86-64: its registers begin 40 bytes above the stack pointer.
static bool step_signal(struct walk *walk) {
	uint64_t sp = walk->sp;
	walk->after_signal = true;
	return read_stack(walk, sp + 168, &walk->pc) && read_stack(walk, sp + 120, &walk->fp) &&
	       read_stack(walk, sp + 160, &walk->sp);
}

static bool find_cfa(const struct walk *walk, const struct unwind_row *row, uint64_t *cfa) {
	uint64_t base;
	switch (row->cfa) {
	case CFA_REGISTER:
		if (!register_value(walk, row->cfa_register, &base))
			return false;
		*cfa = base + (uint64_t)(int64_t)row->cfa_offset;
		return true;
	case CFA_DEREFERENCE:
		return register_value(walk, row->cfa_register, &base) &&
		       read_stack(walk, base + (uint64_t)(int64_t)row->cfa_offset, cfa);
	case CFA_PLT:
		*cfa = walk->sp + 8 + ((int32_t)(walk->pc & 15) >= row->cfa_offset ? 8 : 0);
		return true;
	default:
		return false;
	}
}

// arm64 may sign return addresses in their upper bits.
static uint64_t strip(const struct walk *walk, uint64_t address) {
	return walk->arm ? address & ((UINT64_C(1) << 48) - 1) : address;
}

static bool step_row(struct walk *walk, const struct unwind_row *row) {
	uint64_t cfa, fp = walk->fp, pc;
	if (row->cfa == CFA_SIGNAL)
		return step_signal(walk);
	if (!find_cfa(walk, row, &cfa))
		return false;
	if (row->registers & UNWIND_RETURN_SAVED) {
		if (!read_stack(walk, cfa + (uint64_t)(row->return_offset * 8), &pc))
			return false;
	} else if (row->registers & UNWIND_RETURN_IN_FIRST) {
		if (!register_value(walk, DWARF_X86_FIRST, &pc))
			return false;
	} else {
		// Only a leaf function still has its return address in the link register.
		if (!walk->arm || walk->depth)
			return false;
		pc = walk->lr;
	}
	if (row->registers & UNWIND_FRAME_SAVED)
		read_stack(walk, cfa + (uint64_t)(row->frame_offset * 8), &fp);
	else if (row->registers & UNWIND_FRAME_IN_FRAME)
		read_stack(walk, walk->fp, &fp);
	if (cfa < walk->sp || (cfa == walk->sp && pc == walk->pc))
		return false; // stacks shrink towards the outermost frame
	walk->pc = strip(walk, pc);
	walk->sp = cfa;
	walk->fp = fp;
	walk->after_signal = false;
	return true;
}

static bool step_frame_pointer(struct walk *walk) {
	uint64_t fp, pc;
	struct frame frame;
	if (walk->fp < walk->sp || walk->fp % 8 || !read_stack(walk, walk->fp, &fp) ||
	    !read_stack(walk, walk->fp + 8, &pc))
		return false;
	pc = strip(walk, pc);
	if (pc && !walk->state->find(walk->state->context, pc - 1, &frame))
		return false;
	walk->sp = walk->fp + 16;
	walk->fp = fp;
	walk->pc = pc;
	walk->after_signal = false;
	return true;
}

static bool begin(struct walk *walk, const struct user_state *state) {
	bool arm = state->machine == MACHINE_ARM64;
	unsigned pc = arm ? PERF_ARM_PC : PERF_X86_IP, sp = arm ? PERF_ARM_SP : PERF_X86_SP;
	*walk = (struct walk){.state = state, .arm = arm};
	if (state->machine == MACHINE_UNKNOWN || !(state->valid >> pc & 1) || !(state->valid >> sp & 1))
		return false;
	walk->pc = state->registers[pc];
	walk->sp = walk->stack_begin = state->registers[sp];
	walk->fp = state->registers[arm ? PERF_ARM_FP : PERF_X86_BP];
	walk->lr = arm ? state->registers[PERF_ARM_LR] : 0;
	return true;
}

// Startup code of a C library may have no unwind information.
static bool is_at_top(const struct walk *walk) {
	enum { STARTUP_CODE = 512 };
	return walk->state->top && walk->depth && walk->state->top - walk->sp <= STARTUP_CODE;
}

bool unwind_stack(const struct user_state *state, unwind_take_frame *take, void *context) {
	struct walk walk;
	if (!begin(&walk, state))
		return false;
	for (bool stop = false;;) {
		const struct unwind_row *row = take(context, walk.pc - (walk.depth > 0 && !walk.after_signal),
						    &stop);
		if (row && row->registers & UNWIND_OUTERMOST)
			return true;
		if (stop)
			return false;
		if (!(row ? step_row(&walk, row) : step_frame_pointer(&walk)))
			return is_at_top(&walk);
		walk.depth++;
		if (!walk.pc)
			return true;
	}
}
