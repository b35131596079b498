// The door between readers, which know addresses, and the room `symbol`, which
// knows names: a reader that has one in its tables asks it, and needs not know
// who answers.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct frame;
struct tables;

// The part of a process that a sample copied: its registers and the top of its
// stack, to be unwound without the process.
struct user_state {
	enum { MACHINE_UNKNOWN, MACHINE_X86_64, MACHINE_ARM64 } machine;
	uint64_t registers[33]; // by perf's numbers of the machine
	uint64_t valid;         // a bit for each register that is there
	const uint8_t *stack;
	size_t stack_size; // begins at the stack pointer
	// The code at an address of this process: module, build id and position. False: there is none.
	bool (*find)(void *context, uint64_t address, struct frame *frame);
	void *context;
};

struct symbolizer {
	// The frames of code at frame->position of frame->module (frame->address for the kernel): inlined
	// ones first, then the function itself. They are put into `tables`, their ids into `ids`, at most
	// `room`, at least one. Returns how many.
	size_t (*resolve)(struct symbolizer *symbolizer, struct tables *tables, const struct frame *frame,
			  uint32_t *ids, size_t room);
	// The frames of a copied stack, innermost first, as resolve() gives them. Returns how many;
	// `complete` tells whether the outermost function was reached.
	size_t (*unwind)(struct symbolizer *symbolizer, struct tables *tables, const struct user_state *state,
			 uint32_t *ids, size_t room, bool *complete);
	// A name as a programmer wrote it, to be freed; NULL: it is that already.
	char *(*demangle)(const char *name);
	void (*destroy)(struct symbolizer *symbolizer);
};
