// libdwfl unwinds whatever gives it registers and memory: here they come from the
// record. The code itself, and what tells how to unwind it, is in the files that
// were mapped.
#include "symbol/crash_stacks.h"
#include "base/memory.h"
#include "event/record.h"
#include "symbol/frames.h"

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
	bool skip_first; // it has been printed
};

// ---- the machine ----

// For each of DWARF's registers the word of struct pt_regs.
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

// A call of what is no code: as if it had returned at once.
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

// ---- what libdwfl asks for ----

static pid_t next_thread(Dwfl *dwfl, void *context, void **thread) {
	struct crash *crash = context;
	if (*thread)
		return 0;
	*thread = crash;
	return (pid_t)crash->record.tid;
}

static bool memory_read(Dwfl *dwfl, Dwarf_Addr address, Dwarf_Word *word, void *context) {
	uint64_t value = 0;
	bool good = read_word(context, address, &value);
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
	int fd = open(path, O_RDONLY | O_CLOEXEC);
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

// Without a list: the program itself, and the dynamic linker.
static void report_program(Dwfl *dwfl, const struct record_crash *record) {
	char interpreter[256];
	uint64_t entry = entry_of(record->program, interpreter, sizeof(interpreter));
	if (entry && (record->entry - entry) % 4096 == 0)
		dwfl_report_elf(dwfl, record->program, record->program, -1, record->entry - entry, true);
	if (*interpreter && record->interpreter)
		dwfl_report_elf(dwfl, interpreter, interpreter, -1, record->interpreter, true);
}

static void report_modules(Dwfl *dwfl, const struct record_crash *record) {
	dwfl_report_begin(dwfl);
	if (!record->module_count)
		report_program(dwfl, record);
	for (uint32_t i = 0; i < MIN(record->module_count, (uint32_t)CRASH_MODULES); i++) {
		const struct crash_module *module = &record->modules[i];
		const char *name = *module->name ? module->name : i == 0 ? record->program : "";
		if (*name && access(name, R_OK) == 0) // what the kernel provides has no file
			dwfl_report_elf(dwfl, name, name, -1, module->bias, true);
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
	// After an undone call, what looks like the place of the crash is one to return to.
	frame_print(crash->out, crash->dwfl, crash->frames, address, !activation || crash->skip_first);
	crash->skip_first = false;
	return ++crash->frames < MOST_FRAMES ? DWARF_CB_OK : DWARF_CB_ABORT;
}

static void print_crash(struct crash *crash) {
	crash->dwfl = dwfl_begin(&frames_of_files);
	report_modules(crash->dwfl, &crash->record);
	uint64_t at = crash->record.registers[PT_INSTRUCTION];
	if (!dwfl_addrmodule(crash->dwfl, at)) {
		frame_print(crash->out, crash->dwfl, crash->frames++, at, false);
		crash->skip_first = undo_call(crash);
	}
	if ((crash->skip_first || !crash->frames) &&
	    dwfl_attach_state(crash->dwfl, NULL, (pid_t)crash->record.pid, &callbacks, crash))
		dwfl_getthread_frames(crash->dwfl, (pid_t)crash->record.tid, take_frame, crash);
	if (!crash->frames)
		frame_print(crash->out, crash->dwfl, 0, at, false);
	dwfl_end(crash->dwfl);
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
		crash->out = out;
		crash->frames = 0;
		crash->skip_first = false;
		print_crash(crash);
		fprintf(out, "end\n");
		fflush(out);
	}
	free(crash);
}
