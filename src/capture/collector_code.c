#include "capture/collector_code.h"
#include "base/map.h"
#include "capture/mapped_files.h"
#include "capture/tasks.h"
#include "event/spaces.h"
#include "symbol/elf.h"
#include "symbol/kernel.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MOST_NAMES = 8192, NAMES_OF_PAGE = 256 }; // as many as the collector has

// How often we look for code that a process has compiled, in nanoseconds, and how much of it we list.
enum { LOOK_EVERY = 20000000, MOST_COMPILED = 4096 };

// A process with stacks, and its memory that is code and no file's, which no dynamic linker lists.
struct compiled {
	uint64_t start, size;
};

struct compiling {
	uint64_t looked; // when, in nanoseconds; 0 if not yet
	ARRAY(struct compiled) known;
};

// Most sessions have few stacks or none, so the names are in pages that are made when they are needed. Both
// are written once; a conversion reads them meanwhile, and in a process that forks.
struct collector_code {
	struct mapped_files files;
	char **pages[MOST_NAMES / NAMES_OF_PAGE];
	struct map by_pid; // to index + 1
	ARRAY(struct compiling) compiling;
};

// ---- kernel functions ----

// The place of a function's name; NULL if that is no number of a function, or its page is not there.
static char **place_of(struct collector_code *code, uint64_t address, bool make) {
	uint64_t number = (address - HIDDEN_TEXT) / COLLECTOR_NAME_RANGE;
	if (address < HIDDEN_TEXT || number >= MOST_NAMES)
		return NULL;
	char ***at = &code->pages[number / NAMES_OF_PAGE];
	char **page = __atomic_load_n(at, __ATOMIC_ACQUIRE);
	if (!page && make) {
		page = memory_alloc(NAMES_OF_PAGE * sizeof(*page));
		__atomic_store_n(at, page, __ATOMIC_RELEASE);
	}
	return page ? &page[number % NAMES_OF_PAGE] : NULL;
}

static bool resolve(void *context, uint64_t address, char name[KERNEL_NAME_SIZE], uint64_t *start) {
	char **place = place_of(context, address, false);
	const char *known = place ? __atomic_load_n(place, __ATOMIC_ACQUIRE) : NULL;
	*start = address & -(uint64_t)COLLECTOR_NAME_RANGE;
	if (*start == HIDDEN_TEXT)
		known = "_text";
	if (known)
		snprintf(name, KERNEL_NAME_SIZE, "%s", known);
	return known;
}

void collector_code_name(struct collector_code *code, const struct collector_name *name) {
	char **place = place_of(code, name->address, true);
	if (place && !*place)
		__atomic_store_n(place, memory_format("%.*s", COLLECTOR_NAME_SIZE - 1, name->name),
				 __ATOMIC_RELEASE);
}

// ---- modules ----

// A process whose modules are being written down.
struct listing {
	struct collector_code *code;
	struct spool *spool;
	const struct record_crash *record; // NULL for compiled code
	uint64_t time;
	uint32_t pid;
};

static void write_mapping(const struct listing *listing, struct spool_mapping mapping, const char *path) {
	struct buffer block = {0};
	buffer_append(&block, &mapping, sizeof(mapping));
	buffer_append(&block, path, strlen(path) + 1);
	spool_append(listing->spool, SPOOL_MAPPING, block.data, block.size);
	buffer_free(&block);
}

static struct spool_mapping mapping_of(const struct listing *listing) {
	return (struct spool_mapping){.time = listing->time, .pid = listing->pid};
}

// The segments of a file that are code, as the loader maps them: whole pages.
static void write_segments(const struct listing *listing, const struct elf_object *object, uint64_t bias,
			   const struct spool_mapping *file, const char *path) {
	const uint64_t page = 4096;
	for (size_t i = 0; i < object->segment_count; i++) {
		const struct elf_segment *segment = &object->segments[i];
		struct spool_mapping mapping = *file;
		if (!segment->executable)
			continue;
		mapping.start = (bias + segment->address) & -page;
		mapping.size = ((bias + segment->address + segment->size + page - 1) & -page) - mapping.start;
		mapping.offset = segment->offset & -page;
		write_mapping(listing, mapping, path);
	}
}

// The file as the process sees it, which may be in a container, or as we do.
static bool find_file(uint32_t pid, const char *path, struct file_number *number) {
	struct stat file;
	CLEANUP_FREE char *theirs = memory_format("/proc/%u/root%s", pid, path);
	if (*path != '/' || (stat(theirs, &file) && stat(path, &file)) || !S_ISREG(file.st_mode))
		return false;
	*number = (struct file_number){file.st_dev, file.st_ino};
	return true;
}

// The code of the file, with its build id in `mapping`; NULL if there is no such file.
static const struct elf_object *look_at(const struct listing *listing, const char *path,
					struct spool_mapping *mapping) {
	struct file_number number;
	*mapping = mapping_of(listing);
	if (!find_file(mapping->pid, path, &number))
		return NULL;
	uint32_t index = mapped_files_look(&listing->code->files, mapping, number, path);
	struct elf_object *object = index ? listing->code->files.items.items[index - 1].object : NULL;
	if (object)
		elf_let_go(object);
	return object;
}

static void list_vdso(const struct listing *listing, uint64_t address) {
	enum { VDSO_SIZE = 8192 };
	struct spool_mapping mapping = mapping_of(listing);
	mapping.start = address;
	mapping.size = VDSO_SIZE;
	mapped_files_look(&listing->code->files, &mapping, (struct file_number){0}, "[vdso]");
	write_mapping(listing, mapping, "[vdso]");
}

