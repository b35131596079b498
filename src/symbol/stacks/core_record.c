// The kernel writes the notes of the thread that crashed first. The modules are in the list that the dynamic
// linker keeps for debuggers, in the dumped memory; crash.bpf.c takes the same from the living process.
#include "symbol/stacks/core_record.h"

#include "base/array.h"
#include "base/cursor.h"

#include <elf.h>
#include <string.h>
#include <sys/procfs.h>
#include <unistd.h>

#if defined(__x86_64__)
enum { CORE_MACHINE = EM_X86_64, STACK_REGISTER = 19, INSTRUCTION_REGISTER = 16 };
#elif defined(__aarch64__)
enum { CORE_MACHINE = EM_AARCH64, STACK_REGISTER = 31, INSTRUCTION_REGISTER = 32 };
#endif

enum { MOST_SEGMENTS = 65535, LARGEST_NOTES = 16 << 20, RED_ZONE = 128 };

struct core {
	int fd;
	ARRAY(Elf64_Phdr) loaded;
	uint8_t *notes; // freed by the caller
	struct cursor status, files, auxiliary;
};

static bool read_file(const struct core *core, uint64_t offset, void *out, size_t size) {
	return offset <= INT64_MAX && pread(core->fd, out, size, (off_t)offset) == (ssize_t)size;
}

static bool read_memory(const struct core *core, uint64_t address, void *out, size_t size) {
	for (size_t i = 0; i < core->loaded.count; i++) {
		const Elf64_Phdr *segment = &core->loaded.items[i];
		uint64_t into = address - segment->p_vaddr;
		if (address >= segment->p_vaddr && into < segment->p_filesz &&
		    size <= segment->p_filesz - into)
			return read_file(core, segment->p_offset + into, out, size);
	}
	return false;
}

// ---- notes ----

// The first of each kind.
static void take_note(struct core *core, uint32_t type, struct cursor content) {
	struct cursor *wanted = type == NT_PRSTATUS ? &core->status
				: type == NT_FILE   ? &core->files
				: type == NT_AUXV   ? &core->auxiliary
						    : NULL;
	if (wanted && !cursor_left(wanted))
		*wanted = content;
}

static void read_notes(struct core *core, const Elf64_Phdr *segment) {
	if (core->notes || segment->p_filesz > LARGEST_NOTES)
		return;
	core->notes = memory_alloc(segment->p_filesz + 1);
	if (!read_file(core, segment->p_offset, core->notes, segment->p_filesz))
		return;
	struct cursor in = cursor_of(core->notes, segment->p_filesz);
	while (cursor_left(&in) && !in.failed) {
		uint32_t name = cursor_u32(&in), size = cursor_u32(&in), type = cursor_u32(&in);
		cursor_take(&in, ((size_t)name + 3) & ~(size_t)3);
		struct cursor content = cursor_slice(&in, size);
		if (!in.failed)
			take_note(core, type, content);
		cursor_take(&in, MIN(-(size_t)size & 3, cursor_left(&in)));
	}
}

static bool read_segments(struct core *core) {
	Elf64_Ehdr header;
	Elf64_Shdr first;
	if (!read_file(core, 0, &header, sizeof(header)) || memcmp(header.e_ident, ELFMAG, SELFMAG) != 0 ||
	    header.e_ident[EI_CLASS] != ELFCLASS64 || header.e_type != ET_CORE ||
	    header.e_machine != CORE_MACHINE)
		return false;
	uint32_t count = header.e_phnum;
	if (count == PN_XNUM && read_file(core, header.e_shoff, &first, sizeof(first)))
		count = first.sh_info;
	for (uint32_t i = 0; i < MIN(count, (uint32_t)MOST_SEGMENTS); i++) {
		Elf64_Phdr segment;
		if (!read_file(core, header.e_phoff + i * sizeof(segment), &segment, sizeof(segment)))
			return false;
		if (segment.p_type == PT_LOAD && segment.p_filesz)
			array_push(&core->loaded, segment);
		else if (segment.p_type == PT_NOTE)
			read_notes(core, &segment);
	}
	return cursor_left(&core->status) > 0;
}

static uint64_t auxiliary(const struct core *core, uint64_t key) {
	struct cursor in = core->auxiliary;
	while (cursor_left(&in) >= 2 * sizeof(uint64_t)) {
		uint64_t found = cursor_u64(&in), value = cursor_u64(&in);
		if (found == key)
			return value;
	}
	return 0;
}

// ---- the thread ----

