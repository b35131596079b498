// The symbols of the running kernel: from /proc/kallsyms or, if the kernel can resolve single
// addresses, only those that are needed.
#pragma once

#include "base/buffer.h"
#include "symbol/elf.h"

struct kernel_symbols {
	struct elf_symbol *symbols; // sorted by address
	size_t count;
	char *text;            // the names
	uint64_t text_address; // of _text
	char build_id[41];
	struct kernel_asked *asked; // used in place of `symbols`
};

// NULL if they cannot be read, or their addresses are hidden from us.
struct kernel_symbols *kernel_symbols_open(void);

// The same from its text, which it takes ownership of.
struct kernel_symbols *kernel_symbols_parse(struct buffer *text);

// The symbols in a file like /proc/kallsyms; takes over the descriptor. NULL if there are none.
struct kernel_symbols *kernel_symbols_read(int file);

// Reads them ahead in another thread, which takes 20 to 40 ms. The next kernel_open() gets them, without code
// that was loaded since.
void kernel_symbols_prepare(void);

enum { KERNEL_NAME_SIZE = 640 };

// The name of the function at an address, and where it begins. False if unknown.
typedef bool kernel_resolve(void *context, uint64_t address, char name[KERNEL_NAME_SIZE], uint64_t *start);

// Until this is called with NULL, /proc/kallsyms need not be read. Only one thread asks at a time. `text`:
// the address of _text in what is resolved; 0 for the kernel's own.
void kernel_symbols_resolve_by(kernel_resolve *resolve, void *context, uint64_t text);
// After a fork, the parent goes on: only with names that need no one else does this process, too.
void kernel_symbols_resolve_alone(void);

uint64_t kernel_text_address(void); // of _text; 0 if hidden from us
struct elf_symbol *kernel_symbol_at(const struct kernel_symbols *kernel, uint64_t address);
// Of the running kernel, in hexadecimal; "" if unknown.
void kernel_build_id(char text[41]);
void kernel_symbols_close(struct kernel_symbols *kernel);
