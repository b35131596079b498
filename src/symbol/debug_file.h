// Finds the symbols of a stripped file where debuggers look: in files next to it and under /usr/lib/debug, in
// caches by build id, and compressed in the file itself.
#pragma once

#include <gelf.h>
#include <stdbool.h>

enum debug_kind { DEBUG_BY_BUILD_ID, DEBUG_PROGRAM, DEBUG_BY_LINK, DEBUG_SHARED, DEBUG_LAST = DEBUG_SHARED };

struct debug_wanted {
	enum debug_kind kind;
	const char *text; // the build id, the name in .gnu_debuglink, or that below the folder .dwz
	const char *path; // of the file that has this link
};

// Opens the next file that may be the one, beginning with number `*index`, which it moves on. Looks at
// names only: the caller reads the file to see whether it is the one. -1 if there are no more.
typedef int debug_file_opener(const struct debug_wanted *wanted, unsigned *index);
int debug_file_candidate(const struct debug_wanted *wanted, unsigned *index);
// The functions below get candidates from this one, in a process that cannot open files itself.
void debug_files_open_by(debug_file_opener *opener);

// A folder of files by build id, as ~/.debug: what `perf archive` packs. NULL, as in the beginning: none.
void debug_files_in(const char *folder);
// The names of a kernel, as in /proc/kallsyms, that perf has kept there. A descriptor, or -1.
int debug_file_kernel(const char *build_id);

// By build id (hexadecimal): a stripped file's debug file or, if `program`, the file itself, with its debug
// file as the second choice. NULL if there is none. Never uses the network.
Elf *debug_file_by_build_id(const char *build_id, bool program, int *file);

// The file that .gnu_debuglink of `elf` (at `path`) names, if its checksum matches.
Elf *debug_file_by_link(Elf *elf, const char *path, int *file);

// The symbols in .gnu_debugdata ("MiniDebugInfo"), as an ELF file in memory. Free `memory` after
// elf_end().
Elf *debug_file_inside(Elf *elf, void **memory);

// The file with what several debug files have in common ("dwz"): .gnu_debugaltlink has its name and build id.
Elf *debug_file_shared(const char *name, const char *build_id, int *file);
