#include "symbol/jit.h"

#include "base/array.h"
#include "base/memory.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { LARGEST_FILE = 1 << 30 };

bool jit_is_map(const char *path) {
	int end = 0;
	return sscanf(path, "/tmp/perf-%*u.map%n", &end) == 0 && end && !path[end];
}

// Anybody can put a file there: only our own or root's is believed.
static char *read_file(const char *path, size_t *size) {
	int file = open(path, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
	struct stat status;
	char *text = NULL;
	if (file < 0)
		return NULL;
	if (fstat(file, &status) == 0 && S_ISREG(status.st_mode) && status.st_size < LARGEST_FILE &&
	    (status.st_uid == geteuid() || status.st_uid == 0)) {
		text = memory_alloc((size_t)status.st_size + 1);
		ssize_t got = read(file, text, (size_t)status.st_size);
		*size = got > 0 ? (size_t)got : 0;
	}
	close(file);
	return text;
}

static int compare_symbols(const void *left, const void *right) {
	const struct elf_symbol *a = left, *b = right;
	return a->address < b->address ? -1 : a->address > b->address;
}

// "7f00dc000000 40 name of any kind": addresses and sizes are hexadecimal.
static bool parse_line(char *line, struct elf_symbol *symbol) {
	char *end;
	symbol->address = strtoull(line, &end, 16);
	if (end == line || *end != ' ')
		return false;
	symbol->size = strtoull(end + 1, &end, 16);
	symbol->name = end + 1;
	return *end == ' ' && end[1];
}

struct elf_object *jit_map_open(const char *path) {
	size_t size = 0;
	char *text = read_file(path, &size), *save = NULL;
	if (!text)
		return NULL;
	ARRAY(struct elf_symbol) symbols = {0};
	for (char *line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
		struct elf_symbol symbol = {0};
		if (parse_line(line, &symbol))
			array_push(&symbols, symbol);
	}
	struct elf_object *object = memory_alloc(sizeof(*object));
	object->files[0] = object->files[1] = -1;
	object->text = text;
	object->absolute = true;
	object->symbols = symbols.items;
	object->symbol_count = symbols.count;
	if (symbols.count)
		qsort(symbols.items, symbols.count, sizeof(*symbols.items), compare_symbols);
	return object;
}
