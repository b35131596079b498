// Address spaces: which code each process has mapped where. A new mapping replaces what
// it covers, as in the kernel.
#pragma once

#include "event/event.h"

struct space_map {
	uint64_t begin, end, offset; // offset: of `begin` in the file
	uint32_t module, build_id;   // strings
	uint32_t kind;               // enum frame_kind
};

struct space {
	ARRAY(struct space_map) maps; // in order, not overlapping
	size_t last;                  // where the last lookup found something
	uint32_t pid;
	uint32_t jit_dump; // string: the file in which a JIT compiler describes its code; 0 if none
};

struct spaces {
	struct map by_pid; // to index + 1
	ARRAY(struct space) spaces;
	uint32_t last_pid; // of the previous lookup, and its index + 1
	size_t last_index;
	struct space kernel;
};

struct space *space_of(struct spaces *spaces, uint32_t pid);
void space_add(struct space *space, const struct space_map *map);
const struct space_map *space_find(struct space *space, uint64_t address);
void spaces_fork(struct spaces *spaces, uint32_t parent, uint32_t child);
void spaces_exec(struct spaces *spaces, uint32_t pid);
void spaces_end(struct spaces *spaces, uint32_t pid);

// A compiler's code, or the file in which it describes that; from the path of a mapping without a build id.
bool space_is_compiled(const char *file);
// The kind of code in a mapped file, and the module that has its names: for code without a file, the
// file that its compiler writes.
void space_name(struct space *space, struct strings *strings, const char *file, struct space_map *map);
// The position of an address in a map's module.
struct frame space_frame(const struct space *space, const struct space_map *map, uint64_t address);

// Applies an EVENT_MAPPING or an EVENT_FORK.
void spaces_learn(struct spaces *spaces, struct strings *strings, const struct event *event);
void spaces_free(struct spaces *spaces);
