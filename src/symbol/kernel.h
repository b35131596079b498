// The symbols of the kernel that runs here: from /proc/kallsyms, or, where somebody can ask the kernel for
// the names of single addresses, those that are looked for.
#pragma once

#include "base/buffer.h"
#include "symbol/elf.h"

struct kernel_symbols {
	struct elf_symbol *symbols; // in order of address
	size_t count;
	char *text;            // the names
	uint64_t text_address; // of _text
	char build_id[41];
	struct kernel_asked *asked; // in place of all symbols
};

// NULL: they cannot be read, or their addresses are hidden from us.
struct kernel_symbols *kernel_symbols_open(void);

// The same from its text, which is ours then.
struct kernel_symbols *kernel_symbols_parse(struct buffer *text);

// They will be needed: another thread reads them meanwhile, which takes 20 to 40 ms. The next to open gets
// them, without the code that came since.
void kernel_symbols_prepare(void);

enum { KERNEL_NAME_SIZE = 640 };

// The name of what is at an address, and where it begins. False: nothing is known.
typedef bool kernel_resolve(void *context, uint64_t address, char name[KERNEL_NAME_SIZE], uint64_t *start);

// Until this is called with NULL, nothing has to be read. One thread asks at a time.
void kernel_symbols_resolve_by(kernel_resolve *resolve, void *context);

uint64_t kernel_text_address(void); // of _text; 0: hidden from us
struct elf_symbol *kernel_symbol_at(const struct kernel_symbols *kernel, uint64_t address);
// Of the running kernel, in hexadecimal; "": not known.
void kernel_build_id(char text[41]);
void kernel_symbols_close(struct kernel_symbols *kernel);
