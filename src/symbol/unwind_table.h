// The unwind table of an ELF file: .eh_frame, compiled once into rows that can be
// searched. x86-64; other machines have an empty table.
#pragma once

#include "base/array.h"
#include "symbol/unwind_row.h"

#include <stddef.h>

struct unwind_segment { // executable part of the file, to get from file offsets to addresses
	uint64_t offset, size, address;
};

struct unwind_table {
	uint64_t base; // address that pc 0 of a row stands for
	ARRAY(struct unwind_row) rows; // ascending, each up to the next
	ARRAY(struct unwind_segment) segments;
	uint64_t strange; // rows whose rule has no place in a row
};

// 0 or -errno: -ENOEXEC is not an ELF file that can be used. No table is not an error.
int unwind_table_read(struct unwind_table *table, int fd);
void unwind_table_free(struct unwind_table *table);

// The row for an address as the file has it; NULL: before the first.
const struct unwind_row *unwind_table_find(const struct unwind_table *table, uint64_t address);

// The address in the file of what is mapped from `offset` on.
bool unwind_table_address(const struct unwind_table *table, uint64_t offset, uint64_t *address);
