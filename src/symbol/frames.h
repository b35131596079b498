// A place in a program as people read it: function, module, source line.
#pragma once

#include <elfutils/libdwfl.h>
#include <stdbool.h>
#include <stdio.h>

// Prints "#3  0x00005581d2c4f1a9 parse_header+0x29  ./unit_tests+0x11a9  parser.c:120\n" with
// what is known of it. `call` says that the address is one to return to: the line is that of the
// call before it.
void frame_print(FILE *out, Dwfl *dwfl, unsigned number, Dwarf_Addr address, bool call);

// Where debug information is looked for: on this machine, never over the network.
extern const Dwfl_Callbacks frames_of_process, frames_of_files;
