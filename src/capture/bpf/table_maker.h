// Makes the unwind tables by which the sampling programs walk, in a thread of its own:
// the table of a large program takes tens of milliseconds.
//
// Tables are not kept for the next run. The 480,000 rows of gcc's cc1 take 26 ms, in which
// the stacks of 26 samples are copied instead; a cache of them is 4 MB on disk.
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct elf_object;
struct tracelet; // the skeleton
struct table_maker;

int table_maker_start(struct table_maker **maker, struct tracelet *programs); // 0 or -errno

// The file's table, with addresses counted from `base`. The object is used until the maker stops.
void table_maker_add(struct table_maker *maker, uint32_t file, struct elf_object *object, uint64_t base);

bool table_maker_is_idle(struct table_maker *maker); // all tables that were asked for are there
void table_maker_end(struct table_maker *maker);     // what has not been begun is left out
void table_maker_stop(struct table_maker *maker);    // the same, waits for the rest, and frees
