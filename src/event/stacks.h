// Interned frames and stacks. A stack is its innermost frame and the id of the
// stack of its caller, so that stacks with common callers share them: id 0 is
// the empty stack (the caller of the outermost frame).
#pragma once

#include "event/strings.h"

// What a symbol is, for those who tidy it up.
enum name_form {
	NAME_OF_TEXT,   // somebody's output, who may have put arguments behind it
	NAME_EXACT,     // shown as it is
	NAME_OF_SYMBOL, // from a file's symbols: "operator()" is what it is called
};

// The file was gone before it could be looked at: what its path leads to may be another.
#define BUILD_ID_LOST "lost"

enum frame_kind { FRAME_USER, FRAME_KERNEL, FRAME_INLINED, FRAME_JIT };

struct frame {
	uint64_t address;  // 0 where only a name is known
	uint32_t symbol;   // strings; 0: no name is known
	uint32_t module;   // file or module that holds the code
	uint32_t file;     // source file: its path
	uint32_t line;     // there, where the function is declared
	uint32_t offset;   // of the address in the symbol
	uint32_t kind;     // enum frame_kind
	uint64_t position; // of the address in the module's file; of a function that has no name, its first
			   // address as the file has it, or 0
	uint32_t build_id; // strings: the module's, in hexadecimal; a kernel's may be "release:6.1.0"; 0: not
			   // known; BUILD_ID_LOST
	uint32_t exact;    // enum name_form
};

struct stack {
	uint32_t frame;
	uint32_t caller; // id of a stack
};

struct stacks {
	ARRAY(struct frame) frames;
	ARRAY(struct stack) stacks;
	struct map frame_ids;
	// Ids of stacks by hash, 0: free. Eight bytes for each, and not a map's 24: there may be
	// millions, and what a lookup costs is the cache it misses.
	uint64_t *slots;
	size_t slot_count;
};

struct stacks *stacks_new(void);
void stacks_free(struct stacks *stacks);

uint32_t stacks_add_frame(struct stacks *stacks, const struct frame *frame);
uint32_t stacks_add(struct stacks *stacks, uint32_t caller, uint32_t frame); // a frame on top of a stack
// What stands for the name of a function that has none: "[libx.so+0x1130]"; to be freed.
char *frame_place(const char *module, uint64_t position);
const struct frame *stacks_frame(const struct stacks *stacks, uint32_t frame); // NULL: no such one
const struct stack *stacks_get(const struct stacks *stacks, uint32_t stack);   // NULL for the empty one
