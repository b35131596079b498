// The test wrote the area, and may still be writing: nothing in it is trusted.
#include "heap/profile.h"

#include "base/map.h"
#include "base/shared_memory.h"
#include "symbol/namer.h"

#include <fcntl.h>
#include <inttypes.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

// ---- names ----

struct labels { // for one frame: several if functions were inlined
	size_t first, count;
};

// What an area says about the whole heap, read once.
struct facts {
	uint64_t begin_ticks, begin_ns, since_ticks, since_peak, peak, peak_ticks;
};

struct making {
	const struct heap_area *area;
	struct heap_extent extent;
	struct facts facts;
	struct heap_module *modules; // copies
	double microseconds;         // of a tick
	uint64_t end;                // in ticks
	struct elf_object *objects[HEAP_MOST_MODULES];
	struct map label_of_string; // to label + 1
	ARRAY(struct labels) label_frames;
	ARRAY(uint32_t) label_ids; // innermost first
	// The tree again, with labels in place of frames: stacks that look the same are merged.
	ARRAY(struct heap_node) tree; // frame: the label; point: index in the profile + 1
	struct map tree_index;
	uint32_t *tree_node; // by node
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
	if (!modules->paths)
		modules->paths = strings_new();
	uint32_t id = strings_add(modules->paths, path);
	if (id < modules->items.count)
		return modules->items.items[id];
	CLEANUP_FREE char *there = modules->root ? memory_format("/proc/self/fd/%d%s", modules->root, path)
						 : memory_string(path);
	if (!modules->namer)
		modules->namer = namer_new();
	struct elf_object *object = namer_open(modules->namer, there, "", -1);
	while (modules->items.count < id) // the empty string is there from the beginning
		array_push(&modules->items, NULL);
	array_push(&modules->items, object);
	return object;
}

static void open_modules(struct making *making, struct heap_modules *modules) {
	making->modules = memory_alloc((making->extent.modules + 1) * sizeof(*making->modules));
	for (uint32_t i = 0; i < making->extent.modules; i++) {
		struct heap_module *module = &making->modules[i];
		shared_copy(module, &making->area->modules[i], sizeof(*module));
		bool ends = memchr(module->path, 0, HEAP_PATH_SIZE);
		module->path[HEAP_PATH_SIZE - 1] = 0;
		if (*module->path == '/' && ends)
			making->objects[i] = module_at(modules, module->path);
	}
}

void heap_modules_free(struct heap_modules *modules) {
	namer_free(modules->namer);
	array_free(&modules->items);
	if (modules->paths)
		strings_free(modules->paths);
	if (modules->root)
		close(modules->root);
}

// "0x4005D0: function (file.c:12)", or the module if the line is unknown.
static void add_function(struct making *making, uint64_t address, const struct named *named,
			 const char *module) {
	CLEANUP_FREE char *name = named->name || *module ? named_text(named, module) : memory_string("???");
	CLEANUP_FREE char *in = *module ? memory_format(" (in %s)", module) : memory_string("");
	const char *slash = named->at.file ? strrchr(named->at.file, '/') : NULL;
	CLEANUP_FREE char *where = named->at.file
					   ? memory_format(" (%s:%" PRIu32 ")",
							   slash ? slash + 1 : named->at.file, named->at.line)
					   : NULL;
	CLEANUP_FREE char *text = memory_format("0x%" PRIX64 ": %s%s", address, name, where ? where : in);
	add_label(making, text, name, module);
}

static void name_frame(struct making *making, struct namer *namer, const struct heap_frame *frame) {
	uint32_t module = frame->module <= making->extent.modules ? frame->module : 0;
	const struct heap_module *in = module ? &making->modules[module - 1] : NULL;
	struct elf_object *object = module ? making->objects[module - 1] : NULL;
	uint64_t address = frame->address - (in ? in->bias : 0);
	struct named found[MOST_NAMED];
	size_t count = namer_describe(namer, object, address, found);
	for (size_t i = 0; i < count; i++)
		add_function(making, address, &found[i], in ? in->path : "");
}

