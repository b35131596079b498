#include "fuzz.h"

#include "../etl/etl_writer.h"
#include "symbol/windows/pe.h"

// Symbols are in order, and their names are texts of the object.
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size) {
	struct pe_names names;
	struct pe pe;
	if (!pe_read(&pe, bytes, size, &names))
		return 0;
	size_t length = 0;
	for (size_t i = 0; i < names.count; i++) {
		const struct pe_symbol *symbol = &names.items[i];
		if (i && symbol->address <= symbol[-1].address)
			abort();
		length += strlen(symbol->name);
	}
	char *name = names.count ? undecorate(names.items[0].name) : NULL;
	if (name && strlen(name) > 64 * length + 256)
		abort();
	free(name);
	free(names.items);
	free(names.text);
	return 0;
}

static void put_section(struct buffer *out, uint32_t address, uint32_t offset, uint32_t kind) {
	put64(out, 0);
	put32(out, 0x200);
	put32(out, address);
	put32(out, 0x200);
	put32(out, offset);
	put_zeros(out, 12);
	put32(out, kind);
}

// One library with an exported function, a table of functions and a PDB file.
void fuzz_seeds(void) {
	struct buffer seed = {0};
	put16(&seed, 0x5a4d);
	put_zeros(&seed, 0x3a);
	put32(&seed, 0x40);
	put32(&seed, 0x4550);
	put16(&seed, 0x8664);
	put16(&seed, 2);
	put_zeros(&seed, 12);
	put16(&seed, 240);
	put16(&seed, 0x2022);
	put16(&seed, 0x20b);
	put_zeros(&seed, 106);
	put32(&seed, 16);
	const uint32_t directories[16][2] = {{0x2000, 0x80}, [3] = {0x2080, 12}, [6] = {0x2090, 28}};
	for (size_t i = 0; i < 16; i++) {
		put32(&seed, directories[i][0]);
		put32(&seed, directories[i][1]);
	}
	put_section(&seed, 0x1000, 0x200, 0x60000020);
	put_section(&seed, 0x2000, 0x400, 0x40000040);
	put_zeros(&seed, 0x400 - seed.size);
	put_zeros(&seed, 20);
	const uint32_t exports[] = {1, 1, 0x2040, 0x2044, 0x2048};
	for (size_t i = 0; i < ARRAY_SIZE(exports); i++)
		put32(&seed, exports[i]);
	put_zeros(&seed, 0x440 - seed.size);
	put32(&seed, 0x1010);
	put32(&seed, 0x204c);
	put32(&seed, 0);
	buffer_append(&seed, "?run@Pool@@QEAAXXZ", 19);
	put_zeros(&seed, 0x480 - seed.size);
	put32(&seed, 0x1010);
	put32(&seed, 0x1030);
	put_zeros(&seed, 8);
	put_zeros(&seed, 12);
	put32(&seed, 2);
	put32(&seed, 40);
	put32(&seed, 0x20b0);
	put32(&seed, 0x4b0);
	put_zeros(&seed, 0x4b0 - seed.size);
	buffer_append(&seed, "RSDS0123456789abcdef\1\0\0\0a.pdb", 30);
	put_zeros(&seed, 0x600 - seed.size);
	fuzz_seed("library", &seed);
}
