// Names come from files, libdwfl works with modules: a file is kept with its module, and opened for names
// when the first frame in it is printed.
#include "symbol/stacks/frames.h"
#include "base/array.h"
#include "base/buffer.h"
#include "base/file.h"
#include "base/map.h"
#include "base/text.h"
#include "symbol/names.h"
#include "symbol/section.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

// ---- files ----

struct module_file {
	char *path;
	int file; // -1 if it is not a file
	bool tried;
	struct elf_object *object; // NULL if it cannot be read
};

static struct names *names;
static ARRAY(struct module_file *) files;
static struct module_file *compiled; // names of JIT-compiled code in the process `compiled_by`
static pid_t compiled_by;

static struct module_file *add_file(const char *path, int file) {
	struct module_file *made = memory_alloc(sizeof(*made));
	made->path = memory_string(path);
	made->file = file < 0 ? -1 : fcntl(file, F_DUPFD_CLOEXEC, 0);
	array_push(&files, made);
	return made;
}

void frames_keep_file(void **user, const char *path, int file) {
	*user = add_file(path, file);
}

static struct elf_object *object_of(struct module_file *file, const char *build_id) {
	if (!file->tried) {
		file->tried = true;
		names = names ? names : names_new();
		file->object = names_open(names, file->path, build_id, file->file);
	}
	return file->object;
}

int frames_find_debug_file(Dwfl_Module *module, void **user, const char *name, Dwarf_Addr base,
			   const char *file_name, const char *link, GElf_Word checksum, char **found) {
	struct elf_object *object = *user ? object_of(*user, "") : NULL;
	if (!object)
		return -1;
	elf_find_debug_file(object);
	if (object->files[1] < 0)
		return -1;
	*found = strdup(file_name ? file_name : name); // for libdwfl's messages; libdwfl frees it
	return fcntl(object->files[1], F_DUPFD_CLOEXEC, 0);
}

void frames_forget(void) {
	for (size_t i = 0; i < files.count; i++) {
		if (files.items[i]->file >= 0)
			close(files.items[i]->file);
		free(files.items[i]->path);
		free(files.items[i]);
	}
	array_free(&files);
	compiled = NULL;
	names_free(names);
	names = NULL;
}

// ---- the cache ----

// A place is identified by its file, its offset there and whether it is a call. The key is a hash of these;
// the text begins with them, in case two places have the same hash. A tab and a line for each function
// follow.
static struct map known; // key → index + 1 in `texts`
static ARRAY(char *) texts;
static size_t sent; // the texts before this one came from the parent

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
			return; // full, or closed: the next process does the lookup itself
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
			break; // truncated
		remember(text);
		at += length + 1;
	}
	sent = texts.count;
	buffer_free(&received);
}

// ---- frames ----

struct position {
	struct module_file *file;
	uint64_t address; // in the file
	char build_id[BUILD_ID_TEXT];
};

// Code that the kernel provides has no file, but a build id.
static struct module_file *file_of(Dwfl_Module *module, Elf *elf, struct position *position) {
	void **user = NULL;
	const char *name = dwfl_module_info(module, &user, NULL, NULL, NULL, NULL, NULL, NULL);
	if (!*user)
		*user = add_file(strncmp(name, "[vdso", 5) == 0 ? "[vdso]" : name, -1);
	struct module_file *file = *user;
	if (file->file < 0 && elf)
		section_build_id(elf, position->build_id);
	return file;
}

// Code without a file may come from a JIT compiler that writes its names to a file, as for samples
// (event/spaces.c).
static struct module_file *compiled_code(Dwfl *dwfl, uint64_t address) {
	pid_t pid = dwfl_pid(dwfl);
	if (pid <= 0)
		return NULL;
	if (!compiled || compiled_by != pid) {
		CLEANUP_FREE char *path = memory_format("/tmp/perf-%d.map", (int)pid);
		compiled = add_file(path, -1);
		compiled_by = pid;
	}
	struct elf_object *object = object_of(compiled, "");
	return object && elf_symbol_at(object, address) ? compiled : NULL;
}

static bool find_position(Dwfl *dwfl, uint64_t address, uint64_t lookup, struct position *position) {
	Dwfl_Module *module = dwfl_addrmodule(dwfl, lookup);
	Dwarf_Addr start = 0, bias = 0;
	*position = (struct position){.address = address};
	if (!module)
		return (position->file = compiled_code(dwfl, lookup));
	Elf *elf = dwfl_module_getelf(module, &bias);
	dwfl_module_info(module, NULL, &start, NULL, NULL, NULL, NULL, NULL);
	position->file = file_of(module, elf, position);
	position->address = address - (elf ? bias : start);
	return true;
}

static void describe(struct buffer *text, const struct named *named, const struct position *position) {
	size_t from = text->size;
	CLEANUP_FREE char *name = named_text(named, position->file->path);
	uint64_t begin = named->symbol ? named->symbol->address : named->begin;
	if (named->kind == FRAME_INLINED)
		buffer_printf(text, " %s (inlined)", name);
	else
		buffer_printf(text, " %s+0x%" PRIx64, name, position->address - begin);
	buffer_printf(text, "  %s+0x%" PRIx64, position->file->path, position->address);
	if (named->at.file)
		buffer_printf(text, "  %s:%" PRIu32, named->at.file, named->at.line);
	text_plain_from(text, from); // the process chose these names
	buffer_append(text, "\n", 1);
}

// One line per function; the caller frees it.
static char *find_out(const struct position *position, bool call) {
	struct named found[MOST_NAMED];
	struct buffer text = {0};
	struct elf_object *object = object_of(position->file, position->build_id);
	size_t count = names_describe(names, object, position->address - call, found);
	for (size_t i = 0; i < count; i++)
		describe(&text, &found[i], position);
	buffer_append(&text, "", 1);
	return (char *)text.data;
}

static unsigned print_lines(FILE *out, const char *margin, unsigned number, uint64_t address,
			    const char *text) {
	unsigned count = 0;
	for (const char *end; (end = strchr(text, '\n')); text = end + 1, count++)
		fprintf(out, "%s#%-3u 0x%016" PRIx64 "%.*s\n", margin, number + count, address,
			(int)(end - text), text);
	return count;
}

unsigned frame_print(FILE *out, const char *margin, Dwfl *dwfl, unsigned number, Dwarf_Addr address,
		     bool call) {
	struct position position;
	call = call && address;
	if (!find_position(dwfl, address, address - call, &position))
		return print_lines(out, margin, number, address, "\n");
	CLEANUP_FREE char *place = memory_format("%s+%" PRIx64 "%s", position.file->path, position.address,
						 call ? "c" : "");
	const char *text = recall(place);
	CLEANUP_FREE char *found = text ? NULL : find_out(&position, call);
	unsigned count = print_lines(out, margin, number, address, text ? text : found);
	if (found && strlen(found) < LONGEST_TEXT) {
		CLEANUP_FREE char *entry = memory_format("%s\t%s", place, found);
		remember(entry);
	}
	return count;
}