static void list_module(const struct listing *listing, const struct crash_module *module) {
	struct spool_mapping mapping;
	if (strncmp(module->name, "linux-vdso.so", strlen("linux-vdso.so")) == 0) {
		list_vdso(listing, module->bias);
		return;
	}
	CLEANUP_FREE char *whole = realpath(module->name, NULL); // the kernel's name for it
	if (!whole)
		whole = memory_string(module->name);
	const struct elf_object *object = look_at(listing, whole, &mapping);
	if (object)
		write_segments(listing, object, module->bias, &mapping, whole);
}

// The program itself. Its entry shows whether this is the file: the process may run another one by now.
static bool list_program(const struct listing *listing, const char *path) {
	struct spool_mapping mapping;
	const struct elf_object *object = look_at(listing, path, &mapping);
	uint64_t bias = object ? listing->record->entry - object->entry : 0;
	if (!object || bias % 4096)
		return false;
	if (listing->record->module_count && bias != listing->record->modules[0].bias)
		return false;
	write_segments(listing, object, bias, &mapping, path);
	return true;
}

static void find_program(const struct listing *listing) {
	char link[64], path[4096];
	snprintf(link, sizeof(link), "/proc/%u/exe", listing->record->pid);
	ssize_t size = readlink(link, path, sizeof(path) - 1);
	path[MAX(size, 0)] = 0;
	CLEANUP_FREE char *named = realpath(listing->record->program, NULL);
	if (size <= 0 || !list_program(listing, path))
		(void)(named && list_program(listing, named));
}

// False if it is not whole.
static bool take_record(struct record_crash *record, const struct batch *batch) {
	const size_t least = offsetof(struct record_crash, modules);
	memset(record, 0, sizeof(*record));
	if (batch->size < least || batch->size > sizeof(*record))
		return false;
	memcpy(record, batch + 1, batch->size);
	record->program[CRASH_PROGRAM_SIZE - 1] = 0;
	for (size_t i = 0; i < CRASH_MODULES; i++)
		record->modules[i].name[CRASH_MODULE_NAME - 1] = 0;
	return record->module_count <= (batch->size - least) / sizeof(struct crash_module);
}

// ---- compiled code ----

static struct compiling *compiling_of(struct collector_code *code, uint32_t pid) {
	uint64_t *index = map_put(&code->by_pid, pid);
	if (!*index) {
		array_push(&code->compiling, (struct compiling){0});
		*index = code->compiling.count;
	}
	return &code->compiling.items[*index - 1];
}

// The address space is a new one, or will be listed anew.
static void forget_compiled(struct collector_code *code, uint32_t pid) {
	struct compiling *compiling = compiling_of(code, pid);
	compiling->looked = 0;
	compiling->known.count = 0;
}

static void list_compiled(void *context, const struct task_mapping *found) {
	const struct listing *listing = context;
	struct compiling *compiling = compiling_of(listing->code, listing->pid);
	if (!space_is_compiled(found->path) || compiling->known.count >= MOST_COMPILED)
		return;
	for (size_t i = 0; i < compiling->known.count; i++)
		if (compiling->known.items[i].start == found->start &&
		    compiling->known.items[i].size == found->size)
			return;
	array_push(&compiling->known, (struct compiled){found->start, found->size});
	struct spool_mapping mapping = mapping_of(listing);
	mapping.start = found->start;
	mapping.size = found->size;
	mapping.offset = found->offset;
	write_mapping(listing, mapping, found->path);
}

// The process may have ended; then its compiled code has no names.
void collector_code_stack(struct collector_code *code, struct spool *spool, const struct batch *batch) {
	struct record_sample sample;
	if (batch->size < sizeof(sample))
		return;
	memcpy(&sample, batch + 1, sizeof(sample));
	struct compiling *compiling = compiling_of(code, sample.pid);
	if (compiling->looked && batch->base < compiling->looked + LOOK_EVERY)
		return;
	compiling->looked = batch->base;
	struct listing listing = {code, spool, NULL, batch->base - 1, sample.pid};
	task_mappings((pid_t)sample.pid, list_compiled, &listing);
}

// The reader takes a mapping of nothing for a new address space; the stack comes right after.
void collector_code_modules(struct collector_code *code, struct spool *spool, const struct batch *batch) {
	struct record_crash *record = memory_alloc(sizeof(*record));
	struct listing listing = {code, spool, record, batch->base - 2, 0};
	if (take_record(record, batch)) {
		listing.pid = record->pid;
		forget_compiled(code, record->pid);
		write_mapping(&listing, mapping_of(&listing), "");
		listing.time++;
		find_program(&listing);
		for (uint32_t i = 0; i < record->module_count; i++)
			if (i || *record->modules[i].name)
				list_module(&listing, &record->modules[i]);
	}
	free(record);
}

// ---- the beginning and the end ----

struct collector_code *collector_code_new(void) {
	struct collector_code *code = memory_alloc(sizeof(*code));
	kernel_symbols_resolve_by(resolve, code, HIDDEN_TEXT);
	return code;
}

void collector_code_free(struct collector_code *code) {
	if (!code)
		return;
	kernel_symbols_resolve_by(NULL, NULL, 0);
	mapped_files_free(&code->files);
	for (size_t i = 0; i < code->compiling.count; i++)
		array_free(&code->compiling.items[i].known);
	array_free(&code->compiling);
	map_free(&code->by_pid);
	for (size_t page = 0; page < ARRAY_SIZE(code->pages); page++) {
		for (size_t i = 0; code->pages[page] && i < NAMES_OF_PAGE; i++)
			free(code->pages[page][i]);
		free(code->pages[page]);
	}
	free(code);
}
