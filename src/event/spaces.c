#include "event/spaces.h"

#include <stdio.h>
#include <string.h>

enum { MOST_MAPS = 1 << 16 }; // the kernel's own limit

struct space *space_of(struct spaces *spaces, uint32_t pid) {
	if (spaces->last_index && spaces->last_pid == pid)
		return &spaces->spaces.items[spaces->last_index - 1];
	uint64_t *index = map_put(&spaces->by_pid, pid);
	if (!*index) {
		array_push(&spaces->spaces, (struct space){.pid = pid});
		*index = spaces->spaces.count;
	}
	spaces->last_pid = pid;
	spaces->last_index = (size_t)*index;
	return &spaces->spaces.items[*index - 1];
}

// The first map that ends after `address`.
static size_t lower_bound(const struct space *space, uint64_t address) {
	size_t low = 0, high = space->maps.count;
	while (low < high) {
		size_t middle = (low + high) / 2;
		if (space->maps.items[middle].end <= address)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}

static void insert(struct space *space, size_t at, const struct space_map *map) {
	array_push(&space->maps, *map);
	memmove(&space->maps.items[at + 1], &space->maps.items[at],
		(space->maps.count - 1 - at) * sizeof(struct space_map));
	space->maps.items[at] = *map;
}

void space_add(struct space *space, const struct space_map *map) {
	if (map->end <= map->begin || space->maps.count + 2 > MOST_MAPS)
		return;
	size_t first = lower_bound(space, map->begin), behind = first;
	struct space_map *maps = space->maps.items;
	if (first < space->maps.count && maps[first].begin < map->begin) {
		struct space_map rest = maps[first];
		maps[first].end = map->begin;
		if (rest.end > map->end) { // the new one is in the middle of it
			rest.offset += map->end - rest.begin;
			rest.begin = map->end;
			insert(space, first + 1, &rest);
		}
		first++;
	}
	for (behind = first; behind < space->maps.count && space->maps.items[behind].end <= map->end;
	     behind++)
		;
	if (behind < space->maps.count && space->maps.items[behind].begin < map->end) {
		struct space_map *cut = &space->maps.items[behind];
		cut->offset += map->end - cut->begin;
		cut->begin = map->end;
	}
	if (behind > first) {
		memmove(&space->maps.items[first + 1], &space->maps.items[behind],
			(space->maps.count - behind) * sizeof(struct space_map));
		space->maps.count -= behind - first - 1;
		space->maps.items[first] = *map;
	} else {
		insert(space, first, map);
	}
	space->last = first;
}

const struct space_map *space_find(struct space *space, uint64_t address) {
	if (space->last < space->maps.count) {
		const struct space_map *map = &space->maps.items[space->last];
		if (address >= map->begin && address < map->end)
			return map;
	}
	size_t at = lower_bound(space, address);
	if (at == space->maps.count || address < space->maps.items[at].begin)
		return NULL;
	space->last = at;
	return &space->maps.items[at];
}

void spaces_fork(struct spaces *spaces, uint32_t parent, uint32_t child) {
	if (parent == child)
		return;
	space_of(spaces, child); // may move the parent's
	struct space *from = space_of(spaces, parent), *to = space_of(spaces, child);
	to->maps.count = 0;
	to->jit_dump = from->jit_dump;
	if (!from->maps.count)
		return;
	array_reserve(&to->maps, from->maps.count);
	memcpy(to->maps.items, from->maps.items, from->maps.count * sizeof(struct space_map));
	to->maps.count = from->maps.count;
}

void spaces_exec(struct spaces *spaces, uint32_t pid) {
	struct space *space = space_of(spaces, pid);
	space->maps.count = 0;
	space->jit_dump = 0;
}

// The last one replaces the removed one.
void spaces_end(struct spaces *spaces, uint32_t pid) {
	uint64_t *index = map_get(&spaces->by_pid, pid);
	if (!index)
		return;
	struct space *gone = &spaces->spaces.items[*index - 1];
	struct space *last = &spaces->spaces.items[--spaces->spaces.count];
	array_free(&gone->maps);
	if (gone != last) {
		*gone = *last;
		*map_put(&spaces->by_pid, gone->pid) = *index;
	}
	map_delete(&spaces->by_pid, pid);
	spaces->last_index = 0;
}

// ---- names ----

static bool begins(const char *text, const char *prefix) {
	return strncmp(text, prefix, strlen(prefix)) == 0;
}

// A compiler's code may be in a memfd, and so may a program, which has a build id.
static bool has_no_file(const char *file, const char *build_id) {
	bool program = *build_id && strcmp(build_id, BUILD_ID_LOST) != 0;
	return begins(file, "//anon") || begins(file, "/dev/zero") || begins(file, "/anon_hugepage") ||
	       begins(file, "[anon") || (begins(file, "/memfd:") && !program);
}

// perf's own `inject --jit` makes a file of each function: "jitted-PID-NUMBER.so".
static bool is_jit(const char *file) {
	return begins(file, "/tmp/perf-") || strstr(file, "/jitted-");
}

// A compiler maps the file that it writes ("jit-PID.dump"), only so that this is seen.
static bool is_jit_dump(const char *file) {
	const char *name = strrchr(file, '/');
	int end = 0;
	return name && sscanf(name, "/jit-%*u.dump%n", &end) == 0 && end && !name[end];
}

bool space_is_compiled(const char *file) {
	return has_no_file(file, "") || is_jit_dump(file);
}

void space_name(struct space *space, struct strings *strings, const char *file, struct space_map *map) {
	char path[64];
	bool none = has_no_file(file, strings_get(strings, map->build_id));
	if (none)
		snprintf(path, sizeof(path), "/tmp/perf-%u.map", space->pid);
	map->kind = none || is_jit(file) ? FRAME_JIT : FRAME_USER;
	map->module = strings_add(strings, none ? path : file);
	map->build_id = none ? 0 : map->build_id;
	if (is_jit_dump(file))
		space->jit_dump = map->module;
}

struct frame space_frame(const struct space *space, const struct space_map *map, uint64_t address) {
	struct frame frame = {
		.address = address, .kind = map->kind, .module = map->module, .build_id = map->build_id};
	frame.position = map->kind == FRAME_JIT ? address : address - map->begin + map->offset;
	if (map->kind == FRAME_JIT && space->jit_dump)
		frame.module = space->jit_dump;
	return frame;
}

void spaces_learn(struct spaces *spaces, struct strings *strings, const struct event *event) {
	if (event->kind == EVENT_FORK) {
		spaces_fork(spaces, event->pid, event->fork.child_pid);
		return;
	}
	if (!event->mapping.size)
		spaces_exec(spaces, event->pid);
	struct space *space = space_of(spaces, event->pid);
	struct space_map map = {.begin = event->mapping.start,
				.end = event->mapping.start + event->mapping.size,
				.offset = event->mapping.offset,
				.build_id = event->mapping.build_id};
	space_name(space, strings, strings_get(strings, event->mapping.file), &map);
	space_add(space, &map);
}

void spaces_free(struct spaces *spaces) {
	for (size_t i = 0; i < spaces->spaces.count; i++)
		array_free(&spaces->spaces.items[i].maps);
	array_free(&spaces->spaces);
	array_free(&spaces->kernel.maps);
	map_free(&spaces->by_pid);
}
