// libdwfl unwinds from any source of registers and memory: here, the crash record. The code and its unwind
// information come from the files that were mapped.
#include "symbol/stacks/crash_stacks.h"
#include "base/file.h"
#include "base/memory.h"
#include "format/record.h"
#include "symbol/stacks/core_record.h"
#include "symbol/stacks/frames.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

enum { MOST_FRAMES = 64 };

struct crash {
	struct record_crash record;
	uint8_t stack[CRASH_STACK_SIZE];
	FILE *out;
	Dwfl *dwfl;
	unsigned frames;
	bool skip_first; // already printed
	bool beyond;     // the unwinder wanted more of the stack than was saved
};

// ---- the machine ----

// For each DWARF register, its word in struct pt_regs.
#if defined(__x86_64__)
enum { PT_STACK = 19, PT_INSTRUCTION = 16 };
static const uint8_t dwarf_registers[] = {10, 12, 11, 5, 13, 14, 4, 19, 9, 8, 7, 6, 3, 2, 1, 0, 16};
#elif defined(__aarch64__)
enum { PT_LINK = 30, PT_STACK = 31, PT_INSTRUCTION = 32 };
static const uint8_t dwarf_registers[] = {0,  1,  2,  3,  4,  5,  6,  7,  8,  9,  10, 11, 12, 13, 14, 15,
					  16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31};
#endif

static bool read_word(const struct crash *crash, uint64_t address, uint64_t *word) {
	uint64_t offset = address - crash->record.stack_base;
	if (crash->record.stack_size < sizeof(*word) || offset > crash->record.stack_size - sizeof(*word))
		return false;
	memcpy(word, crash->stack + offset, sizeof(*word));
	return true;
}

// A call to an address without code: unwinds as if the call had returned immediately.
static bool undo_call(struct crash *crash) {
	uint64_t *registers = crash->record.registers, back = 0;
#if defined(__x86_64__)
	if (!read_word(crash, registers[PT_STACK], &back))
		return false;
	registers[PT_STACK] += sizeof(back);
#else
	back = registers[PT_LINK];
#endif
	registers[PT_INSTRUCTION] = back;
	return back != 0;
}

// ---- libdwfl's callbacks ----

static pid_t next_thread(Dwfl *dwfl, void *context, void **thread) {
	struct crash *crash = context;
	if (*thread)
		return 0;
	*thread = crash;
	return (pid_t)crash->record.tid;
}

static bool memory_read(Dwfl *dwfl, Dwarf_Addr address, Dwarf_Word *word, void *context) {
	uint64_t value = 0;
	struct crash *crash = context;
	bool good = read_word(crash, address, &value);
	crash->beyond |= !good && crash->record.stack_size == CRASH_STACK_SIZE &&
			 address >= crash->record.stack_base + CRASH_STACK_SIZE;
	*word = value;
	return good;
}

static bool set_registers(Dwfl_Thread *thread, void *context) {
	const struct crash *crash = context;
	Dwarf_Word values[ARRAY_SIZE(dwarf_registers)];
	for (size_t i = 0; i < ARRAY_SIZE(dwarf_registers); i++)
		values[i] = crash->record.registers[dwarf_registers[i]];
	dwfl_thread_state_register_pc(thread, crash->record.registers[PT_INSTRUCTION]);
	return dwfl_thread_state_registers(thread, 0, ARRAY_SIZE(values), values);
}

static const Dwfl_Thread_Callbacks callbacks = {
	.next_thread = next_thread, .memory_read = memory_read, .set_initial_registers = set_registers};

// ---- modules ----

static uint64_t entry_of(const char *path, char *interpreter, size_t size) {
	int fd = file_open_regular(path, O_RDONLY);
	Elf *elf = fd < 0 ? NULL : elf_begin(fd, ELF_C_READ_MMAP, NULL);
	GElf_Ehdr header;
	size_t count = 0;
	uint64_t entry = elf && gelf_getehdr(elf, &header) ? header.e_entry : 0;
	*interpreter = 0;
	for (size_t i = 0; entry && elf_getphdrnum(elf, &count) == 0 && i < count; i++) {
		GElf_Phdr segment;
		if (gelf_getphdr(elf, (int)i, &segment) && segment.p_type == PT_INTERP &&
		    segment.p_filesz < size &&
		    pread(fd, interpreter, segment.p_filesz, (off_t)segment.p_offset) ==
			    (ssize_t)segment.p_filesz)
			interpreter[segment.p_filesz] = 0;
	}
	elf_end(elf);
	if (fd >= 0)
		close(fd);
	return entry;
}

