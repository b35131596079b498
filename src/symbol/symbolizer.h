// Names for addresses from the files of this machine: ELF files by path and build id, the running kernel, its
// vdso. Implements the interface in event/symbolizer.h.
#pragma once

#include "event/tables.h"

// `inlined`: include inlined functions if files have debug information.
struct symbolizer *symbolizer_new(bool inlined);
// During a recording: files that are being written, or are not found, are looked up after wait(), which
// returns when the recording has ended.
void symbolizer_wait_by(struct symbolizer *symbolizer, void (*wait)(void *context), void *context);
void symbolizer_free(struct symbolizer *symbolizer);

// Where else symbols are, each NULL if not.
struct symbol_sources {
	const char *folder;   // modules of the recording are below it, not in their paths here
	const char *archive;  // files by build id, as in ~/.debug
	const char *kernel;   // vmlinux
	const char *kallsyms; // a copy of the kernel's /proc/kallsyms
};
void symbolizer_sources(const struct symbol_sources *sources);
// A kallsyms that belongs to the recording: used unless the user has named one, or a vmlinux.
void symbolizer_usual_kallsyms(const char *path);
