#include "symbol/kernel.h"

#include "base/array.h"
#include "base/cursor.h"
#include "base/file.h"
#include "base/map.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

static kernel_resolve *resolve;
static void *resolve_context;
static uint64_t resolve_text;
static char resolve_id[41]; // instead of the kernel's, if addresses are numbers that only `resolve` knows

void kernel_build_id(char text[41]) {
	struct input notes;
	text[0] = 0;
	if (resolve && resolve_text) {
		memcpy(text, resolve_id, sizeof(resolve_id));
		return;
	}
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

// ---- one address at a time ----

// Symbols that were looked up, by their first address.
struct kernel_asked {
	struct map symbols;
};

void kernel_symbols_resolve_by(kernel_resolve *by, void *context, uint64_t text) {
	resolve = by;
	resolve_context = context;
	resolve_text = text;
	uint64_t parts[2] = {0};
	if (text && getrandom(parts, sizeof(parts), 0) > 0)
		snprintf(resolve_id, sizeof(resolve_id), "%016" PRIx64 "%016" PRIx64, parts[0], parts[1]);
}

void kernel_symbols_resolve_alone(void) {
	if (!resolve_text)
		kernel_symbols_resolve_by(NULL, NULL, 0);
}

static struct elf_symbol *ask_for(struct kernel_asked *asked, uint64_t address) {
	char name[KERNEL_NAME_SIZE];
	uint64_t start;
	if (!resolve || !resolve(resolve_context, address, name, &start))
		return NULL;
	uint64_t *known = map_put(&asked->symbols, start);
	if (!*known) {
		struct elf_symbol *symbol = memory_alloc(sizeof(*symbol));
		*symbol = (struct elf_symbol){.address = start, .name = memory_string(name)};
		*known = (uintptr_t)symbol;
	}
	return (struct elf_symbol *)(uintptr_t)*known;
}

static void asked_free(struct kernel_asked *asked) {
	if (!asked)
		return;
	for (size_t i = 0; i < asked->symbols.capacity; i++)
		if (asked->symbols.slots[i].used) {
			struct elf_symbol *symbol = (void *)(uintptr_t)asked->symbols.slots[i].value;
			free((char *)(uintptr_t)symbol->name);
			free(symbol);
		}
	map_free(&asked->symbols);
	free(asked);
}

uint64_t kernel_text_address(void) {
	char line[256], name[200];
	unsigned long long address = 0;
	bool found = false;
	if (resolve && resolve_text)
		return resolve_text;
	FILE *symbols = fopen("/proc/kallsyms", "re");
	while (symbols && !found && fgets(line, sizeof(line), symbols))
		found = sscanf(line, "%llx %*c %199s", &address, name) == 2 && strcmp(name, "_text") == 0;
	if (symbols)
		fclose(symbols);
	return found ? address : 0;
}

// NULL if the kernel does not answer.
static struct kernel_symbols *ask_kernel(void) {
	struct kernel_symbols *kernel = memory_alloc(sizeof(*kernel));
	kernel->text_address = kernel_text_address();
	kernel->asked = memory_alloc(sizeof(*kernel->asked));
	if (!kernel->text_address || !kernel_symbol_at(kernel, kernel->text_address)) {
		kernel_symbols_close(kernel);
		return NULL;
	}
	kernel_build_id(kernel->build_id);
	return kernel;
}

// ---- all symbols ----

static int compare_addresses(const void *left, const void *right) {
	const struct elf_symbol *a = left, *b = right;
	return a->address < b->address ? -1 : a->address > b->address;
}

// Written by hand: there are a hundred thousand of them, and strtoull() takes ten times as long.
static char *parse_address(char *text, uint64_t *address) {
	char *digit = text;
	uint64_t value = 0;
	for (;; digit++) {
		unsigned number = (unsigned)*digit - '0', letter = ((unsigned)*digit | 0x20) - 'a';
		if (number > 9 && letter > 5)
			break;
		value = value << 4 | (number <= 9 ? number : letter + 10);
	}
	*address = value;
	return digit == text ? NULL : digit;
}

// "ffffffff81000000 T _text\t[module]", only code. The line ends with a NUL; so will its name.
static bool parse_line(char *line, char *line_end, struct elf_symbol *symbol) {
	char *end = parse_address(line, &symbol->address);
	if (!end || line_end - end < 4 || end[0] != ' ' || end[2] != ' ' || !strchr("tTwW", end[1]))
		return false;
	char *name = end + 3;
	char *module = memchr(name, '\t', (size_t)(line_end - name));
	if (module)
		*module = 0;
	symbol->name = name;
	return *name != 0;
}

// The kernel's own symbols are sorted; those of modules and later additions follow and are
// inserted.
static void sort_symbols(struct elf_symbol *symbols, size_t count) {
	size_t sorted = 1;
	while (sorted < count && symbols[sorted - 1].address <= symbols[sorted].address)
		sorted++;
	if (sorted >= count)
		return;
	size_t left = sorted, right = count - sorted, to = count;
	struct elf_symbol *rest = memory_alloc(right * sizeof(*rest));
	memcpy(rest, symbols + sorted, right * sizeof(*rest));
	qsort(rest, right, sizeof(*rest), compare_addresses);
	while (right)
		symbols[--to] = left && symbols[left - 1].address > rest[right - 1].address ? symbols[--left]
											    : rest[--right];
	free(rest);
}

struct kernel_symbols *kernel_symbols_parse(struct buffer *text) {
	enum { LINE = 40 }; // average length
	struct kernel_symbols *kernel = memory_alloc(sizeof(*kernel));
	ARRAY(struct elf_symbol) symbols = {0};
	array_reserve(&symbols, text->size / LINE + 1);
	*buffer_room(text, 1) = 0;
	char *line = (char *)text->data, *end = line + text->size, *next;
	for (; line < end; line = next + 1) {
		struct elf_symbol symbol = {0};
		next = memchr(line, '\n', (size_t)(end - line));
		if (!next)
			next = end;
		*next = 0;
		if (!parse_line(line, next, &symbol))
			continue;
		if (!kernel->text_address && strcmp(symbol.name, "_text") == 0)
			kernel->text_address = symbol.address;
		array_push(&symbols, symbol);
	}
	kernel->symbols = symbols.items;
	kernel->count = symbols.count;
	kernel->text = (char *)text->data;
	*text = (struct buffer){0};
	if (!kernel->text_address) {
		kernel_symbols_close(kernel);
		return NULL;
	}
	sort_symbols(kernel->symbols, kernel->count);
	kernel_build_id(kernel->build_id);
	return kernel;
}

struct kernel_symbols *kernel_symbols_read(int file) {
	enum { USUAL_SIZE = 8 << 20, PIECE = 1 << 16, MOST = 1 << 28 };
	struct buffer text = {0};
	if (file < 0)
		return NULL;
	buffer_room(&text, USUAL_SIZE);
	ssize_t got;
	while (text.size < MOST &&
	       ((got = read(file, buffer_room(&text, PIECE), PIECE)) > 0 || (got < 0 && errno == EINTR)))
		text.size += got > 0 ? (size_t)got : 0;
	close(file);
	return kernel_symbols_parse(&text);
}

static struct kernel_symbols *read_symbols(void) {
	return kernel_symbols_read(open("/proc/kallsyms", O_RDONLY | O_CLOEXEC));
}

// ---- ahead of time ----

static pthread_t reader;
static bool reading;

static void *read_ahead(void *unused) {
	return read_symbols();
}

void kernel_symbols_prepare(void) {
	if (!reading && !resolve)
		reading = pthread_create(&reader, NULL, read_ahead, NULL) == 0;
}

struct kernel_symbols *kernel_symbols_open(void) {
	void *read = NULL;
	struct kernel_symbols *kernel = resolve ? ask_kernel() : NULL;
	if (kernel)
		return kernel;
	if (!reading)
		return read_symbols();
	reading = false;
	return pthread_join(reader, &read) ? read_symbols() : read;
}

// Code after the kernel's own and outside modules had a name only while it was loaded.
static bool is_end(const char *name) {
	static const char *const ends[] = {"_etext", "_einittext", "_end", "__brk_limit"};
	for (size_t i = 0; i < ARRAY_SIZE(ends); i++)
		if (strcmp(name, ends[i]) == 0)
			return true;
	return false;
}

struct elf_symbol *kernel_symbol_at(const struct kernel_symbols *kernel, uint64_t address) {
	if (kernel->asked)
		return ask_for(kernel->asked, address);
	size_t low = 0, high = kernel->count;
	while (low < high) {
		size_t middle = (low + high) / 2;
		if (kernel->symbols[middle].address <= address)
			low = middle + 1;
		else
			high = middle;
	}
	while (low > 1 && kernel->symbols[low - 2].address == kernel->symbols[low - 1].address)
		low--; // the first of several names, as in the kernel
	return low && !is_end(kernel->symbols[low - 1].name) ? &kernel->symbols[low - 1] : NULL;
}

void kernel_symbols_close(struct kernel_symbols *kernel) {
	if (!kernel)
		return;
	free(kernel->symbols);
	free(kernel->text);
	asked_free(kernel->asked);
	free(kernel);
}
