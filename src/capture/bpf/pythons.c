// The interpreter is recognised by the name of its file, "python3.11" or "libpython3.11.so.1.0", so that
// other programs cost nothing. The name also says the version, on which the layout depends; the file has to
// have the interpreter's symbols, and what is read with a wrong layout is not of the type of code.
#include "capture/bpf/pythons.h"

#include "symbol/reader.h"
#include "tracelet.skel.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <string.h>
#include <unistd.h>

// By minor version. From offsetof() in the headers of each version, for x86-64.
static const struct python_layout layouts[] = {
	[8 ... 9] = {.main = 40,
		     .threads = 8,
		     .next = 8,
		     .id = 176,
		     .frame = 24,
		     .frame_size = 112,
		     .code = 32,
		     .previous = 24,
		     .position = 104,
		     .first_line = 40,
		     .file = 104,
		     .name = 112,
		     .lines = 120,
		     .ascii = 48,
		     .text = 72,
		     .positions = PYTHON_BYTE,
		     .line_table = PYTHON_LINES_BYTES},
	[10] = {.main = 40,
		.threads = 8,
		.next = 8,
		.id = 176,
		.frame = 24,
		.frame_size = 112,
		.code = 32,
		.previous = 24,
		.position = 96,
		.first_line = 40,
		.file = 104,
		.name = 112,
		.lines = 120,
		.ascii = 48,
		.text = 72,
		.positions = PYTHON_NUMBER,
		.line_table = PYTHON_LINES_RANGES},
	[11] = {.main = 48,
		.threads = 16,
		.next = 8,
		.id = 152,
		.frame = 56,
		.inner = 8,
		.indirect = true,
		.frame_size = 72,
		.code = 32,
		.previous = 48,
		.position = 56,
		.entry = 68,
		.first_line = 72,
		.file = 112,
		.name = 128,
		.lines = 136,
		.instructions = 184,
		.ascii = 48,
		.text = 72,
		.entries = PYTHON_ENTRY_FLAG,
		.positions = PYTHON_POINTER,
		.line_table = PYTHON_LINES_LOCATIONS},
	[12] = {.main = 48,
		.threads = 72,
		.next = 8,
		.id = 136,
		.frame = 56,
		.inner = 0,
		.indirect = true,
		.frame_size = 72,
		.code = 0,
		.previous = 8,
		.position = 56,
		.entry = 70,
		.first_line = 68,
		.file = 112,
		.name = 128,
		.lines = 136,
		.instructions = 192,
		.ascii = 40,
		.text = 56,
		.entries = PYTHON_ENTRY_SHIM,
		.positions = PYTHON_POINTER,
		.line_table = PYTHON_LINES_LOCATIONS},
	[13] = {.main = 640,
		.threads = 7344,
		.next = 8,
		.id = 152,
		.frame = 72,
		.frame_size = 72,
		.code = 0,
		.previous = 8,
		.position = 56,
		.entry = 70,
		.first_line = 68,
		.file = 112,
		.name = 128,
		.lines = 136,
		.instructions = 200,
		.ascii = 40,
		.text = 56,
		.entries = PYTHON_ENTRY_SHIM,
		.positions = PYTHON_POINTER,
		.line_table = PYTHON_LINES_LOCATIONS},
};

// The layout for a file with this name; NULL if it is not that of a known version.
static const struct python_layout *layout_for(const char *path) {
	static const char program[] = "python3.", library[] = "libpython3.";
	const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
	bool is_library = strncmp(name, library, strlen(library)) == 0;
	if (!is_library && strncmp(name, program, strlen(program)) != 0)
		return NULL;
	char *end;
	unsigned long minor = strtoul(name + (is_library ? strlen(library) : strlen(program)), &end, 10);
	bool whole = is_library ? strncmp(end, ".so", 3) == 0 : !*end;
	return whole && minor < ARRAY_SIZE(layouts) && layouts[minor].frame_size ? &layouts[minor] : NULL;
}

uint32_t pythons_look(struct pythons *pythons, struct reader **reader, const struct spool_mapping *mapping,
		      struct file_number number, const char *path) {
	const struct python_layout *layout = layout_for(path);
	if (!layout)
		return 0;
	const uint64_t key[] = {number.device, number.inode, mapping->offset};
	uint64_t *known = map_put(&pythons->by_number, hash_bytes(key, sizeof(key)));
	if (!*known) {
		struct python_symbols symbols = {0};
		int file = mapped_files_open(mapping, number, path);
		if (!*reader)
			*reader = reader_new();
		bool found = file >= 0 && !reader_python(*reader, file, mapping->offset, &symbols) &&
			     symbols.found;
		if (file >= 0)
			close(file);
		array_push(&pythons->files,
			   (struct python_file){found, {symbols.runtime, symbols.code_type, *layout}});
		*known = pythons->files.count;
	}
	return pythons->files.items[*known - 1].found ? (uint32_t)*known : 0;
}

void pythons_begin(const struct pythons *pythons, const struct tracelet *programs, uint32_t file,
		   const struct spool_mapping *mapping) {
	struct python_process process = pythons->files.items[file - 1].places;
	process.runtime += mapping->start;
	process.code_type += mapping->start;
	bpf_map_update_elem(bpf_map__fd(programs->maps.pythons), &mapping->pid, &process, BPF_ANY);
}

void pythons_end(const struct tracelet *programs, uint32_t pid) {
	bpf_map_delete_elem(bpf_map__fd(programs->maps.pythons), &pid);
}

void pythons_free(struct pythons *pythons) {
	array_free(&pythons->files);
	map_free(&pythons->by_number);
}
