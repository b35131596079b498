// A place in a program as people read it: function, module, source line.
#pragma once

#include <elfutils/libdwfl.h>
#include <stdbool.h>
#include <stdio.h>

// Prints "#3  0x00005581d2c4f1a9 parse_header+0x29  ./unit_tests+0x11a9  parser.c:120\n" with
// what is known of it. `call` says that the address is one to return to: the line is that of the
// call before it.
void frame_print(FILE *out, Dwfl *dwfl, unsigned number, Dwarf_Addr address, bool call);

// What frame_print() found out about a place it remembers, for this process and those it forks.
// What a child has found out, frames_send() writes to a pipe and its parent takes from there with
// frames_receive(): of many processes of one program only the first takes time.
void frames_send(int fd);
void frames_receive(int fd);

// Where debug information is looked for: on this machine, never over the network.
extern const Dwfl_Callbacks frames_of_process, frames_of_files;
