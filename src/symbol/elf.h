// The symbols of an ELF file, by the position of code in the file.
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct elf_symbol {
	uint64_t address, size; // as the file's own addresses have it
	const char *name;       // as it is in the file; lives as long as the object
	uint32_t frame;         // for whoever keeps frames: one more than its id
	uint8_t rank;           // of several at one address the highest is taken
};

struct elf_segment {
	uint64_t offset, size, address;
	bool executable;
};

struct unwind_table;

enum { ELF_ENTRY_SIZE = 48 }; // the code where a program begins is not longer

struct elf_object {
	struct elf_symbol *symbols; // in order of address, not overlapping in the beginning
	size_t symbol_count;
	struct elf_segment *segments; // those that are loaded
	size_t segment_count;
	const uint8_t *eh_frame; // its section; NULL: there is none, and no .debug_frame either
	size_t eh_frame_size;
	uint64_t eh_frame_address;
	uint64_t entry;   // where a program begins
	uint16_t machine; // EM_
	char build_id[41];
	struct unwind_table *unwind; // made when it is asked for
	bool unwind_tried;
	struct inlined_table *inlined; // the same
	bool inlined_tried;
	bool absolute;    // its addresses are those of the process
	char *text;       // names that are not in an ELF file
	void *handles[2]; // Elf of the file and of its debug file
	int files[2];
	char *path;       // of the file, if it was opened by that
	bool debug_tried; // whether there is a debug file
	void *inside;     // Elf of the symbols that are compressed in the file
	void *inside_memory;
};

// `build_id` (hexadecimal) is the one that is wanted, or "" if any will do. Looks at `path`, and for
// the symbols of a stripped file where debuggers look (debug_file.h). NULL: there is no such file here.
struct elf_object *elf_open(const char *path, const char *build_id);
// The same of a file that is held open: its path may lead elsewhere by now. -1: it is not.
struct elf_object *elf_open_held(const char *path, const char *build_id, int held);
struct elf_object *elf_open_memory(const void *bytes, size_t size); // an image in memory: the vdso
// The same without symbols: what unwinding needs.
struct elf_object *elf_open_code(const char *path);
struct elf_object *elf_open_code_memory(const void *bytes, size_t size);
void elf_find_debug_file(struct elf_object *object); // handles[1], if there is one
void elf_close(struct elf_object *object);
void elf_let_go(struct elf_object *object); // of the file: what is known of its segments stays

bool elf_address_of(const struct elf_object *object, uint64_t position, uint64_t *address);
// The same for the beginning of an executable mapping, which is that of a page and may be before the code.
bool elf_mapping_address(const struct elf_object *object, uint64_t offset, uint64_t *address);
struct elf_symbol *elf_symbol_at(const struct elf_object *object, uint64_t address); // or NULL
