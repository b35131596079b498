// The dynamic linker takes a function from the first file of its list that has it: the
// program, what is preloaded, libraries in their order. The list is read from the process's
// memory, where debuggers find it. A static program has no list, and everything in itself.
//
// A program may also bring an allocator under other names (Rust's jemalloc and mimalloc do):
// its functions are watched together with those of the C library.
#include "session/allocator.h"

#include "base/map.h"
#include "capture/tasks.h"
#include "session/probe_point.h"

#include <errno.h>
#include <fcntl.h>
#include <gelf.h>
#include <libelf.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static const struct {
	const char *name;
	enum heap_function function;
} functions[] = {
	{"malloc", HEAP_CALL_SIZE},
	{"calloc", HEAP_CALL_COUNT},
	{"realloc", HEAP_CALL_RESIZE},
	{"reallocarray", HEAP_CALL_RESIZE_COUNT},
	{"memalign", HEAP_CALL_ALIGNED},
	{"aligned_alloc", HEAP_CALL_ALIGNED},
	{"posix_memalign", HEAP_CALL_INTO},
	{"valloc", HEAP_CALL_SIZE},
	{"pvalloc", HEAP_CALL_SIZE},
	{"free", HEAP_CALL_FREE},
	{"cfree", HEAP_CALL_FREE},
	// jemalloc's own
	{"mallocx", HEAP_CALL_SIZE},
	{"rallocx", HEAP_CALL_RESIZE},
	{"dallocx", HEAP_CALL_FREE},
	{"sdallocx", HEAP_CALL_FREE},
	// C++: allocators bring these, too
	{"_Znwm", HEAP_CALL_SIZE},
	{"_Znam", HEAP_CALL_SIZE},
	{"_ZnwmRKSt9nothrow_t", HEAP_CALL_SIZE},
	{"_ZnamRKSt9nothrow_t", HEAP_CALL_SIZE},
	{"_ZnwmSt11align_val_t", HEAP_CALL_SIZE},
	{"_ZnamSt11align_val_t", HEAP_CALL_SIZE},
	{"_ZnwmSt11align_val_tRKSt9nothrow_t", HEAP_CALL_SIZE},
	{"_ZnamSt11align_val_tRKSt9nothrow_t", HEAP_CALL_SIZE},
	{"_ZdlPv", HEAP_CALL_FREE},
	{"_ZdaPv", HEAP_CALL_FREE},
	{"_ZdlPvm", HEAP_CALL_FREE},
	{"_ZdaPvm", HEAP_CALL_FREE},
	{"_ZdlPvRKSt9nothrow_t", HEAP_CALL_FREE},
	{"_ZdaPvRKSt9nothrow_t", HEAP_CALL_FREE},
	{"_ZdlPvSt11align_val_t", HEAP_CALL_FREE},
	{"_ZdaPvSt11align_val_t", HEAP_CALL_FREE},
	{"_ZdlPvmSt11align_val_t", HEAP_CALL_FREE},
	{"_ZdaPvmSt11align_val_t", HEAP_CALL_FREE},
};

// mimalloc's, with a prefix always.
static const struct {
	const char *name;
	enum heap_function function;
} mimalloc_functions[] = {
	{"malloc_aligned", HEAP_CALL_SIZE},    {"zalloc", HEAP_CALL_SIZE},
	{"zalloc_aligned", HEAP_CALL_SIZE},    {"realloc_aligned", HEAP_CALL_RESIZE},
	{"free_size", HEAP_CALL_FREE},         {"free_aligned", HEAP_CALL_FREE},
	{"free_size_aligned", HEAP_CALL_FREE},
};

static const char *const sanitizers[] = {"__asan_init", "__msan_init", "__tsan_init", "__hwasan_init"};

static const char *const prefixes[] = {"_rjem_", "je_", "mi_"};

// ---- the symbols of a file ----

struct found {
	uint64_t offset;
	enum heap_function function;
};

struct symbols { // of one file
	ARRAY(struct found) plain, prefixed;
	bool has_malloc, is_go, is_sanitized, is_other_machine;
};

static enum heap_function function_named(const char *name) {
	for (size_t i = 0; i < ARRAY_SIZE(functions); i++)
		if (strcmp(functions[i].name, name) == 0)
			return functions[i].function;
	return HEAP_CALL_NONE;
}

static enum heap_function function_prefixed(const char *name) {
	for (size_t i = 0; i < ARRAY_SIZE(prefixes); i++) {
		size_t size = strlen(prefixes[i]);
		if (strncmp(name, prefixes[i], size) != 0)
			continue;
		for (size_t k = 0; strcmp(prefixes[i], "mi_") == 0 && k < ARRAY_SIZE(mimalloc_functions); k++)
			if (strcmp(mimalloc_functions[k].name, name + size) == 0)
				return mimalloc_functions[k].function;
		return function_named(name + size);
	}
	return HEAP_CALL_NONE;
}

