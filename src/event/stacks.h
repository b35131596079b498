// Interned frames and stacks. A stack is its innermost frame and the id of its caller's
// stack, so that stacks with common callers share them. Id 0 is the empty stack (the
// caller of the outermost frame).
#pragma once

#include "event/strings.h"

// Where a symbol comes from, for code that shortens it.
enum name_form {
	NAME_OF_TEXT,   // another tool's output, which may include arguments
	NAME_EXACT,     // shown as it is
	NAME_OF_SYMBOL, // from a file's symbols: "operator()" is the whole name
};

// The file was gone before it could be read: its path may lead to another one now.
#define BUILD_ID_LOST "lost"

enum frame_kind { FRAME_USER, FRAME_KERNEL, FRAME_INLINED, FRAME_JIT };

struct frame {
	uint64_t address;  // 0 if only a name is known
	uint32_t symbol;   // strings; 0 if no name is known
	uint32_t module;   // file or module that holds the code
	uint32_t file;     // source file: its path
	uint32_t line;     // where the function is declared
	uint32_t offset;   // of the address in the symbol
	uint32_t kind;     // enum frame_kind
	uint64_t position; // of the address in the module's file; for a function without a name, its first
			   // address in the file, or 0
	uint32_t build_id; // strings: the module's, in hexadecimal; a kernel's may be "release:6.1.0"; 0 if
			   // unknown; BUILD_ID_LOST
	uint32_t exact;    // enum name_form
	uint32_t at_file;  // source of the code at the address, or of the call there; 0 if unknown. In
	uint32_t at_line;  // samples of waits, and in all if the tables have `places`: otherwise one frame
			   // stands for all code of a function
};

struct stack {
	uint32_t frame;
	uint32_t caller; // id of a stack
};

struct stacks {
	ARRAY(struct frame) frames;
	ARRAY(struct stack) stacks;
	struct map frame_ids;
	// Ids of stacks by hash, 0 if free. Eight bytes each, not a map's 24: there may be
	// millions, and cache misses dominate the cost of a lookup.
	uint64_t *slots;
	size_t slot_count;
};

struct stacks *stacks_new(void);
void stacks_free(struct stacks *stacks);

uint32_t stacks_add_frame(struct stacks *stacks, const struct frame *frame);
uint32_t stacks_add(struct stacks *stacks, uint32_t caller, uint32_t frame);  // pushes a frame on a stack
uint32_t stacks_below(struct stacks *stacks, uint32_t frame, uint32_t stack); // with a new outermost frame
// The name of a function without a symbol: "[libx.so+0x1130]"; to be freed.
char *frame_place(const char *module, uint64_t position);
const struct frame *stacks_frame(const struct stacks *stacks, uint32_t frame); // NULL if none
const struct stack *stacks_get(const struct stacks *stacks, uint32_t stack);   // NULL for the empty stack
