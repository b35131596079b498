#include "fuzz.h"

#include "base/array.h"
#include "symbol/jit.h"

// Symbols must be sorted, and each must be found at its own address.
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size) {
	struct elf_object *object = jit_parse(bytes, size);
	for (size_t i = 0; i < object->symbol_count; i++) {
		const struct elf_symbol *symbol = &object->symbols[i];
		if ((i && symbol->address <= symbol[-1].address) || !memchr(symbol->name, 0, size + 1))
			abort();
		if (symbol->size && elf_symbol_at(object, symbol->address) != symbol)
			abort();
	}
	elf_close(object);
	return 0;
}

void fuzz_seeds(void) {
	static const uint8_t dump[] = {'D', 'T', 'i', 'J', 1, 0, 0, 0, 40, 0, 0, 0, 62, 0, 0, 0, 0, 0, 0, 0,
				       1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
				       // a function of four bytes at 0x100
				       0, 0, 0, 0, 62, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0,
				       0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 4, 0, 0, 0, 0, 0, 0,
				       0, 1, 0, 0, 0, 0, 0, 0, 0, 'f', 0, 0x90, 0x90, 0x90, 0x90,
				       // which moves to 0x200
				       1, 0, 0, 0, 64, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0,
				       0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 0, 0,
				       0, 4, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0};
	static const char lines[] = "7f00 40 a name\n7f40 8 b\n7f00 20 c\n";
	struct buffer seed = {0};
	buffer_append(&seed, dump, sizeof(dump));
	fuzz_seed("dump", &seed);
	seed = (struct buffer){0};
	buffer_append(&seed, lines, strlen(lines));
	fuzz_seed("lines", &seed);
}
