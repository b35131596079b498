// The functions of an allocator in an ELF file, and where to probe them.
#pragma once

#include "format/heap_function.h"

#include <gelf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { MOST_ALLOCATOR_PLACES = 1024 };

struct allocator_place {
	uint64_t offset; // in the file
	enum heap_function function;
	bool prefixed; // it has another name than that of the C library
};

struct allocator_symbols {
	bool has_malloc, is_go, is_sanitized, is_other_machine;
	size_t count;
	struct allocator_place places[MOST_ALLOCATOR_PLACES]; // without duplicates
};

// `is_program`: if static, its own functions are used whether it exports them or not.
void allocator_symbols_read(struct allocator_symbols *symbols, Elf *elf, bool is_program);
