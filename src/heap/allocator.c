// The dynamic linker takes a function from the first file in its list that has it: the program,
// preloaded libraries, other libraries in their order. The list is read from the process's memory,
// where debuggers find it. A static program has no list and contains everything.
//
// A program may also contain an allocator under other names (jemalloc and mimalloc in Rust
// programs): its functions are watched together with those of the C library.
//
// The files belong to the process, which may be anyone's. We open them; a reader process looks into them
// (symbol/allocator_symbols.c).
#include "heap/allocator.h"

#include "base/file.h"
#include "base/log.h"
#include "capture/tasks.h"
#include "symbol/reader.h"

#include <errno.h>
#include <fcntl.h>
#include <elf.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

// ---- the files of a process, in the linker's order ----

struct file {
	uint64_t start, size;
	char *path;
};

struct files {
	ARRAY(struct file) mapped;   // files with code
	ARRAY(const char *) ordered; // the program first
};

static void take_mapping(void *context, const struct task_mapping *mapping) {
	struct files *files = context;
	if (*mapping->path == '/' && strcmp(mapping->path, "//anon") != 0)
		array_push(&files->mapped,
			   (struct file){mapping->start, mapping->size, memory_string(mapping->path)});
}

static void add_file(struct files *files, const char *path) {
	for (size_t i = 0; i < files->ordered.count; i++)
		if (strcmp(files->ordered.items[i], path) == 0)
			return;
	array_push(&files->ordered, path);
}

// The file whose code comes next in memory is the one that was loaded there.
static void add_loaded(struct files *files, uint64_t address) {
	const struct file *next = NULL;
	for (size_t i = 0; i < files->mapped.count; i++) {
		const struct file *file = &files->mapped.items[i];
		if (file->start >= address && (!next || file->start < next->start))
			next = file;
	}
	if (next)
		add_file(files, next->path);
}

static bool read_memory(int memory, uint64_t address, void *out, size_t size) {
	return pread(memory, out, size, (off_t)address) == (ssize_t)size;
}

static uint64_t auxiliary(pid_t process, uint64_t key) {
	uint64_t entries[128] = {0};
	char path[64];
	snprintf(path, sizeof(path), "/proc/%d/auxv", (int)process);
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t size = fd < 0 ? 0 : read(fd, entries, sizeof(entries));
	if (fd >= 0)
		close(fd);
	for (ssize_t i = 0; i + 1 < size / 8; i += 2)
		if (entries[i] == key)
			return entries[i + 1];
	return 0;
}

// Where the dynamic linker publishes its list for debuggers; 0 if nowhere.
static uint64_t debugger_door(pid_t process, int memory) {
	enum { MOST_HEADERS = 64, MOST_ENTRIES = 256 };
	Elf64_Phdr headers[MOST_HEADERS];
	Elf64_Dyn entry;
	uint64_t at = auxiliary(process, AT_PHDR), count = auxiliary(process, AT_PHNUM), bias = 0,
		 dynamic = 0;
	if (!at || count > MOST_HEADERS || !read_memory(memory, at, headers, count * sizeof(*headers)))
		return 0;
	for (size_t i = 0; i < count; i++) {
		if (headers[i].p_type == PT_PHDR)
			bias = at - headers[i].p_vaddr;
		if (headers[i].p_type == PT_DYNAMIC)
			dynamic = headers[i].p_vaddr;
	}
	for (size_t i = 0; dynamic && i < MOST_ENTRIES; i++) {
		if (!read_memory(memory, bias + dynamic + i * sizeof(entry), &entry, sizeof(entry)) ||
		    entry.d_tag == DT_NULL)
			return 0;
		if (entry.d_tag == DT_DEBUG)
			return entry.d_un.d_ptr;
	}
	return 0;
}

