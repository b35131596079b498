// The area was written by the test, and may still be: nothing in it is believed.
#include "session/heap_profile.h"

#include "base/map.h"
#include "symbol/demangle.h"
#include "symbol/elf.h"
#include "symbol/inlined.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MOST_INLINED = 32 };

// ---- names ----

struct labels { // of one frame: several where functions were inlined
	size_t first, count;
};

struct making {
	const struct heap_area *area;
	uint32_t modules, frames, nodes, points; // how many there are
	double microseconds;                     // of a tick
	uint64_t end;                            // in ticks
	struct elf_object *objects[HEAP_MOST_MODULES];
	struct map label_of_string; // to one more than the label
	ARRAY(struct labels) label_frames;
	ARRAY(uint32_t) label_ids; // innermost first
	// The tree again, with labels for frames: two stacks that read the same are one.
	ARRAY(struct heap_node) tree; // frame: the label; point: one more than the index in the profile
	struct map tree_index;
	uint32_t *tree_node; // of each node
	struct heap_made *made;
};

static void add_label(struct making *making, const char *text, const char *function, const char *module) {
	uint32_t string = strings_add(making->made->strings, text);
	uint64_t *label = map_put(&making->label_of_string, string);
	if (!*label) {
		array_push(&making->made->profile.frames, strings_get(making->made->strings, string));
		struct heap_label named = {
			strings_get(making->made->strings, strings_add(making->made->strings, function)),
			strings_get(making->made->strings, strings_add(making->made->strings, module))};
		array_push(&making->made->labels, named);
		*label = making->made->profile.frames.count;
	}
	array_push(&making->label_ids, (uint32_t)*label - 1);
}

static bool is_same(pid_t process, const char *what) {
	CLEANUP_FREE char *path = memory_format("/proc/%d/%s", (int)process, what);
	CLEANUP_FREE char *of_us = memory_format("/proc/self/%s", what);
	struct stat theirs, ours;
	return stat(path, &theirs) == 0 && stat(of_us, &ours) == 0 && theirs.st_dev == ours.st_dev &&
	       theirs.st_ino == ours.st_ino;
}

void heap_modules_begin(struct heap_modules *modules, pid_t process) {
	*modules = (struct heap_modules){0};
	if (is_same(process, "ns/mnt") && is_same(process, "root"))
		return;
	CLEANUP_FREE char *path = memory_format("/proc/%d/root", (int)process);
	modules->root = MAX(open(path, O_PATH | O_DIRECTORY | O_CLOEXEC), 0);
}

static struct elf_object *module_at(struct heap_modules *modules, const char *path) {
	for (size_t i = 0; i < modules->paths.count; i++)
		if (strcmp(modules->paths.items[i], path) == 0)
			return modules->items.items[i];
	CLEANUP_FREE char *there = modules->root ? memory_format("/proc/self/fd/%d%s", modules->root, path)
						 : memory_string(path);
	struct elf_object *object = elf_open(there, "");
	if (object)
		object->inlined = inlined_table_new(object);
	array_push(&modules->items, object);
	array_push(&modules->paths, memory_string(path));
	return object;
}

static void open_modules(struct making *making, struct heap_modules *modules) {
	for (uint32_t i = 0; i < making->modules; i++) {
		const char *path = making->area->modules[i].path;
		if (*path == '/' && memchr(path, 0, HEAP_PATH_SIZE))
			making->objects[i] = module_at(modules, path);
	}
}

void heap_modules_free(struct heap_modules *modules) {
	for (size_t i = 0; i < modules->items.count; i++) {
		if (modules->items.items[i])
			inlined_table_free(modules->items.items[i]->inlined);
		elf_close(modules->items.items[i]);
		free(modules->paths.items[i]);
	}
	array_free(&modules->items);
	array_free(&modules->paths);
	if (modules->root)
		close(modules->root);
}

static void name_function(struct making *making, uint64_t address, const char *name, const char *where,
			  const char *module) {
	CLEANUP_FREE char *plain = name ? memory_format("%.*s", (int)strcspn(name, "@"), name) // no version
					: memory_string("???");
	CLEANUP_FREE char *readable = name ? demangle(name) : NULL;
	CLEANUP_FREE char *text = memory_format("0x%" PRIX64 ": %s%s", address, readable ? readable : plain,
						where);
	add_label(making, text, readable ? readable : plain, module);
}

