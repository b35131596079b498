// Searches for libraries as ld.so(8) does, without its cache: in the file's own RUNPATH or RPATH, the
// directories of /etc/ld.so.conf, the default ones. Like the loader, it skips libraries for other
// architectures.
#include "vm/needed.h"
#include "base/array.h"
#include "base/map.h"
#include "base/siphash.h"

#include <fcntl.h>
#include <gelf.h>
#include <glob.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { FILES_MOST = 1024, CONFIGURATIONS_DEEPEST = 4 };

typedef ARRAY(char *) text_array;

struct search {
	const struct needed_reader *reader;
	text_array folders; // of the configuration
	text_array queue;   // files whose needs are not known yet
	struct map seen;    // by hash of the path
};

static void free_texts(text_array *texts) {
	for (size_t i = 0; i < texts->count; i++)
		free(texts->items[i]);
	array_free(texts);
}

// ---- where libraries are ----

static void read_configuration(text_array *folders, const char *path, unsigned depth) {
	char line[4096];
	FILE *file = depth < CONFIGURATIONS_DEEPEST ? fopen(path, "re") : NULL;
	while (file && fgets(line, sizeof(line), file)) {
		char *text = line + strspn(line, " \t");
		text[strcspn(text, "#\r\n")] = 0;
		if (*text == '/') {
			array_push(folders, memory_string(text));
		} else if (strncmp(text, "include ", 8) == 0) {
			glob_t found = {0};
			if (glob(text + 8, 0, NULL, &found) == 0)
				for (size_t i = 0; i < found.gl_pathc; i++)
					read_configuration(folders, found.gl_pathv[i], depth + 1);
			globfree(&found);
		}
	}
	if (file)
		fclose(file);
}

static bool is_for_machine(const char *path, unsigned machine) {
	GElf_Ehdr header;
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	Elf *elf = fd < 0 ? NULL : elf_begin(fd, ELF_C_READ_MMAP, NULL);
	bool good = elf && gelf_getehdr(elf, &header) && header.e_machine == machine;
	elf_end(elf);
	if (fd >= 0)
		close(fd);
	return good;
}

// A directory in RUNPATH, which may be relative to the file's own ($ORIGIN).
static char *folder_of(const char *text, size_t size, const char *file) {
	static const char *const origins[] = {"$ORIGIN", "${ORIGIN}"};
	const char *slash = strrchr(file, '/');
	for (size_t i = 0; i < ARRAY_SIZE(origins); i++) {
		size_t length = strlen(origins[i]);
		if (size >= length && strncmp(text, origins[i], length) == 0)
			return memory_format("%.*s%.*s", slash ? (int)(slash - file) : 1, slash ? file : ".",
					     (int)(size - length), text + length);
	}
	return memory_format("%.*s", (int)size, text);
}

static char *try_folder(const char *folder, const char *name, unsigned machine) {
	char *path = memory_format("%s/%s", folder, name);
	if (access(path, R_OK) == 0 && is_for_machine(path, machine))
		return path;
	free(path);
	return NULL;
}

static char *find_library(const struct search *search, const char *name, const char *run_path,
			  const char *file, unsigned machine) {
	static const char *const usual[] = {"/lib64", "/usr/lib64", "/lib", "/usr/lib"};
	char *found = NULL;
	if (strchr(name, '/'))
		return access(name, R_OK) == 0 ? memory_string(name) : NULL;
	while (!found && run_path && *run_path) {
		size_t size = strcspn(run_path, ":");
		CLEANUP_FREE char *folder = folder_of(run_path, size, file);
		found = try_folder(folder, name, machine);
		run_path += size + (run_path[size] == ':');
	}
	for (size_t i = 0; !found && i < search->folders.count; i++)
		found = try_folder(search->folders.items[i], name, machine);
	for (size_t i = 0; !found && i < ARRAY_SIZE(usual); i++)
		found = try_folder(usual[i], name, machine);
	return found;
}

// ---- what a file needs ----

static void report(struct search *search, const char *path) {
	uint64_t key = siphash13(path, strlen(path));
	if (map_get(&search->seen, key) || search->seen.count >= FILES_MOST)
		return;
	*map_put(&search->seen, key) = 1;
	search->reader->found(search->reader->context, path, path);
	array_push(&search->queue, memory_string(path));
}

