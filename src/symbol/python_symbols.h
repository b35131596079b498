// Where Python's interpreter has what its frames are found with, in an ELF file.
#pragma once

#include <gelf.h>
#include <stdbool.h>
#include <stdint.h>

struct python_symbols {
	bool found;
	uint64_t runtime, code_type; // counted from the first byte of a mapping
};

// `offset`: where in the file that mapping, of its code, begins.
void python_symbols_read(struct python_symbols *symbols, Elf *elf, uint64_t offset);
