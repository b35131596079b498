// The interface between readers, which have addresses, and src/symbol, which knows names.
// A reader uses the symbolizer in its tables, if there is one, without depending on
// src/symbol.
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
	uint64_t registers[33]; // by perf's register numbers
	uint64_t valid;         // one bit for each valid register
	const uint8_t *stack;
	size_t stack_size; // begins at the stack pointer
	uint64_t top;      // about where the thread's stack begins; 0 if unknown
	bool *beyond;      // set if the walk leaves the copied part; may be NULL
	// Finds the code at an address of this process: module, build id and position. False if none.
	bool (*find)(void *context, uint64_t address, struct frame *frame);
	void *context;
};

// A module of Windows, and what identifies its build.
struct windows_image {
	const char *name;    // "ntdll.dll"
	const char *symbols; // of its PDB file, possibly a path of another machine; NULL if unknown
	char id[41];         // of that file: GUID and age in small letters; "" if unknown
	uint32_t time, size; // of the module; time is 0 if unknown
};

struct symbolizer {
	bool lines; // set by the caller: frames have at_file and at_line, where tables have details; with
		    // `places` in the tables they always do
	// The frames for the code at frame->position of frame->module (frame->address for the kernel):
	// inlined ones first, then the function itself. Adds them to `tables` and their ids to `ids`, at
	// most `room`, at least one. Returns their number.
	size_t (*resolve)(struct symbolizer *symbolizer, struct tables *tables, const struct frame *frame,
			  uint32_t *ids, size_t room);
	// The same for the code at frame->position from the start of a module of Windows. 0 if no name is
	// known.
	size_t (*resolve_image)(struct symbolizer *symbolizer, struct tables *tables,
				const struct frame *frame, const struct windows_image *image, uint32_t *ids,
				size_t room);
	// The frames of a copied stack, innermost first, as from resolve(). Returns their number;
	// `complete` says whether the outermost function was reached.
	size_t (*unwind)(struct symbolizer *symbolizer, struct tables *tables, const struct user_state *state,
			 uint32_t *ids, size_t room, bool *complete);
	// A demangled name, to be freed; NULL if it was not mangled.
	char *(*demangle)(const char *name);
	void (*destroy)(struct symbolizer *symbolizer);
};
