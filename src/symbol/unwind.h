// Unwinding without the process: tables of how to find the caller's frame, made
// once from a file's .eh_frame and .debug_frame, and walking over a copied stack with them.
#pragma once

#include "event/symbolizer.h"

// How to get from a frame to its caller's: what the stack pointer was before the
// call (CFA), where the return address and the frame pointer are. Offsets of the
// latter two are in units of 8 bytes from the CFA.
struct unwind_row {
	uint32_t pc; // from the function's beginning
	int32_t cfa_offset;
	int16_t return_offset, frame_offset;
	uint8_t cfa;          // enum unwind_cfa
	uint8_t registers;    // UNWIND_ bits
	uint8_t cfa_register; // DWARF's number
	uint8_t unused;
};

enum unwind_cfa {
	CFA_NONE,        // no code, or none that is understood
	CFA_REGISTER,    // a register and an offset
	CFA_DEREFERENCE, // what is in memory at a register and an offset
	CFA_PLT,         // x86's: the stack pointer and 8, and 8 more from byte cfa_offset of an entry on
	CFA_SIGNAL,      // the kernel's frame for a signal handler
};

enum {
	UNWIND_OUTERMOST = 1,      // there is no caller
	UNWIND_FRAME_SAVED = 2,    // the frame pointer is at frame_offset; else it is unchanged
	UNWIND_FRAME_IN_FRAME = 4, // it is where the frame pointer points to (a realigned stack)
	UNWIND_RETURN_SAVED = 8,   // else it is in the link register
};

struct unwind_table;

// `address` is that of the section in the file's own addresses; the section stays in memory. NULL:
// there is nothing in it.
struct unwind_table *unwind_table_new(const uint8_t *eh_frame, size_t size, uint64_t address);
// The same; what .eh_frame does not cover is taken from .debug_frame. Either may be NULL.
struct unwind_table *unwind_table_of_both(const uint8_t *eh_frame, size_t size, uint64_t address,
					  const uint8_t *debug_frame, size_t debug_size);
void unwind_table_free(struct unwind_table *table);
bool unwind_row_at(struct unwind_table *table, uint64_t address,
		   struct unwind_row *row); // false: there is none
// The same without a table and without memory, for who knows at which offset of the section the
// function's entry is.
bool unwind_row_in_entry(const uint8_t *eh_frame, size_t size, uint64_t address, size_t entry, uint64_t pc,
			 struct unwind_row *row);
// Where the function at an address begins. False: there is none.
bool unwind_function_at(struct unwind_table *table, uint64_t address, uint64_t *begin);
size_t unwind_table_functions(const struct unwind_table *table);

// All rows of the file in order, with their `pc` counted from the table's base, for those who want the
// whole. Where there is no code they are CFA_NONE. They are not kept: each is told once.
typedef void unwind_take_row(void *context, const struct unwind_row *row);
void unwind_table_each_row(struct unwind_table *table, unwind_take_row *take, void *context);
uint64_t unwind_table_base(const struct unwind_table *table);

// Called once for each frame, innermost first, with the address of its code (of the call, where it
// has made one). Gives the row for it, or NULL; sets `stop` to end the walk there.
typedef const struct unwind_row *unwind_take_frame(void *context, uint64_t pc, bool *stop);

// True: the outermost function was reached.
bool unwind_stack(const struct user_state *state, unwind_take_frame *take, void *context);