static void follow_list(struct files *files, pid_t process) {
	enum { MOST_FILES = 4096 };
	struct {
		uint64_t address, name, dynamic, next, previous;
	} entry;
	struct {
		uint64_t version, list;
	} debug = {0};
	char path[64];
	snprintf(path, sizeof(path), "/proc/%d/mem", (int)process);
	int memory = open(path, O_RDONLY | O_CLOEXEC);
	if (memory < 0)
		return;
	uint64_t door = debugger_door(process, memory);
	if (door && read_memory(memory, door, &debug, sizeof(debug)))
		for (int i = 0; i < MOST_FILES && debug.list; i++) {
			if (!read_memory(memory, debug.list, &entry, sizeof(entry)))
				break;
			if (i > 0) // the first is the program
				add_loaded(files, entry.address);
			debug.list = entry.next;
		}
	close(memory);
}

static int list_files(struct files *files, pid_t process, char *why) {
	char link[64], program[4096];
	snprintf(link, sizeof(link), "/proc/%d/exe", (int)process);
	ssize_t size = readlink(link, program, sizeof(program) - 1);
	if (size < 0) {
		int error = -errno;
		snprintf(why, HEAP_WHY_SIZE, "%s",
			 error == -ENOENT ? "it is a kernel thread or has ended" : strerror(-error));
		return error;
	}
	program[size] = 0;
	task_mappings(process, take_mapping, files);
	for (size_t i = 0; i < files->mapped.count; i++)
		if (strcmp(files->mapped.items[i].path, program) == 0)
			add_file(files, files->mapped.items[i].path);
	follow_list(files, process);
	for (size_t i = 0; i < files->mapped.count; i++) // files that are not in the list
		add_file(files, files->mapped.items[i].path);
	return 0;
}

static void free_files(struct files *files) {
	for (size_t i = 0; i < files->mapped.count; i++)
		free(files->mapped.items[i].path);
	array_free(&files->mapped);
	array_free(&files->ordered);
}

// A path by which we can open the file; a replaced file is still accessible through its mapping.
static char *reachable(const struct files *files, pid_t process, const char *path) {
	static const char deleted[] = " (deleted)";
	size_t length = strlen(path), tail = sizeof(deleted) - 1;
	if (length < tail || strcmp(path + length - tail, deleted) != 0)
		return memory_format("/proc/%d/root%s", (int)process, path);
	for (size_t i = 0; i < files->mapped.count; i++)
		if (files->mapped.items[i].path == path)
			return memory_format("/proc/%d/map_files/%llx-%llx", (int)process,
					     (unsigned long long)files->mapped.items[i].start,
					     (unsigned long long)(files->mapped.items[i].start +
								  files->mapped.items[i].size));
	return memory_string(path);
}

// ---- choosing ----

struct search {
	struct allocator *allocator;
	struct files files;
	pid_t process;
	struct reader *reader;
	struct allocator_symbols symbols; // of the file that is looked at
	char *why;                        // of HEAP_WHY_SIZE
};

static void add_places(struct search *search, const char *path, bool prefixed) {
	for (size_t i = 0; i < search->symbols.count; i++) {
		const struct allocator_place *place = &search->symbols.places[i];
		bool known = place->prefixed != prefixed;
		for (size_t k = 0; k < search->allocator->places.count && !known; k++)
			known = search->allocator->places.items[k].path == path &&
				search->allocator->places.items[k].offset == place->offset;
		if (!known)
			array_push(&search->allocator->places,
				   (struct heap_place){path, place->offset, place->function});
	}
}

static const char *base_name(const char *path) {
	const char *slash = strrchr(path, '/');
	return slash ? slash + 1 : path;
}

// An unreadable library does not matter, unless the reader died of it: it may be the allocator. An unreadable
// program does.
static int read_file(struct search *search, const char *name, int file, bool is_program) {
	int error = file < 0 ? file : reader_allocator(search->reader, file, is_program, &search->symbols);
	const char *problem = file < 0 ? strerror(-error) : reader_problem(search->reader);
	if (error && (is_program || error == -EINTR)) {
		snprintf(search->why, HEAP_WHY_SIZE, "%s: %s", name, problem);
		return error;
	}
	if (error && file >= 0)
		log_warning("%s: cannot look for an allocator there: %s", name, problem);
	if (error)
		search->symbols = (struct allocator_symbols){.is_other_machine = true};
	return 0;
}