// The crashed process names its modules, so only regular files are opened, and nothing that the kernel
// provides.
static void report_file(Dwfl *dwfl, const char *path, uint64_t bias) {
	int file = file_open_regular(path, O_RDONLY);
	Dwfl_Module *module = file < 0 ? NULL : dwfl_report_elf(dwfl, path, path, file, bias, true);
	void **user;
	if (module) {
		CLEANUP_FREE char *whole = realpath(path, NULL); // the program may be "./test"
		dwfl_module_info(module, &user, NULL, NULL, NULL, NULL, NULL, NULL);
		frames_keep_file(user, whole ? whole : path, file);
	} else if (file >= 0) {
		close(file);
	}
}

// Without a list: the program itself, and the dynamic linker.
static void report_program(Dwfl *dwfl, const struct record_crash *record) {
	char interpreter[256];
	uint64_t entry = entry_of(record->program, interpreter, sizeof(interpreter));
	if (entry && (record->entry - entry) % 4096 == 0)
		report_file(dwfl, record->program, record->entry - entry);
	if (*interpreter && record->interpreter)
		report_file(dwfl, interpreter, record->interpreter);
}

static void report_modules(Dwfl *dwfl, const struct record_crash *record) {
	dwfl_report_begin(dwfl);
	if (!record->module_count)
		report_program(dwfl, record);
	for (uint32_t i = 0; i < MIN(record->module_count, (uint32_t)CRASH_MODULES); i++) {
		const struct crash_module *module = &record->modules[i];
		const char *name = *module->name ? module->name : i == 0 ? record->program : "";
		if (*name)
			report_file(dwfl, name, module->bias);
	}
	dwfl_report_end(dwfl, NULL, NULL);
}

// ---- frames ----

static int take_frame(Dwfl_Frame *frame, void *context) {
	struct crash *crash = context;
	Dwarf_Addr address;
	bool activation;
	if (!dwfl_frame_pc(frame, &address, &activation))
		return DWARF_CB_ABORT;
	// After an undone call, the innermost address is a return address.
	crash->frames += frame_print(crash->out, "", crash->dwfl, crash->frames, address,
				     !activation || crash->skip_first);
	crash->skip_first = false;
	return crash->frames < MOST_FRAMES ? DWARF_CB_OK : DWARF_CB_ABORT;
}

static const Dwfl_Callbacks files_callbacks = {.find_elf = dwfl_build_id_find_elf,
					       .find_debuginfo = frames_find_debug_file};

static void print_crash(struct crash *crash) {
	crash->dwfl = dwfl_begin(&files_callbacks);
	report_modules(crash->dwfl, &crash->record);
	uint64_t at = crash->record.registers[PT_INSTRUCTION];
	if (!dwfl_addrmodule(crash->dwfl, at)) {
		crash->frames += frame_print(crash->out, "", crash->dwfl, 0, at, false);
		crash->skip_first = undo_call(crash);
	}
	if ((crash->skip_first || !crash->frames) &&
	    dwfl_attach_state(crash->dwfl, NULL, (pid_t)crash->record.pid, &callbacks, crash))
		dwfl_getthread_frames(crash->dwfl, (pid_t)crash->record.tid, take_frame, crash);
	if (!crash->frames)
		frame_print(crash->out, "", crash->dwfl, 0, at, false);
	if (crash->frames >= MOST_FRAMES)
		fprintf(crash->out, "(cut here: there are more than %d frames)\n", (int)MOST_FRAMES);
	else if (crash->beyond)
		fprintf(crash->out, "(cut here: only the top %d kB of the stack were saved)\n",
			(int)CRASH_STACK_SIZE / 1024);
	dwfl_end(crash->dwfl);
	frames_forget();
}

static void print_and_end(struct crash *crash, FILE *out) {
	crash->out = out;
	crash->frames = 0;
	crash->skip_first = crash->beyond = false;
	print_crash(crash);
	fprintf(out, "end\n");
	fflush(out);
}

void core_stack_print(int core, FILE *out) {
	struct crash *crash = memory_alloc(sizeof(*crash));
	if (core_record(core, &crash->record, crash->stack))
		print_and_end(crash, out);
	free(crash);
}

void crash_stacks_print(FILE *in, FILE *out) {
	struct crash *crash = memory_alloc(sizeof(*crash));
	while (fread(&crash->record, sizeof(crash->record), 1, in) == 1) {
		struct record_crash *record = &crash->record;
		if (record->stack_size > CRASH_STACK_SIZE ||
		    fread(crash->stack, 1, record->stack_size, in) != record->stack_size)
			break;
		for (uint32_t i = 0; i < CRASH_MODULES; i++)
			record->modules[i].name[CRASH_MODULE_NAME - 1] = 0;
		record->program[CRASH_PROGRAM_SIZE - 1] = 0;
		print_and_end(crash, out);
	}
	free(crash);
}
