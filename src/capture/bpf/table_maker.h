// Makes the unwind tables for the sampling programs, in a separate thread: a large program's table
// takes tens of milliseconds.
//
// Tables are not cached between runs. The 480,000 rows of gcc's cc1 take 26 ms, during which the
// stacks of 26 samples are copied instead; caching them would take 4 MB on disk.
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct elf_object;
struct tracelet; // the skeleton
struct table_maker;

int table_maker_start(struct table_maker **maker, struct tracelet *programs); // 0 or -errno

// Makes the file's table, with addresses relative to `base`. Uses the object until the maker stops.
void table_maker_add(struct table_maker *maker, uint32_t file, struct elf_object *object, uint64_t base);

bool table_maker_is_idle(struct table_maker *maker); // all requested tables are loaded
void table_maker_end(struct table_maker *maker);     // drops tables not started yet
void table_maker_stop(struct table_maker *maker);    // the same, waits for the current one, and frees
