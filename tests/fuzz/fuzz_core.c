// Core dumps, whose contents the crashed process has chosen.
#include "fuzz.h"

#include "symbol/stacks/core_record.h"

#include <elf.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/procfs.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size) {
	static struct record_crash record;
	static uint8_t stack[CRASH_STACK_SIZE];
	static int file = -1;
	if (file < 0)
		file = memfd_create("core", MFD_CLOEXEC);
	if (ftruncate(file, 0) || pwrite(file, bytes, size, 0) != (ssize_t)size)
		abort();
	if (!core_record(file, &record, stack))
		return 0;
	if (record.stack_size > CRASH_STACK_SIZE || record.module_count > CRASH_MODULES ||
	    !memchr(record.program, 0, CRASH_PROGRAM_SIZE))
		abort();
	for (uint32_t i = 0; i < record.module_count; i++)
		if (!memchr(record.modules[i].name, 0, CRASH_MODULE_NAME))
			abort();
	return 0;
}

struct note {
	uint32_t name_size, size, type;
	char name[8];
};

// One thread and one module.
struct image {
	Elf64_Ehdr header;
	Elf64_Phdr segments[2];
	struct note status_note;
	struct elf_prstatus status;
	struct note auxiliary_note;
	uint64_t auxiliary[6];
	struct note files_note;
	struct {
		uint64_t count, page, start, end, offset;
		char name[8];
	} files;
	Elf64_Phdr headers[2]; // of the program, and what they lead to, in memory from here on
	Elf64_Dyn dynamic;
	uint64_t debug[2];
	uint64_t module[4];
	char name[8];
};

enum { MEMORY = 0x400000 };
#define NOTE(kind, content) ((struct note){5, sizeof(content), kind, "CORE"})
#define PLACE(member)       (MEMORY + offsetof(struct image, member) - offsetof(struct image, headers))

void fuzz_seeds(void) {
	struct image image = {
		.header = {.e_ident = {ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB,
				       EV_CURRENT},
			   .e_type = ET_CORE,
			   .e_machine = EM_X86_64,
			   .e_phoff = sizeof(Elf64_Ehdr),
			   .e_phnum = 2},
		.segments = {{.p_type = PT_NOTE,
			      .p_offset = offsetof(struct image, status_note),
			      .p_filesz = offsetof(struct image, headers) -
					  offsetof(struct image, status_note)},
			     {.p_type = PT_LOAD,
			      .p_offset = offsetof(struct image, headers),
			      .p_vaddr = MEMORY,
			      .p_filesz = sizeof(struct image) - offsetof(struct image, headers)}},
		.status_note = NOTE(NT_PRSTATUS, image.status),
		.auxiliary_note = NOTE(NT_AUXV, image.auxiliary),
		.auxiliary = {AT_PHDR, MEMORY, AT_PHNUM, 2, AT_ENTRY, MEMORY},
		.files_note = NOTE(NT_FILE, image.files),
		.files = {1, 4096, MEMORY, MEMORY + 4096, 0, "/test"},
		.headers = {{.p_type = PT_PHDR, .p_vaddr = MEMORY},
			    {.p_type = PT_DYNAMIC, .p_vaddr = PLACE(dynamic)}},
		.dynamic = {.d_tag = DT_DEBUG, .d_un.d_ptr = PLACE(debug)},
		.debug = {1, PLACE(module)},
		.module = {0, PLACE(name), 0, 0},
		.name = "/lib",
	};
	struct buffer seed = {0};
	buffer_append(&seed, &image, sizeof(image));
	fuzz_seed("core", &seed);
}