static bool file_offset(Elf *elf, uint64_t address, uint64_t *offset) {
	size_t count = 0;
	elf_getphdrnum(elf, &count);
	for (size_t i = 0; i < count; i++) {
		GElf_Phdr header;
		if (gelf_getphdr(elf, (int)i, &header) && header.p_type == PT_LOAD &&
		    address >= header.p_vaddr && address - header.p_vaddr < header.p_filesz) {
			*offset = address - header.p_vaddr + header.p_offset;
			return true;
		}
	}
	return false;
}

// Where a program is put that sees the function begin.
static uint64_t probe_offset(Elf *elf, uint64_t offset, uint64_t size) {
	enum { LOOKED_AT = 64 };
	size_t file_size = 0;
	const char *bytes = elf_rawfile(elf, &file_size);
	if (!bytes || offset >= file_size)
		return offset;
	size_t least = MIN(file_size - offset, LOOKED_AT);
	return offset + probe_point((const uint8_t *)bytes + offset, size ? MIN(least, size) : least);
}

static void take_symbol(struct symbols *symbols, Elf *elf, const GElf_Sym *symbol, const char *name,
			bool exported) {
	struct found found = {0};
	bool is_code = GELF_ST_TYPE(symbol->st_info) == STT_FUNC && symbol->st_shndx != SHN_UNDEF;
	if (!name || !is_code)
		return;
	symbols->is_go |= strcmp(name, "runtime.mallocgc") == 0;
	for (size_t i = 0; i < ARRAY_SIZE(sanitizers); i++)
		symbols->is_sanitized |= strcmp(name, sanitizers[i]) == 0;
	found.function = exported ? function_named(name) : HEAP_CALL_NONE;
	bool plain = found.function != HEAP_CALL_NONE;
	if (!plain)
		found.function = function_prefixed(name);
	if (found.function == HEAP_CALL_NONE || !file_offset(elf, symbol->st_value, &found.offset))
		return;
	found.offset = probe_offset(elf, found.offset, symbol->st_size);
	if (plain) {
		array_push(&symbols->plain, found);
		symbols->has_malloc |= strcmp(name, "malloc") == 0;
	} else {
		array_push(&symbols->prefixed, found);
	}
}

static void take_section(struct symbols *symbols, Elf *elf, Elf_Scn *section, bool is_static) {
	GElf_Shdr header;
	if (!gelf_getshdr(section, &header) || !header.sh_entsize ||
	    (header.sh_type != SHT_DYNSYM && header.sh_type != SHT_SYMTAB))
		return;
	Elf_Data *data = elf_getdata(section, NULL);
	bool exported = header.sh_type == SHT_DYNSYM || is_static;
	for (size_t i = 0; data && i < header.sh_size / header.sh_entsize; i++) {
		GElf_Sym symbol;
		if (gelf_getsym(data, (int)i, &symbol))
			take_symbol(symbols, elf, &symbol, elf_strptr(elf, header.sh_link, symbol.st_name),
				    exported);
	}
}

static bool has_interpreter(Elf *elf) {
	size_t count = 0;
	elf_getphdrnum(elf, &count);
	for (size_t i = 0; i < count; i++) {
		GElf_Phdr header;
		if (gelf_getphdr(elf, (int)i, &header) && header.p_type == PT_INTERP)
			return true;
	}
	return false;
}

static void read_elf(struct symbols *symbols, Elf *elf, bool is_program) {
	GElf_Ehdr header;
	size_t names = 0;
	if (!gelf_getehdr(elf, &header) || header.e_machine != EM_X86_64) {
		symbols->is_other_machine = true;
		return;
	}
	bool is_static = is_program && !has_interpreter(elf);
	elf_getshdrstrndx(elf, &names);
	for (Elf_Scn *section = NULL; (section = elf_nextscn(elf, section));) {
		GElf_Shdr section_header;
		const char *name = gelf_getshdr(section, &section_header)
					   ? elf_strptr(elf, names, section_header.sh_name)
					   : NULL;
		symbols->is_go |= name && strcmp(name, ".go.buildinfo") == 0;
		take_section(symbols, elf, section, is_static);
	}
}

static int read_symbols(struct symbols *symbols, const char *path, bool is_program) {
	elf_version(EV_CURRENT);
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return -errno;
	Elf *elf = elf_begin(fd, ELF_C_READ_MMAP, NULL);
	if (elf)
		read_elf(symbols, elf, is_program);
	elf_end(elf);
	close(fd);
	return elf ? 0 : -EINVAL;
}