// The innermost function is where the line is.
static void name_frame(struct making *making, const struct heap_frame *frame) {
	uint32_t module = frame->module <= making->modules ? frame->module : 0;
	const struct heap_module *in = module ? &making->area->modules[module - 1] : NULL;
	struct elf_object *object = module ? making->objects[module - 1] : NULL;
	uint64_t address = frame->address - (in ? in->bias : 0);
	struct elf_symbol *symbol = object ? elf_symbol_at(object, address) : NULL;
	const char *names[MOST_INLINED + 1], *file;
	size_t count = object && object->inlined ? inlined_at(object->inlined, address, names, MOST_INLINED)
						 : 0;
	names[count++] = symbol ? symbol->name : NULL;
	int line;
	CLEANUP_FREE char *file_name = memory_format("%.*s", HEAP_PATH_SIZE, in ? in->path : "");
	CLEANUP_FREE char *path = in ? memory_format(" (in %s)", file_name) : memory_string("");
	CLEANUP_FREE char *where = object && object->inlined &&
						   line_at(object->inlined, address, &file, &line)
					   ? memory_format(" (%s:%d)", file, line)
					   : NULL;
	for (size_t i = 0; i < count; i++)
		name_function(making, address, names[i], i || !where ? path : where, file_name);
}

static void name_frames(struct making *making) {
	for (uint32_t i = 0; i < making->frames; i++) {
		struct labels labels = {.first = making->label_ids.count};
		name_frame(making, &making->area->frames[i]);
		labels.count = making->label_ids.count - labels.first;
		array_push(&making->label_frames, labels);
	}
}

// ---- stacks ----

static uint32_t tree_child(struct making *making, uint32_t parent, uint32_t label) {
	uint64_t *index = map_put(&making->tree_index, (uint64_t)parent << 32 | label);
	if (!*index) {
		array_push(&making->tree, (struct heap_node){.parent = parent, .frame = label});
		*index = making->tree.count;
	}
	return (uint32_t)*index - 1;
}

static void make_tree(struct making *making) {
	array_push(&making->tree, (struct heap_node){0});
	making->tree_node = memory_alloc((making->nodes + 1) * sizeof(*making->tree_node));
	for (uint32_t i = 1; i < making->nodes; i++) {
		const struct heap_node *node = &making->area->nodes[i];
		uint32_t at = node->parent < i ? making->tree_node[node->parent] : 0;
		if (node->frame < making->frames) {
			struct labels labels = making->label_frames.items[node->frame];
			for (size_t k = labels.count; k-- > 0;)
				at = tree_child(making, at, making->label_ids.items[labels.first + k]);
		}
		making->tree_node[i] = at;
	}
}

static void add_stack(struct making *making, uint32_t at, struct dhat_point *point) {
	point->first_frame = making->made->profile.stacks.count;
	if (!at) { // what found no room in the tables
		uint32_t before = (uint32_t)making->label_ids.count;
		add_label(making, "(stack not recorded)", "", "");
		array_push(&making->made->profile.stacks, making->label_ids.items[before]);
	}
	for (; at; at = making->tree.items[at].parent)
		array_push(&making->made->profile.stacks, making->tree.items[at].frame);
	point->frame_count = making->made->profile.stacks.count - point->first_frame;
}

// ---- points ----

static struct dhat_point *point_of(struct making *making, uint32_t at) {
	struct heap_node *node = &making->tree.items[at];
	if (!node->point) {
		struct dhat_point point = {0};
		add_stack(making, at, &point);
		array_push(&making->made->profile.points, point);
		node->point = (uint32_t)making->made->profile.points.count;
	}
	return &making->made->profile.points.items[node->point - 1];
}

static void add_point(struct making *making, const struct heap_point *from) {
	if (from->total_blocks <= from->since_blocks)
		return;
	struct dhat_point *point = point_of(making,
					    from->node < making->nodes ? making->tree_node[from->node] : 0);
	bool same = from->peak != making->area->peak; // nothing has changed since
	point->total_bytes += from->total_bytes - from->since_bytes;
	point->total_blocks += from->total_blocks - from->since_blocks;
	// Points become one where a library was unloaded and came back elsewhere: hardly both at once.
	if (from->most_bytes >= point->most_bytes) {
		point->most_bytes = from->most_bytes;
		point->most_blocks = from->most_blocks;
	}
	point->peak_bytes += same ? from->bytes : from->peak_bytes;
	point->peak_blocks += same ? from->blocks : from->peak_blocks;
	point->end_bytes += from->bytes;
	point->end_blocks += from->blocks;
	int64_t life = (int64_t)(from->life + from->blocks * making->end - from->since_life);
	point->life += (uint64_t)((double)MAX(life, 0) * making->microseconds);
}

