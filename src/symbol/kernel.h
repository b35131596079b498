// The symbols of the kernel that runs here, from /proc/kallsyms.
#pragma once

#include "base/buffer.h"
#include "symbol/elf.h"

struct kernel_symbols {
	struct elf_symbol *symbols; // in order of address
	size_t count;
	char *text;            // the names
	uint64_t text_address; // of _text
	char build_id[41];
};

// NULL: they cannot be read, or their addresses are hidden from us.
struct kernel_symbols *kernel_symbols_open(void);

// The same from its text, which is ours then.
struct kernel_symbols *kernel_symbols_parse(struct buffer *text);

// They will be needed: another thread reads them meanwhile, which takes 20 to 40 ms. The next to open gets
// them, and of the code that came since what was added.
void kernel_symbols_prepare(void);
void kernel_symbols_add(uint64_t address, const char *name);
struct elf_symbol *kernel_symbol_at(const struct kernel_symbols *kernel, uint64_t address);
// Of the running kernel, in hexadecimal; "": not known.
void kernel_build_id(char text[41]);
void kernel_symbols_close(struct kernel_symbols *kernel);
