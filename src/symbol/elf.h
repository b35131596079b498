// The symbols of an ELF file, by the position of code in the file.
#pragma once

#include "base/code_range.h"
#include "base/map.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct elf_symbol {
	uint64_t address, size; // in the file's own addresses
	const char *name;       // as in the file; valid as long as the object
	uint32_t frame;         // for callers that keep frames: id + 1
	uint8_t rank;           // at the same address, the highest rank wins
	bool stub;              // calls the function of this name in another file
};

struct elf_segment {
	uint64_t offset, size, address;
	bool executable;
};

struct unwind_table;
struct named;

enum { ELF_ENTRY_SIZE = 48 }; // a program's entry code is not longer than this

struct elf_object {
	struct elf_symbol *symbols; // sorted by address, without overlapping starts
	size_t symbol_count;
	struct elf_segment *segments; // the loaded segments
	size_t segment_count;
	const uint8_t *eh_frame; // the section; NULL if missing, and so is .debug_frame
	size_t eh_frame_size;
	uint64_t eh_frame_address;
	uint64_t entry;   // a program's entry point
	uint16_t machine; // EM_
	char build_id[41];
	struct unwind_table *unwind; // built when first needed
	bool unwind_tried;
	struct inlined_table *inlined; // the same
	bool inlined_tried;
	bool absolute;    // the addresses are those of the process
	char *text;       // names that do not come from an ELF file
	void *handles[2]; // Elf of the file and of its debug file
	int files[2];
	char *path;                 // the file's path, if it was opened by path
	struct namer_module *known; // by the namer; NULL if this is the file itself
	bool debug_tried;           // whether a debug file has been searched for
	void *inside;               // Elf of the symbols compressed in the file
	void *inside_memory;
	size_t made_size;
	struct pdb *pdb; // of a module of Windows (windows/image.h), whose addresses count from its start
	// Finds functions in place of `symbols`, as image_functions(); or NULL.
	size_t (*functions)(struct elf_object *object, uint64_t address, bool inlined, struct named *found,
			    struct code_range *range);
	void (*release)(struct elf_object *object); // frees what is not ELF's; or NULL
	const uint8_t *image;                       // the file of such a module, mapped
	size_t image_size;
	struct map asked;     // of image.c
	uint8_t *made_frames; // what .debug_frame would be, made of another table; NULL if not needed
};

// `build_id` (hexadecimal) must match; "" matches any. Looks at `path`, and for the symbols of a stripped
// file where debuggers look (debug_file.h). NULL if there is no such file here.
struct elf_object *elf_open(const char *path, const char *build_id);
// The same for a file that is held open, because its path may now name another file; -1 if it is
// not held.
struct elf_object *elf_open_held(const char *path, const char *build_id, int held);
// The same for a descriptor, which it takes over; negative if there is none, and only the build id is known.
struct elf_object *elf_open_file(int file, const char *path, const char *build_id);
// Opens the file for that. A descriptor, or negative if there is no such ELF file.
int elf_find_file(const char *path, int held);
struct elf_object *elf_open_memory(const void *bytes, size_t size); // an image in memory: the vdso
// The same without symbols, for unwinding only.
struct elf_object *elf_open_code(const char *path);
struct elf_object *elf_open_code_file(int file, const char *path); // takes over the descriptor
struct elf_object *elf_open_code_memory(const void *bytes, size_t size);
void elf_find_debug_file(struct elf_object *object); // sets handles[1] if there is one
void elf_close(struct elf_object *object);
void elf_let_go(struct elf_object *object); // closes the file; keeps what is known about its segments

bool elf_address_of(const struct elf_object *object, uint64_t position, uint64_t *address);
// The same for the start of an executable mapping, which is page-aligned and may precede the code.
bool elf_mapping_address(const struct elf_object *object, uint64_t offset, uint64_t *address);
struct elf_symbol *elf_symbol_at(const struct elf_object *object, uint64_t address); // or NULL
// The same; narrows `range` to addresses with the same answer.
struct elf_symbol *elf_symbol_around(const struct elf_object *object, uint64_t address,
				     struct code_range *range);
