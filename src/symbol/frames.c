#include "symbol/frames.h"
#include "base/array.h"
#include "base/buffer.h"
#include "base/file.h"
#include "base/map.h"
#include "symbol/demangle.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static char *debug_path; // the library's own default

const Dwfl_Callbacks frames_of_process = {
	.find_elf = dwfl_linux_proc_find_elf,
	.find_debuginfo = dwfl_standard_find_debuginfo,
	.debuginfo_path = &debug_path,
};

const Dwfl_Callbacks frames_of_files = {
	.find_elf = dwfl_build_id_find_elf,
	.find_debuginfo = dwfl_standard_find_debuginfo,
	.debuginfo_path = &debug_path,
};

static void print_symbol(FILE *out, Dwfl_Module *module, Dwarf_Addr address, Dwarf_Addr lookup) {
	GElf_Off offset = 0;
	GElf_Sym symbol;
	const char *name = dwfl_module_addrinfo(module, lookup, &offset, &symbol, NULL, NULL, NULL);
	if (!name)
		return;
	char *plain = demangle(name);
	int length = (int)(plain ? strlen(plain) : strcspn(name, "@")); // without the version
	fprintf(out, " %.*s+0x%" PRIx64, length, plain ? plain : name,
		(uint64_t)(offset + (address - lookup)));
	free(plain);
}

static void print_source(FILE *out, Dwfl_Module *module, Dwarf_Addr lookup) {
	Dwfl_Line *line = dwfl_module_getsrc(module, lookup);
	int number = 0;
	const char *file = line ? dwfl_lineinfo(line, NULL, &number, NULL, NULL, NULL) : NULL;
	if (file)
		fprintf(out, "  %s:%d", file, number);
}

// ---- what is known already ----

// A place is known by its file, its offset there and whether it is a call; the key is a hash, and
// the text begins with all of it, for the case that two have the same.
static struct map known; // key → index + 1 in `texts`
static ARRAY(char *) texts;
static size_t sent; // texts before this one came from the parent

enum { MOST_TEXTS = 100000, LONGEST_TEXT = 8192 };

static void remember(const char *text) {
	const char *place_end = strchr(text, '\t');
	if (!place_end || texts.count >= MOST_TEXTS)
		return;
	array_push(&texts, memory_string(text));
	*map_put(&known, hash_bytes(text, (size_t)(place_end - text))) = texts.count;
}

static const char *recall(const char *place) {
	const uint64_t *index = map_get(&known, hash_bytes(place, strlen(place)));
	const char *text = index ? texts.items[*index - 1] : NULL;
	size_t length = strlen(place);
	return text && strncmp(text, place, length) == 0 && text[length] == '\t' ? text + length + 1 : NULL;
}

void frames_send(int fd) {
	for (; sent < texts.count; sent++)
		if (file_write_all(fd, texts.items[sent], strlen(texts.items[sent]) + 1))
			return; // full, or nobody reads: the next one finds out for himself
}

void frames_receive(int fd) {
	struct buffer received = {0};
	ssize_t got;
	while ((got = read(fd, buffer_room(&received, 1 << 16), 1 << 16)) > 0)
		received.size += (size_t)got;
	for (size_t at = 0; at < received.size;) {
		const char *text = (const char *)received.data + at;
		size_t length = strnlen(text, received.size - at);
		if (length == received.size - at)
			break; // cut off
		remember(text);
		at += length + 1;
	}
	sent = texts.count;
	buffer_free(&received);
}

// ---- frames ----

static char *find_out(Dwfl_Module *module, const char *file, Dwarf_Addr address, Dwarf_Addr lookup,
		      Dwarf_Addr offset) {
	char *text = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&text, &size);
	if (!out)
		return memory_string("");
	print_symbol(out, module, address, lookup);
	fprintf(out, "  %s+0x%" PRIx64, file, (uint64_t)offset);
	print_source(out, module, lookup);
	fclose(out);
	return text;
}

void frame_print(FILE *out, Dwfl *dwfl, unsigned number, Dwarf_Addr address, bool call) {
	Dwarf_Addr lookup = address - (call && address ? 1 : 0), offset = address;
	Dwfl_Module *module = dwfl_addrmodule(dwfl, lookup);
	fprintf(out, "#%-3u 0x%016" PRIx64, number, (uint64_t)address);
	if (module) {
		const char *file = NULL;
		const char *name = dwfl_module_info(module, NULL, NULL, NULL, NULL, NULL, &file, NULL);
		name = file ? file : name;
		Dwarf_Addr start = 0, bias = 0;
		dwfl_module_info(module, NULL, &start, NULL, NULL, NULL, NULL, NULL);
		offset = address - (dwfl_module_getelf(module, &bias) ? bias : start);
		CLEANUP_FREE char *place = memory_format("%s+%" PRIx64 "%s", name, (uint64_t)offset,
							 call ? "c" : "");
		const char *text = recall(place);
		CLEANUP_FREE char *found = text ? NULL : find_out(module, name, address, lookup, offset);
		fputs(text ? text : found, out);
		if (found && strlen(found) < LONGEST_TEXT) {
			CLEANUP_FREE char *entry = memory_format("%s\t%s", place, found);
			remember(entry);
		}
	}
	fputc('\n', out);
}