static void take_interpreter(struct search *search, Elf *elf, const GElf_Phdr *segment) {
	size_t size;
	const char *bytes = elf_rawfile(elf, &size);
	if (segment->p_offset >= size || segment->p_filesz > size - segment->p_offset || !segment->p_filesz ||
	    bytes[segment->p_offset + segment->p_filesz - 1])
		return;
	const char *path = bytes + segment->p_offset;
	if (access(path, R_OK) == 0)
		report(search, path);
	else
		search->reader->missing(search->reader->context, path, "its loader");
}

static void take_dynamic(struct search *search, Elf *elf, Elf_Scn *section, const char *file,
			 unsigned machine) {
	GElf_Shdr header;
	Elf_Data *data = elf_getdata(section, NULL);
	GElf_Dyn entry;
	const char *run_path = NULL;
	if (!data || !gelf_getshdr(section, &header))
		return;
	for (int i = 0; gelf_getdyn(data, i, &entry); i++)
		if (entry.d_tag == DT_RUNPATH || (entry.d_tag == DT_RPATH && !run_path))
			run_path = elf_strptr(elf, header.sh_link, entry.d_un.d_val);
	for (int i = 0; gelf_getdyn(data, i, &entry); i++) {
		const char *name = entry.d_tag == DT_NEEDED
					   ? elf_strptr(elf, header.sh_link, entry.d_un.d_val)
					   : NULL;
		CLEANUP_FREE char *path = name ? find_library(search, name, run_path, file, machine) : NULL;
		if (path)
			report(search, path);
		else if (name)
			search->reader->missing(search->reader->context, name, file);
	}
}

static bool take_elf(struct search *search, const char *file, int fd) {
	Elf *elf = elf_begin(fd, ELF_C_READ_MMAP, NULL);
	GElf_Ehdr header;
	bool good = elf && elf_kind(elf) == ELF_K_ELF && gelf_getehdr(elf, &header);
	size_t segments = 0;
	GElf_Phdr segment;
	GElf_Shdr section_header;
	if (good && elf_getphdrnum(elf, &segments) == 0)
		for (size_t i = 0; i < segments; i++)
			if (gelf_getphdr(elf, (int)i, &segment) && segment.p_type == PT_INTERP)
				take_interpreter(search, elf, &segment);
	for (Elf_Scn *section = NULL; good && (section = elf_nextscn(elf, section));)
		if (gelf_getshdr(section, &section_header) && section_header.sh_type == SHT_DYNAMIC)
			take_dynamic(search, elf, section, file, header.e_machine);
	elf_end(elf);
	return good;
}

// "#!/usr/bin/env NAME" needs both.
static bool take_script(struct search *search, int fd) {
	char line[256] = "";
	if (pread(fd, line, sizeof(line) - 1, 0) < 3 || line[0] != '#' || line[1] != '!')
		return false;
	line[strcspn(line, "\n")] = 0;
	char *rest = line + 2, *path = NULL, *argument = NULL;
	path = strtok_r(rest, " \t", &rest);
	argument = path ? strtok_r(NULL, " \t", &rest) : NULL;
	if (path && access(path, R_OK) == 0)
		report(search, path);
	else
		search->reader->missing(search->reader->context, path ? path : "its interpreter", "a script");
	const char *slash = path ? strrchr(path, '/') : NULL;
	if (argument && slash && strcmp(slash + 1, "env") == 0) {
		static const char *const places[] = {"/usr/local/bin", "/usr/bin", "/bin"};
		for (size_t i = 0; i < ARRAY_SIZE(places); i++) {
			CLEANUP_FREE char *program = memory_format("%s/%s", places[i], argument);
			if (access(program, X_OK) == 0) {
				report(search, program);
				break;
			}
		}
	}
	return true;
}

static bool take_file(struct search *search, const char *file) {
	int fd = open(file, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	bool known = take_script(search, fd) || take_elf(search, file, fd);
	close(fd);
	return known;
}

bool needed_by(const char *file, const struct needed_reader *reader) {
	struct search search = {.reader = reader};
	elf_version(EV_CURRENT);
	read_configuration(&search.folders, "/etc/ld.so.conf", 0);
	bool known = take_file(&search, file);
	for (size_t i = 0; i < search.queue.count; i++)
		take_file(&search, search.queue.items[i]);
	free_texts(&search.queue);
	free_texts(&search.folders);
	map_free(&search.seen);
	return known;
}
