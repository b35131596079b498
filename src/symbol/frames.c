#include "symbol/frames.h"

#include <inttypes.h>
#include <libiberty/demangle.h>
#include <stdlib.h>
#include <string.h>

static char *debug_path; // the library's own default

const Dwfl_Callbacks frames_of_process = {
	.find_elf = dwfl_linux_proc_find_elf,
	.find_debuginfo = dwfl_standard_find_debuginfo,
	.debuginfo_path = &debug_path,
};

const Dwfl_Callbacks frames_of_files = {
	.find_elf = dwfl_build_id_find_elf,
	.find_debuginfo = dwfl_standard_find_debuginfo,
	.debuginfo_path = &debug_path,
};

static void print_symbol(FILE *out, Dwfl_Module *module, Dwarf_Addr address, Dwarf_Addr lookup) {
	GElf_Off offset = 0;
	GElf_Sym symbol;
	const char *name = dwfl_module_addrinfo(module, lookup, &offset, &symbol, NULL, NULL, NULL);
	if (!name)
		return;
	char *plain = cplus_demangle(name, DMGL_PARAMS | DMGL_ANSI);
	int length = (int)(plain ? strlen(plain) : strcspn(name, "@")); // without the version
	fprintf(out, " %.*s+0x%" PRIx64, length, plain ? plain : name,
		(uint64_t)(offset + (address - lookup)));
	free(plain);
}

static void print_source(FILE *out, Dwfl_Module *module, Dwarf_Addr lookup) {
	Dwfl_Line *line = dwfl_module_getsrc(module, lookup);
	int number = 0;
	const char *file = line ? dwfl_lineinfo(line, NULL, &number, NULL, NULL, NULL) : NULL;
	if (file)
		fprintf(out, "  %s:%d", file, number);
}

void frame_print(FILE *out, Dwfl *dwfl, unsigned number, Dwarf_Addr address, bool call) {
	Dwarf_Addr lookup = address - (call && address ? 1 : 0);
	Dwfl_Module *module = dwfl_addrmodule(dwfl, lookup);
	fprintf(out, "#%-3u 0x%016" PRIx64, number, (uint64_t)address);
	if (module) {
		const char *file = NULL;
		const char *name = dwfl_module_info(module, NULL, NULL, NULL, NULL, NULL, &file, NULL);
		print_symbol(out, module, address, lookup);
		Dwarf_Addr offset = address;
		if (dwfl_module_relocations(module) > 0)
			dwfl_module_relocate_address(module, &offset);
		fprintf(out, "  %s+0x%" PRIx64, file ? file : name, (uint64_t)offset);
		print_source(out, module, lookup);
	}
	fputc('\n', out);
}