static int check_program(struct search *search, const char *name) {
	if (search->symbols.is_other_machine)
		snprintf(search->why, HEAP_WHY_SIZE, "%s: stacks can be walked only on x86-64",
			 base_name(name));
	else if (search->symbols.is_go)
		snprintf(search->why, HEAP_WHY_SIZE,
			 "%s is a Go program, whose allocator cannot be watched; use runtime/pprof",
			 base_name(name));
	else
		return 0;
	return -ENOTSUP;
}

// Probes are placed into the file that was read, whatever its name leads to by then.
static const char *keep_file(struct allocator *allocator, int file) {
	char *path = memory_format("/proc/self/fd/%d", file);
	array_push(&allocator->files, file);
	array_push(&allocator->paths, path);
	return path;
}

static int take_places(struct search *search, const char *path, bool is_program) {
	if (is_program)
		add_places(search, path, true);
	if (search->symbols.has_malloc)
		add_places(search, path, false);
	return search->symbols.has_malloc;
}

// Takes a file's functions. Returns 1 to stop the search, 0 to continue, or -errno with a reason.
static int take_file(struct search *search, size_t index) {
	struct allocator *allocator = search->allocator;
	const char *name = search->files.ordered.items[index];
	CLEANUP_FREE char *reached = reachable(&search->files, search->process, name);
	bool is_program = index == 0;
	int file = section_open_file(reached);
	int result = read_file(search, name, file, is_program);
	if (!result && is_program)
		result = check_program(search, name);
	if (result || file < 0 || !search->symbols.count) {
		if (file >= 0)
			close(file);
		return result;
	}
	result = take_places(search, keep_file(allocator, file), is_program);
	if (allocator->places.count && !allocator->name)
		allocator->name = memory_string(name);
	return result;
}

int allocator_find(struct allocator *allocator, pid_t process, const volatile sig_atomic_t *stop, char *why) {
	struct search search = {.allocator = allocator, .process = process, .why = why};
	*allocator = (struct allocator){0};
	search.reader = reader_new();
	reader_stop_when(search.reader, stop);
	int result = list_files(&search.files, process, why);
	for (size_t i = 0; i < search.files.ordered.count && !result; i++)
		result = take_file(&search, i);
	free_files(&search.files);
	reader_free(search.reader);
	if (result >= 0 && !allocator->places.count) {
		snprintf(why, HEAP_WHY_SIZE,
			 "none of its files defines malloc: it has its own allocator, or no symbols");
		result = -ENOTSUP;
	}
	if (result < 0)
		allocator_free(allocator);
	return MIN(result, 0);
}

static bool has_prefixed(const struct allocator_symbols *symbols) {
	bool found = false;
	for (size_t i = 0; i < symbols->count; i++)
		found |= symbols->places[i].prefixed;
	return found;
}

static const char *describe(const struct allocator_symbols *symbols) {
	return symbols->is_go          ? "Go's"
	       : symbols->is_sanitized ? "a sanitizer's"
	       : symbols->has_malloc   ? "its own malloc()"
	       : has_prefixed(symbols) ? "jemalloc or mimalloc under prefixed names"
				       : NULL;
}

const char *allocator_within(const char *program) {
	struct allocator_symbols symbols;
	struct reader *reader = reader_new();
	int file = section_open_file(program);
	bool read = file >= 0 && reader_allocator(reader, file, true, &symbols) == 0;
	if (file >= 0)
		close(file);
	reader_free(reader);
	return read ? describe(&symbols) : NULL;
}

void allocator_free(struct allocator *allocator) {
	for (size_t i = 0; i < allocator->paths.count; i++)
		free(allocator->paths.items[i]);
	for (size_t i = 0; i < allocator->files.count; i++)
		close(allocator->files.items[i]);
	array_free(&allocator->paths);
	array_free(&allocator->files);
	array_free(&allocator->places);
	free(allocator->name);
	*allocator = (struct allocator){0};
}