static bool take_thread(const struct core *core, struct record_crash *record) {
	struct elf_prstatus status;
	struct cursor in = core->status;
	cursor_copy(&in, &status, sizeof(status));
	if (in.failed)
		return false;
	memcpy(record->registers, &status.pr_reg, MIN(sizeof(status.pr_reg), sizeof(record->registers)));
	record->tid = record->pid = (uint32_t)status.pr_pid;
	record->signal = (uint32_t)status.pr_cursig;
	record->instruction = record->registers[INSTRUCTION_REGISTER];
	return true;
}

// After an overflow, the stack pointer is below the stack.
static void take_stack(const struct core *core, struct record_crash *record, uint8_t *stack) {
	enum { FARTHEST = 16 }; // pieces
	uint64_t base = (record->registers[STACK_REGISTER] - RED_ZONE) & -(uint64_t)CRASH_STACK_PIECE;
	for (unsigned i = 0; i < FARTHEST && !read_memory(core, base, stack, CRASH_STACK_PIECE); i++)
		base += CRASH_STACK_PIECE;
	record->stack_base = base;
	while (record->stack_size < CRASH_STACK_SIZE &&
	       read_memory(core, base + record->stack_size, stack + record->stack_size, CRASH_STACK_PIECE))
		record->stack_size += CRASH_STACK_PIECE;
}

// ---- modules ----

// The file that is mapped where the program begins.
static void take_program(const struct core *core, struct record_crash *record) {
	struct cursor in = core->files;
	uint64_t count = cursor_u64(&in), found = UINT64_MAX;
	cursor_u64(&in); // the size of a page
	for (uint64_t i = 0; i < count && !in.failed; i++) {
		uint64_t start = cursor_u64(&in), end = cursor_u64(&in);
		cursor_u64(&in); // where in the file
		if (record->entry >= start && record->entry < end)
			found = i;
	}
	const char *name = NULL;
	for (uint64_t i = 0; i <= found && found < count && !in.failed; i++)
		name = cursor_string(&in);
	if (name && !in.failed && strlen(name) < CRASH_PROGRAM_SIZE)
		memcpy(record->program, name, strlen(name) + 1);
}

// Where the dynamic linker's list begins; 0 if there is none.
static uint64_t first_module(const struct core *core) {
	enum { MOST_HEADERS = 64, MOST_ENTRIES = 256 };
	uint64_t at = auxiliary(core, AT_PHDR), count = auxiliary(core, AT_PHNUM), bias = 0, dynamic = 0,
		 list = 0;
	for (uint64_t i = 0; i < MIN(count, (uint64_t)MOST_HEADERS); i++) {
		Elf64_Phdr header;
		if (!read_memory(core, at + i * sizeof(header), &header, sizeof(header)))
			return 0;
		bias = header.p_type == PT_PHDR ? at - header.p_vaddr : bias;
		dynamic = header.p_type == PT_DYNAMIC ? header.p_vaddr : dynamic;
	}
	for (unsigned i = 0; dynamic && i < MOST_ENTRIES; i++) {
		Elf64_Dyn entry;
		if (!read_memory(core, bias + dynamic + i * sizeof(entry), &entry, sizeof(entry)) ||
		    entry.d_tag == DT_NULL)
			return 0;
		if (entry.d_tag == DT_DEBUG) // r_debug: a version, then the list
			return read_memory(core, entry.d_un.d_ptr + 8, &list, sizeof(list)) ? list : 0;
	}
	return 0;
}

static void read_name(const struct core *core, uint64_t address, char *name, size_t size) {
	size_t length = 0;
	while (length < size - 1 && read_memory(core, address + length, &name[length], 1) && name[length])
		length++;
	name[length] = 0;
}

static void take_modules(const struct core *core, struct record_crash *record) {
	struct {
		uint64_t bias, name, dynamic, next;
	} entry;
	uint64_t at = first_module(core);
	while (at && record->module_count < CRASH_MODULES && read_memory(core, at, &entry, sizeof(entry))) {
		struct crash_module *module = &record->modules[record->module_count++];
		module->bias = entry.bias;
		read_name(core, entry.name, module->name, sizeof(module->name));
		at = entry.next;
	}
}

bool core_record(int fd, struct record_crash *record, uint8_t stack[CRASH_STACK_SIZE]) {
	struct core core = {.fd = fd};
	memset(record, 0, sizeof(*record));
	bool good = read_segments(&core) && take_thread(&core, record);
	if (good) {
		record->entry = auxiliary(&core, AT_ENTRY);
		record->interpreter = auxiliary(&core, AT_BASE);
		take_stack(&core, record, stack);
		take_program(&core, record);
		take_modules(&core, record);
	}
	array_free(&core.loaded);
	free(core.notes);
	return good;
}