static void free_symbols(struct symbols *symbols) {
	array_free(&symbols->plain);
	array_free(&symbols->prefixed);
}

// ---- the files of a process, in the linker's order ----

struct file {
	uint64_t start, size;
	char *path;
};

struct files {
	ARRAY(struct file) mapped;   // with code
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

// Where the linker tells debuggers of its list; 0: there is none.
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
			 error == -ENOENT ? "it is a thread of the kernel, or is gone" : strerror(-error));
		return error;
	}
	program[size] = 0;
	task_mappings(process, take_mapping, files);
	for (size_t i = 0; i < files->mapped.count; i++)
		if (strcmp(files->mapped.items[i].path, program) == 0)
			add_file(files, files->mapped.items[i].path);
	follow_list(files, process);
	for (size_t i = 0; i < files->mapped.count; i++) // what the list does not tell
		add_file(files, files->mapped.items[i].path);
	return 0;
}

static void free_files(struct files *files) {
	for (size_t i = 0; i < files->mapped.count; i++)
		free(files->mapped.items[i].path);
	array_free(&files->mapped);
	array_free(&files->ordered);
}

// As we can open it; a file that was replaced is still there by way of its mapping.
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

static void add_places(struct allocator *allocator, char *path, const struct found *found, size_t count) {
	for (size_t i = 0; i < count; i++) {
		bool known = false;
		for (size_t k = 0; k < allocator->places.count && !known; k++)
			known = allocator->places.items[k].path == path &&
				allocator->places.items[k].offset == found[i].offset;
		if (!known)
			array_push(&allocator->places,
				   (struct heap_place){path, found[i].offset, found[i].function});
	}
}

static const char *base_name(const char *path) {
	const char *slash = strrchr(path, '/');
	return slash ? slash + 1 : path;
}

// Takes what a file has. 1: the search is over; 0: it goes on; or -errno, and why.
static int take_file(struct allocator *allocator, const struct files *files, size_t index, pid_t process,
		     char *why) {
	struct symbols symbols = {0};
	const char *name = files->ordered.items[index];
	char *path = reachable(files, process, name);
	bool is_program = index == 0;
	int result = read_symbols(&symbols, path, is_program);
	if (result) { // a library that cannot be read is none of interest; without the program nothing is
		      // known
		if (is_program)
			snprintf(why, HEAP_WHY_SIZE, "%s: %s", name, strerror(-result));
		else
			result = 0;
	} else if (is_program && symbols.is_other_machine) {
		snprintf(why, HEAP_WHY_SIZE, "%s: stacks are walked on x86-64 only", base_name(name));
		result = -ENOTSUP;
	} else if (is_program && symbols.is_go) {
		snprintf(why, HEAP_WHY_SIZE,
			 "%s is of Go, which has an allocator of its own that cannot be "
			 "watched: runtime/pprof tells its heap",
			 base_name(name));
		result = -ENOTSUP;
	} else {
		if (is_program)
			add_places(allocator, path, symbols.prefixed.items, symbols.prefixed.count);
		if (symbols.has_malloc) {
			add_places(allocator, path, symbols.plain.items, symbols.plain.count);
			result = 1;
		}
		if (allocator->places.count && !allocator->name)
			allocator->name = memory_string(name);
	}
	array_push(&allocator->paths, path);
	free_symbols(&symbols);
	return result;
}

int allocator_find(struct allocator *allocator, pid_t process, char *why) {
	struct files files = {0};
	*allocator = (struct allocator){0};
	int result = list_files(&files, process, why);
	for (size_t i = 0; i < files.ordered.count && !result; i++)
		result = take_file(allocator, &files, i, process, why);
	free_files(&files);
	if (result >= 0 && !allocator->places.count) {
		snprintf(why, HEAP_WHY_SIZE,
			 "no file of it has a function malloc: it has an allocator of its own, "
			 "or no symbols");
		result = -ENOTSUP;
	}
	if (result < 0)
		allocator_free(allocator);
	return MIN(result, 0);
}

const char *allocator_within(const char *program) {
	struct symbols symbols = {0};
	const char *what = NULL;
	if (read_symbols(&symbols, program, true) == 0) {
		if (symbols.is_go)
			what = "Go's";
		else if (symbols.is_sanitized)
			what = "a sanitizer's";
		else if (symbols.has_malloc)
			what = "a malloc() of its own";
		else if (symbols.prefixed.count)
			what = "jemalloc or mimalloc under names of its own";
	}
	free_symbols(&symbols);
	return what;
}

void allocator_free(struct allocator *allocator) {
	for (size_t i = 0; i < allocator->paths.count; i++)
		free(allocator->paths.items[i]);
	array_free(&allocator->paths);
	array_free(&allocator->places);
	free(allocator->name);
	*allocator = (struct allocator){0};
}
