// Prints a code location for people: functions, module, source line. libdwfl unwinds; names come
// from the namer.
#pragma once

#include <elfutils/libdwfl.h>
#include <stdbool.h>
#include <stdio.h>

// Prints a line for each function at the address, inlined ones first, with what is known:
//
//   #3   0x00005581d2c4f1a9 skip_space (inlined)  /src/unit_tests+0x11a9  /src/parser.c:88
//   #4   0x00005581d2c4f1a9 parse_header+0x29  /src/unit_tests+0x11a9  /src/parser.c:120
//
// `number` is the number of the first, `margin` precedes each line. `call`: the address is a return
// address, so the line is that of the call before it. Returns the number of lines.
unsigned frame_print(FILE *out, const char *margin, Dwfl *dwfl, unsigned number, Dwarf_Addr address,
		     bool call);

// frame_print() caches its results, for this process and those it forks. A child writes its results
// to a pipe with frames_send(), and its parent reads them with frames_receive(): among many
// processes of one program, only the first takes time.
void frames_send(int fd);
void frames_receive(int fd);

// For libdwfl's callbacks: keeps a module's file for the namer. `user` is the module's user data;
// `file` still belongs to the caller.
void frames_keep_file(void **user, const char *path, int file);
// Finds debug information for libdwfl as the namer does, on this machine only.
int frames_find_debug_file(Dwfl_Module *module, void **user, const char *name, Dwarf_Addr base,
			   const char *file_name, const char *link, GElf_Word checksum, char **found);
void frames_forget(void); // closes all files
