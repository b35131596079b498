#include "symbol/kernel.h"

#include "base/array.h"
#include "base/cursor.h"
#include "base/file.h"

#include <elf.h>
#include <pthread.h>
#include <string.h>

void kernel_build_id(char text[41]) {
	struct input notes;
	text[0] = 0;
	if (input_open(&notes, "/sys/kernel/notes"))
		return;
	struct cursor in = cursor_of(notes.data, notes.size);
	while (cursor_left(&in) >= 12) {
		uint32_t name_size = cursor_u32(&in), size = cursor_u32(&in), type = cursor_u32(&in);
		const uint8_t *name = cursor_take(&in, (name_size + 3u) & ~3u);
		const uint8_t *content = cursor_take(&in, (size + 3u) & ~3u);
		if (in.failed || type != NT_GNU_BUILD_ID || name_size != 4 || memcmp(name, "GNU", 4) != 0 ||
		    size > 20)
			continue;
		for (uint32_t i = 0; i < size; i++)
			snprintf(text + 2 * i, 3, "%02x", content[i]);
		break;
	}
	input_close(&notes);
}

static int compare_addresses(const void *left, const void *right) {
	const struct elf_symbol *a = left, *b = right;
	return a->address < b->address ? -1 : a->address > b->address;
}

// "ffffffff81000000 T _text\t[module]", only code.
static bool parse_line(char *line, struct elf_symbol *symbol) {
	char *end;
	symbol->address = strtoull(line, &end, 16);
	if (end == line || end[0] != ' ' || !end[1] || end[2] != ' ' || !strchr("tTwW", end[1]))
		return false;
	char *name = end + 3;
	char *module = strchr(name, '\t');
	if (module)
		*module = 0;
	symbol->name = name;
	return *name != 0;
}

static struct kernel_symbols *read_symbols(void) {
	struct input file;
	if (input_open(&file, "/proc/kallsyms"))
		return NULL;
	struct kernel_symbols *kernel = memory_alloc(sizeof(*kernel));
	ARRAY(struct elf_symbol) symbols = {0};
	kernel->text = memory_alloc(file.size + 1);
	memcpy(kernel->text, file.data, file.size);
	input_close(&file);
	char *save = NULL;
	for (char *line = strtok_r(kernel->text, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
		struct elf_symbol symbol = {0};
		if (!parse_line(line, &symbol))
			continue;
		if (strcmp(symbol.name, "_text") == 0)
			kernel->text_address = symbol.address;
		array_push(&symbols, symbol);
	}
	kernel->symbols = symbols.items;
	kernel->count = symbols.count;
	if (!kernel->text_address) {
		kernel_symbols_close(kernel);
		return NULL;
	}
	// Those of the kernel itself are in order.
	size_t sorted = 1;
	while (sorted < kernel->count &&
	       kernel->symbols[sorted - 1].address <= kernel->symbols[sorted].address)
		sorted++;
	if (sorted < kernel->count)
		qsort(kernel->symbols, kernel->count, sizeof(*kernel->symbols), compare_addresses);
	kernel_build_id(kernel->build_id);
	return kernel;
}

static pthread_t reader;
static bool reading;

static void *read_ahead(void *unused) {
	return read_symbols();
}

void kernel_symbols_prepare(void) {
	if (!reading)
		reading = pthread_create(&reader, NULL, read_ahead, NULL) == 0;
}

struct kernel_symbols *kernel_symbols_open(void) {
	void *read = NULL;
	if (!reading)
		return read_symbols();
	reading = false;
	return pthread_join(reader, &read) ? read_symbols() : read;
}

struct elf_symbol *kernel_symbol_at(const struct kernel_symbols *kernel, uint64_t address) {
	size_t low = 0, high = kernel->count;
	while (low < high) {
		size_t middle = (low + high) / 2;
		if (kernel->symbols[middle].address <= address)
			low = middle + 1;
		else
			high = middle;
	}
	return low ? &kernel->symbols[low - 1] : NULL;
}

void kernel_symbols_close(struct kernel_symbols *kernel) {
	if (!kernel)
		return;
	free(kernel->symbols);
	free(kernel->text);
	free(kernel);
}
