// Unwinds without the process: tables that say how to find the caller's frame, built once from a
// file's .eh_frame and .debug_frame, and a walk over a copied stack with them.
#pragma once

#include "event/symbolizer.h"
#include "base/code_range.h"

// How to get from a frame to its caller's: the stack pointer before the call
// (CFA), and where the return address and the frame pointer are. Offsets of the
// latter two are in units of 8 bytes from the CFA.
struct unwind_row {
	uint32_t pc; // from the start of the function
	int32_t cfa_offset;
	int16_t return_offset, frame_offset;
	uint8_t cfa;          // enum unwind_cfa
	uint8_t registers;    // UNWIND_ bits
	uint8_t cfa_register; // DWARF's number
	uint8_t unused;
};

enum unwind_cfa {
	CFA_NONE,        // no code, or not understood
	CFA_REGISTER,    // a register and an offset
	CFA_DEREFERENCE, // the value in memory at a register plus an offset
	CFA_PLT,    // for x86 PLT entries: stack pointer + 8, and 8 more from byte cfa_offset of an entry on
	CFA_SIGNAL, // the kernel's frame for a signal handler
};

enum {
	UNWIND_OUTERMOST = 1,        // there is no caller
	UNWIND_FRAME_SAVED = 2,      // the frame pointer is at frame_offset; otherwise it is unchanged
	UNWIND_FRAME_IN_FRAME = 4,   // the frame pointer is saved where it points to (a realigned stack)
	UNWIND_RETURN_SAVED = 8,     // otherwise it is in the link register
	UNWIND_RETURN_IN_FIRST = 16, // it is in the register of the first argument (x86's vfork)
};

struct unwind_table;

// `address` is the section's in the file's own addresses; the section must stay in memory. NULL if
// it is empty.
struct unwind_table *unwind_table_new(const uint8_t *eh_frame, size_t size, uint64_t address);
// The same; .debug_frame supplies what .eh_frame does not cover. Either may be NULL.
struct unwind_table *unwind_table_of_both(const uint8_t *eh_frame, size_t size, uint64_t address,
					  const uint8_t *debug_frame, size_t debug_size);
void unwind_table_free(struct unwind_table *table);
// How to unwind at an address; false if that is unknown. Narrows `range` to addresses with the same answer.
bool unwind_row_around(struct unwind_table *table, uint64_t address, struct unwind_row *row,
		       struct code_range *range);
static inline bool unwind_row_at(struct unwind_table *table, uint64_t address, struct unwind_row *row) {
	struct code_range range = CODE_RANGE_ALL;
	return unwind_row_around(table, address, row, &range);
}
// The same without a table and without allocating, for callers that know the offset of the function's entry
// in the section.
bool unwind_row_in_entry(const uint8_t *eh_frame, size_t size, uint64_t address, size_t entry, uint64_t pc,
			 struct unwind_row *row);
// Where the function at an address begins. False if there is none.
bool unwind_function_at(struct unwind_table *table, uint64_t address, uint64_t *begin);
// All of them, in order of address.
size_t unwind_table_functions(const struct unwind_table *table);
struct code_range unwind_table_function(const struct unwind_table *table, size_t index);

// Passes on all rows of the file in order, with `pc` relative to the table's base. Gaps without
// code are CFA_NONE. Rows are not kept.
typedef void unwind_take_row(void *context, const struct unwind_row *row);
void unwind_table_each_row(struct unwind_table *table, unwind_take_row *take, void *context);
uint64_t unwind_table_base(const struct unwind_table *table);

// Called once for each frame, innermost first, with the address of its code (for callers, that of
// the call). Returns the row for it, or NULL; sets `stop` to end the walk there.
typedef const struct unwind_row *unwind_take_frame(void *context, uint64_t pc, bool *stop);

// Returns true if the outermost function was reached.
bool unwind_stack(const struct user_state *state, unwind_take_frame *take, void *context);