static void name_frames(struct making *making, struct namer *namer) {
	for (uint32_t i = 0; i < making->extent.frames; i++) {
		struct labels labels = {.first = making->label_ids.count};
		struct heap_frame frame;
		shared_copy(&frame, &making->area->frames[i], sizeof(frame));
		name_frame(making, namer, &frame);
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
	making->tree_node = memory_alloc((making->extent.nodes + 1) * sizeof(*making->tree_node));
	for (uint32_t i = 1; i < making->extent.nodes; i++) {
		struct heap_node node;
		shared_copy(&node, &making->area->nodes[i], sizeof(node));
		uint32_t at = node.parent < i ? making->tree_node[node.parent] : 0;
		if (node.frame < making->extent.frames) {
			struct labels labels = making->label_frames.items[node.frame];
			for (size_t k = labels.count; k-- > 0;)
				at = tree_child(making, at, making->label_ids.items[labels.first + k]);
		}
		making->tree_node[i] = at;
	}
}

static void add_stack(struct making *making, uint32_t at, struct dhat_point *point) {
	point->first_frame = making->made->profile.stacks.count;
	if (!at) { // blocks for which the tables had no room
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

static void add_point(struct making *making, const struct heap_point *from, struct heap_reached reached) {
	if (from->total_blocks <= from->since_blocks)
		return;
	struct dhat_point *point = point_of(
		making, from->node < making->extent.nodes ? making->tree_node[from->node] : 0);
	bool same = from->peak != making->facts.peak; // unchanged since the peak
	point->total_bytes += from->total_bytes - from->since_bytes;
	point->total_blocks += from->total_blocks - from->since_blocks;
	// Points are merged if a library was unloaded and loaded at another address: it was hardly
	// in both places at once.
	if (from->most_bytes >= point->most_bytes) {
		point->most_bytes = from->most_bytes;
		point->most_blocks = from->most_blocks;
	}
	point->peak_bytes += same ? from->bytes : from->peak_bytes;
	point->peak_blocks += same ? from->blocks : from->peak_blocks;
	point->end_bytes += from->bytes;
	point->end_blocks += from->blocks;
	point->reached_bytes += MIN(reached.bytes, from->bytes);
	point->reached_blocks += MIN(reached.blocks, from->blocks);
	int64_t life = (int64_t)(from->life + from->blocks * making->end - from->since_life);
	point->life += (uint64_t)((double)MAX(life, 0) * making->microseconds);
}

// Reads a point of a running test, if possible not while it is being changed.
static struct heap_point point_now(const struct heap_point *shared) {
	enum { TRIES = 100 };
	struct heap_point point;
	for (int i = 0; i < TRIES; i++) {
		bool free_before = !__atomic_load_n(&shared->lock, __ATOMIC_ACQUIRE);
		shared_copy(&point, shared, sizeof(point));
		__atomic_thread_fence(__ATOMIC_ACQUIRE);
		if (free_before && !__atomic_load_n(&shared->lock, __ATOMIC_ACQUIRE) &&
		    point.life == __atomic_load_n(&shared->life, __ATOMIC_RELAXED) &&
		    point.total_blocks == __atomic_load_n(&shared->total_blocks, __ATOMIC_RELAXED))
			break;
	}
	return point;
}

// Reduces `point` to this window. Peaks before the window do not count: then only the values at its
// end are known.
static void cut_to_window(const struct facts *facts, struct heap_point *point) {
	if (point->most_bytes <= point->since_most) {
		point->most_bytes = point->bytes;
		point->most_blocks = point->blocks;
	}
	if (facts->peak <= facts->since_peak)
		point->peak = facts->peak + 1; // treats the present as the peak
}

static struct heap_reached reached_of(const struct heap_area *area, uint32_t point) {
	if (!SHARED_LOAD(area->is_searched))
		return (struct heap_reached){0};
	return (struct heap_reached){SHARED_LOAD(area->reached[point].bytes),
				     SHARED_LOAD(area->reached[point].blocks)};
}

static void add_points(struct making *making, struct heap_area *area, enum heap_window window) {
	for (uint32_t i = 0; i < making->extent.points; i++) {
		struct heap_point now = point_now(&area->points[i]), point = now;
		if (window == HEAP_WHOLE)
			point.since_bytes = point.since_blocks = point.since_life = 0;
		else
			cut_to_window(&making->facts, &point);
		add_point(making, &point, reached_of(area, i));
		if (window != HEAP_WINDOW_END)
			continue;
		area->points[i].since_bytes = now.total_bytes;
		area->points[i].since_blocks = now.total_blocks;
		area->points[i].since_most = now.most_bytes;
		area->points[i].since_life = now.life + now.blocks * making->end;
	}
}

static void take_times(struct making *making, const struct heap_time *end, bool whole) {
	const struct facts *facts = &making->facts;
	struct dhat_profile *profile = &making->made->profile;
	double ticks = (double)end->ticks - (double)facts->begin_ticks;
	double ns = (double)end->ns - (double)facts->begin_ns;
	uint64_t begin = whole ? facts->begin_ticks : MAX(facts->begin_ticks, facts->since_ticks);
	making->end = end->ticks;
	making->microseconds = ticks > 0 && ns > 0 ? ns / ticks / 1000 : 0;
	profile->end = (uint64_t)(MAX((double)end->ticks - (double)begin, 0) * making->microseconds);
	if (facts->peak_ticks > begin)
		profile->peak = (uint64_t)((double)(facts->peak_ticks - begin) * making->microseconds);
}

// ---- the whole ----

static char *command_of(const struct heap_area *area) {
	struct buffer words = {0};
	_Alignas(uint32_t) char command[HEAP_COMMAND_SIZE];
	shared_copy(command, area->command, sizeof(command));
	for (size_t i = 0; i < HEAP_COMMAND_SIZE - 1 && command[i];) {
		size_t length = strnlen(command + i, HEAP_COMMAND_SIZE - 1 - i);
		buffer_printf(&words, "%s%.*s", words.size ? " " : "", (int)length, command + i);
		i += length + 1;
	}
	buffer_append(&words, "", 1);
	return (char *)words.data;
}

static struct facts facts_of(const struct heap_area *area) {
	return (struct facts){.begin_ticks = SHARED_LOAD(area->begin_ticks),
			      .begin_ns = SHARED_LOAD(area->begin_ns),
			      .since_ticks = SHARED_LOAD(area->since_ticks),
			      .since_peak = SHARED_LOAD(area->since_peak),
			      .peak = SHARED_LOAD(area->peak),
			      .peak_ticks = SHARED_LOAD(area->peak_ticks)};
}

struct heap_extent heap_extent(int heap, uint32_t index, const struct heap_area *area) {
	uint64_t begin = heap_area_offset(index);
	struct heap_extent extent;
#define EXTENT(table, counter, largest)                                                                      \
	{                                                                                                    \
		&extent.table, &area->counter, begin + offsetof(struct heap_area, table),                    \
			sizeof(area->table[0]), largest                                                      \
	}
	const struct {
		uint32_t *result;
		const uint32_t *claimed;
		uint64_t offset;
		size_t item_size;
		uint32_t most;
	} tables[] = {EXTENT(modules, module_count, HEAP_MOST_MODULES),
		      EXTENT(frames, frame_count, HEAP_MOST_FRAMES),
		      EXTENT(nodes, node_count, HEAP_MOST_NODES),
		      EXTENT(points, point_count, HEAP_MOST_POINTS)};
#undef EXTENT
	for (size_t i = 0; i < ARRAY_SIZE(tables); i++) {
		uint32_t claimed = SHARED_LOAD(*tables[i].claimed);
		*tables[i].result = shared_items_there(heap, tables[i].offset, tables[i].item_size,
						       MIN(claimed, tables[i].most));
	}
	return extent;
}

struct heap_made *heap_make(struct heap_area *area, const struct heap_extent *extent, enum heap_window window,
			    const struct heap_time *end, struct heap_modules *modules) {
	struct heap_made *made = memory_alloc(sizeof(*made));
	struct making *making = memory_alloc(sizeof(*making));
	*making = (struct making){.area = area, .extent = *extent, .facts = facts_of(area), .made = made};
	made->strings = strings_new();
	made->profile.pid = SHARED_LOAD(area->owner);
	made->profile.command = made->command = command_of(area);
	take_times(making, end, window == HEAP_WHOLE);
	open_modules(making, modules);
	name_frames(making, modules->namer);
	make_tree(making);
	add_points(making, area, window);
	if (window == HEAP_WINDOW_END) {
		area->since_ticks = end->ticks;
		area->since_ns = end->ns;
		area->since_peak = making->facts.peak;
	}
	map_free(&making->label_of_string);
	map_free(&making->tree_index);
	array_free(&making->label_frames);
	array_free(&making->label_ids);
	array_free(&making->tree);
	free(making->tree_node);
	free(making->modules);
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

void heap_add_sums(struct heap_sums *sums, const struct heap_made *made) {
	uint64_t peak = 0;
	for (size_t i = 0; i < made->profile.points.count; i++) {
		const struct dhat_point *point = &made->profile.points.items[i];
		sums->bytes += point->total_bytes;
		sums->blocks += point->total_blocks;
		sums->left += point->end_bytes;
		peak += point->peak_bytes;
	}
	sums->peak = MAX(sums->peak, peak);
	sums->sampled |= made->profile.sample;
}
