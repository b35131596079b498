// What the reader process (reader.h) is asked, and its answers: one packet each. Questions come from our own
// program and are structs of a fixed size. Answers come from a process that has read hostile files: they are
// taken apart with a cursor, and an answer that is not as it should be ends that reader.
#pragma once

#include "base/buffer.h"
#include "symbol/allocator_symbols.h"
#include "symbol/names.h"
#include "symbol/python_symbols.h"
#include "symbol/section.h"
#include "symbol/unwind.h"

enum {
	LARGEST_ANSWER = 1 << 17,
	MOST_SEGMENTS = 1024,
	ROWS_IN_ANSWER = 4096,
	EXTENTS_IN_ANSWER = 4096,
	LONGEST_WANTED = 256
};

enum question_kind {
	QUESTION_HELLO, // how far is it confined?
	QUESTION_ELF,   // opens a module: its code and symbols
	QUESTION_CODE,  // only its code
	QUESTION_JIT,   // names that a JIT compiler wrote
	QUESTION_IMAGE, // a PDB or PE file; `address`: time and size of the module (windows/image.h)
	QUESTION_VDSO,
	QUESTION_ALLOCATOR, // its functions in a file; `address`: whether that is a program
	QUESTION_PYTHON,    // its places; `address`: where in the file the mapping of its code begins
	QUESTION_CLOSE,     // not answered
	QUESTION_FUNCTIONS, // at an address
	QUESTION_INLINED,   // the same, with those that were inlined
	QUESTION_DECLARATIONS,
	QUESTION_LINES,
	QUESTION_ROW,     // how to unwind at the address
	QUESTION_EXTENTS, // where all functions are: several answers, the last one is empty
	QUESTION_ROWS,    // all of the module: several answers, the last has no rows
	QUESTION_FILE,    // the file that it wanted; `address` is where to go on, 0 if there are no more
};

struct question {
	uint32_t kind;
	uint32_t module; // a number, which the asking process gives to it
	uint64_t address;
	char build_id[BUILD_ID_TEXT]; // the module's, or ""
};

enum answer_kind {
	ANSWER_HELLO,
	ANSWER_OPENED,
	ANSWER_NAMED,
	ANSWER_ROWS,
	ANSWER_EXTENTS,
	ANSWER_WANT,
	ANSWER_ALLOCATOR,
	ANSWER_PYTHON
};

// What an answer contains depends on its kind. Pointers lead into the packet.
struct answer {
	uint32_t kind;  // enum answer_kind
	uint32_t count; // of items
	// ANSWER_HELLO: bits; ANSWER_OPENED: whether there is such a module; ANSWER_WANT: enum debug_kind;
	// ANSWER_ALLOCATOR: bits; ANSWER_PYTHON: whether there is one
	uint32_t value;
	uint64_t address;        // of ANSWER_ROWS: that of pc 0; of ANSWER_WANT: the first candidate
	struct code_range range; // of ANSWER_NAMED and ANSWER_ROWS: all addresses in it have this answer
	struct elf_object opened;
	struct elf_segment segments[MOST_SEGMENTS];
	struct named named[MOST_NAMED]; // sources are in `at`; `symbol` is not set
	struct {
		bool known;
		uint64_t address;
	} symbols[MOST_NAMED];
	struct unwind_row rows[ROWS_IN_ANSWER];
	struct code_range extents[EXTENTS_IN_ANSWER];
	const char *wanted;
	struct allocator_symbols allocator;
	struct python_symbols python;
};

// The reader's side. `out` is emptied before.
void answer_write_hello(struct buffer *out, uint32_t bits);
void answer_write_opened(struct buffer *out, const struct elf_object *object); // NULL if there is none
void answer_write_named(struct buffer *out, const struct code_range *range, const struct named *named,
			size_t count);
void answer_write_rows(struct buffer *out, const struct code_range *range, uint64_t base,
		       const struct unwind_row *rows, size_t count);
void answer_write_extents(struct buffer *out, const struct code_range *extents, size_t count);
void answer_write_want(struct buffer *out, uint32_t kind, uint64_t index, const char *text);
void answer_write_allocator(struct buffer *out, const struct allocator_symbols *symbols);
void answer_write_python(struct buffer *out, const struct python_symbols *symbols);

// The other side. False if this is not an answer.
bool answer_read(const void *packet, size_t size, struct answer *answer);