// Of a test that goes on: not while it is being changed, if that can be had.
static struct heap_point point_now(const struct heap_point *shared) {
	enum { TRIES = 100 };
	struct heap_point point;
	for (int i = 0; i < TRIES; i++) {
		bool free_before = !__atomic_load_n(&shared->lock, __ATOMIC_ACQUIRE);
		memcpy(&point, shared, sizeof(point));
		__atomic_thread_fence(__ATOMIC_ACQUIRE);
		if (free_before && !__atomic_load_n(&shared->lock, __ATOMIC_ACQUIRE) &&
		    point.life == __atomic_load_n(&shared->life, __ATOMIC_RELAXED) &&
		    point.total_blocks == __atomic_load_n(&shared->total_blocks, __ATOMIC_RELAXED))
			break;
	}
	return point;
}

// Leaves in `point` what is of this window. Peaks before it are not its own: what it had at its end
// is all that is known then.
static void cut_to_window(const struct heap_area *area, struct heap_point *point) {
	if (point->most_bytes <= point->since_most) {
		point->most_bytes = point->bytes;
		point->most_blocks = point->blocks;
	}
	if (area->peak <= area->since_peak)
		point->peak = area->peak + 1; // as if it were at the peak now
}

static void add_points(struct making *making, struct heap_area *area, enum heap_window window) {
	for (uint32_t i = 0; i < making->points; i++) {
		struct heap_point now = point_now(&area->points[i]), point = now;
		if (window == HEAP_WHOLE)
			point.since_bytes = point.since_blocks = point.since_life = 0;
		else
			cut_to_window(area, &point);
		add_point(making, &point);
		if (window != HEAP_WINDOW_END)
			continue;
		area->points[i].since_bytes = now.total_bytes;
		area->points[i].since_blocks = now.total_blocks;
		area->points[i].since_most = now.most_bytes;
		area->points[i].since_life = now.life + now.blocks * making->end;
	}
}

static void take_times(struct making *making, const struct heap_time *end, bool whole) {
	const struct heap_area *area = making->area;
	struct dhat_profile *profile = &making->made->profile;
	double ticks = (double)end->ticks - (double)area->begin_ticks;
	double ns = (double)end->ns - (double)area->begin_ns;
	uint64_t begin = whole || area->since_ticks < area->begin_ticks ? area->begin_ticks
									: area->since_ticks;
	making->end = end->ticks;
	making->microseconds = ticks > 0 && ns > 0 ? ns / ticks / 1000 : 0;
	profile->end = (uint64_t)(MAX((double)end->ticks - (double)begin, 0) * making->microseconds);
	if (area->peak_ticks > begin)
		profile->peak = (uint64_t)((double)(area->peak_ticks - begin) * making->microseconds);
}

// ---- the whole ----

static char *command_of(const struct heap_area *area) {
	struct buffer words = {0};
	for (size_t i = 0; i < HEAP_COMMAND_SIZE - 1 && area->command[i];) {
		size_t length = strnlen(area->command + i, HEAP_COMMAND_SIZE - 1 - i);
		buffer_printf(&words, "%s%.*s", words.size ? " " : "", (int)length, area->command + i);
		i += length + 1;
	}
	buffer_append(&words, "", 1);
	return (char *)words.data;
}

struct heap_made *heap_make(struct heap_area *area, enum heap_window window, const struct heap_time *end,
			    struct heap_modules *modules) {
	struct heap_made *made = memory_alloc(sizeof(*made));
	struct making *making = memory_alloc(sizeof(*making));
	*making = (struct making){.area = area, .made = made};
	making->modules = MIN(area->module_count, HEAP_MOST_MODULES);
	making->frames = MIN(area->frame_count, HEAP_MOST_FRAMES);
	making->nodes = MIN(area->node_count, HEAP_MOST_NODES);
	making->points = MIN(area->point_count, HEAP_MOST_POINTS);
	made->strings = strings_new();
	made->profile.pid = area->owner;
	made->profile.command = made->command = command_of(area);
	take_times(making, end, window == HEAP_WHOLE);
	open_modules(making, modules);
	name_frames(making);
	make_tree(making);
	add_points(making, area, window);
	if (window == HEAP_WINDOW_END) {
		area->since_ticks = end->ticks;
		area->since_ns = end->ns;
		area->since_peak = area->peak;
	}
	map_free(&making->label_of_string);
	map_free(&making->tree_index);
	array_free(&making->label_frames);
	array_free(&making->label_ids);
	array_free(&making->tree);
	free(making->tree_node);
	free(making);
	return made;
}

void heap_made_free(struct heap_made *made) {
	if (!made)
		return;
	strings_free(made->strings);
	array_free(&made->labels);
	array_free(&made->profile.points);
	array_free(&made->profile.stacks);
	array_free(&made->profile.frames);
	free(made->command);
	free(made);
}
