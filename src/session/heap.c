// The area was written by the test: nothing in it is believed.
#include "session/heap.h"

#include "base/log.h"
#include "base/map.h"
#include "event/strings.h"
#include "symbol/demangle.h"
#include "symbol/elf.h"
#include "symbol/inlined.h"
#include "write/dhat.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

enum { MOST_INLINED = 32 };

// ---- the beginning ----

int heap_create(void) {
#ifndef __x86_64__
	log_warning("no heap profile: stacks are walked on x86-64 only");
	return -1;
#endif
	struct {
		uint64_t magic;
		uint32_t version, owner;
	} head = {HEAP_MAGIC, HEAP_VERSION, 0};
	int fd = memfd_create("tracelet-heap", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (fd < 0 || ftruncate(fd, sizeof(struct heap_area)) ||
	    pwrite(fd, &head, sizeof(head), 0) != (ssize_t)sizeof(head) ||
	    fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL)) {
		log_warning("no heap profile: %s", strerror(errno));
		if (fd >= 0)
			close(fd);
		return -1;
	}
	return fd;
}

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
	struct strings *strings;
	struct map label_of_string; // to one more than the label
	ARRAY(struct labels) labels;
	ARRAY(uint32_t) label_ids; // innermost first
	// The tree again, with labels for frames: two stacks that read the same are one.
	ARRAY(struct heap_node) tree; // frame: the label; point: one more than the index in the profile
	struct map tree_index;
	uint32_t *tree_node; // of each node
	struct dhat_profile profile;
};

static void add_label(struct making *making, const char *text) {
	uint32_t string = strings_add(making->strings, text);
	uint64_t *label = map_put(&making->label_of_string, string);
	if (!*label) {
		array_push(&making->profile.frames, strings_get(making->strings, string));
		*label = making->profile.frames.count;
	}
	array_push(&making->label_ids, (uint32_t)*label - 1);
}

static void open_modules(struct making *making) {
	for (uint32_t i = 0; i < making->modules; i++) {
		const char *path = making->area->modules[i].path;
		if (*path != '/' || !memchr(path, 0, HEAP_PATH_SIZE))
			continue;
		struct elf_object *object = making->objects[i] = elf_open(path, "");
		if (object)
			object->inlined = inlined_table_new(object);
	}
}

static void close_modules(struct making *making) {
	for (uint32_t i = 0; i < making->modules; i++) {
		if (making->objects[i])
			inlined_table_free(making->objects[i]->inlined);
		elf_close(making->objects[i]);
	}
}

static void name_function(struct making *making, uint64_t address, const char *name, const char *where) {
	CLEANUP_FREE char *readable = name ? demangle(name) : NULL;
	size_t length = name ? strcspn(name, "@") : 0; // without the version
	CLEANUP_FREE char *text = readable
					  ? memory_format("0x%" PRIX64 ": %s%s", address, readable, where)
					  : memory_format("0x%" PRIX64 ": %.*s%s", address,
							  name ? (int)length : 3, name ? name : "???", where);
	add_label(making, text);
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
	CLEANUP_FREE char *path = in ? memory_format(" (in %.*s)", HEAP_PATH_SIZE, in->path)
				     : memory_string("");
	CLEANUP_FREE char *where = object && object->inlined &&
						   line_at(object->inlined, address, &file, &line)
					   ? memory_format(" (%s:%d)", file, line)
					   : NULL;
	for (size_t i = 0; i < count; i++)
		name_function(making, address, names[i], i || !where ? path : where);
}

static void name_frames(struct making *making) {
	for (uint32_t i = 0; i < making->frames; i++) {
		struct labels labels = {.first = making->label_ids.count};
		name_frame(making, &making->area->frames[i]);
		labels.count = making->label_ids.count - labels.first;
		array_push(&making->labels, labels);
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
			struct labels labels = making->labels.items[node->frame];
			for (size_t k = labels.count; k-- > 0;)
				at = tree_child(making, at, making->label_ids.items[labels.first + k]);
		}
		making->tree_node[i] = at;
	}
}

static void add_stack(struct making *making, uint32_t at, struct dhat_point *point) {
	point->first_frame = making->profile.stacks.count;
	if (!at) { // what found no room in the tables
		uint32_t before = (uint32_t)making->label_ids.count;
		add_label(making, "(stack not recorded)");
		array_push(&making->profile.stacks, making->label_ids.items[before]);
	}
	for (; at; at = making->tree.items[at].parent)
		array_push(&making->profile.stacks, making->tree.items[at].frame);
	point->frame_count = making->profile.stacks.count - point->first_frame;
}

// ---- points ----

static void add_point(struct making *making, const struct heap_point *from) {
	struct heap_node *node =
		&making->tree.items[from->node < making->nodes ? making->tree_node[from->node] : 0];
	if (!from->total_blocks)
		return;
	if (!node->point) {
		struct dhat_point point = {0};
		add_stack(making, (uint32_t)(node - making->tree.items), &point);
		array_push(&making->profile.points, point);
		node->point = (uint32_t)making->profile.points.count;
	}
	struct dhat_point *point = &making->profile.points.items[node->point - 1];
	bool same = from->peak != making->area->peak; // nothing has changed since
	point->total_bytes += from->total_bytes;
	point->total_blocks += from->total_blocks;
	// Points become one where a library was unloaded and came back elsewhere: hardly both at once.
	if (from->most_bytes >= point->most_bytes) {
		point->most_bytes = from->most_bytes;
		point->most_blocks = from->most_blocks;
	}
	point->peak_bytes += same ? from->bytes : from->peak_bytes;
	point->peak_blocks += same ? from->blocks : from->peak_blocks;
	point->end_bytes += from->bytes;
	point->end_blocks += from->blocks;
	int64_t life = (int64_t)(from->life + from->blocks * making->end);
	point->life += (uint64_t)((double)MAX(life, 0) * making->microseconds);
}

struct heap_time heap_time_now(void) {
	struct timespec now;
	clock_gettime(CLOCK_BOOTTIME, &now);
	return (struct heap_time){heap_ticks(), (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec};
}

static void take_times(struct making *making, const struct heap_time *end) {
	const struct heap_area *area = making->area;
	double ticks = (double)end->ticks - (double)area->begin_ticks;
	double ns = (double)end->ns - (double)area->begin_ns;
	making->end = end->ticks;
	making->microseconds = ticks > 0 && ns > 0 ? ns / ticks / 1000 : 0;
	making->profile.end = (uint64_t)(MAX(ticks, 0) * making->microseconds);
	if (area->peak_ticks > area->begin_ticks)
		making->profile.peak = (uint64_t)((double)(area->peak_ticks - area->begin_ticks) *
						  making->microseconds);
}

static void make_profile(struct making *making, const struct heap_time *end) {
	const struct heap_area *area = making->area;
	making->modules = MIN(area->module_count, HEAP_MOST_MODULES);
	making->frames = MIN(area->frame_count, HEAP_MOST_FRAMES);
	making->nodes = MIN(area->node_count, HEAP_MOST_NODES);
	making->points = MIN(area->point_count, HEAP_MOST_POINTS);
	making->strings = strings_new();
	making->profile.pid = area->owner;
	take_times(making, end);
	open_modules(making);
	name_frames(making);
	close_modules(making);
	make_tree(making);
	for (uint32_t i = 0; i < making->points; i++)
		add_point(making, &area->points[i]);
}

static void free_making(struct making *making) {
	strings_free(making->strings);
	map_free(&making->label_of_string);
	map_free(&making->tree_index);
	array_free(&making->labels);
	array_free(&making->label_ids);
	array_free(&making->tree);
	array_free(&making->profile.points);
	array_free(&making->profile.stacks);
	array_free(&making->profile.frames);
	free(making->tree_node);
	free(making);
}

// ---- the end ----

static int write_profile(const char *path, const struct dhat_profile *profile) {
	struct output output;
	int error = output_open(&output, path, OUTPUT_CREATE);
	if (error)
		return error;
	error = dhat_write(&output, profile);
	if (!error)
		error = output_commit(&output);
	output_abandon(&output);
	return error;
}

static char *save(const struct heap_area *area, const char *stem, char **command,
		  const struct heap_time *end) {
	struct making *making = memory_alloc(sizeof(*making));
	struct buffer words = {0};
	for (char **word = command; word && *word; word++)
		buffer_printf(&words, "%s%s", words.size ? " " : "", *word);
	buffer_append(&words, "", 1);
	making->area = area;
	making->profile.command = (char *)words.data;
	make_profile(making, end);
	if (!making->profile.points.count)
		log_warning("the heap profile is empty: the program may have an allocator of its own");
	if (area->missed)
		log_warning("the heap profile lacks %" PRIu64 " blocks: there was no memory to note them",
			    area->missed);
	char *path = memory_format("%s.dhat.json", stem);
	int error = write_profile(path, &making->profile);
	if (error) {
		log_warning("%s: cannot be written: %s", path, strerror(-error));
		free(path);
		path = NULL;
	}
	free_making(making);
	buffer_free(&words);
	return path;
}

int heap_write(const struct heap_area *area, const char *path, const char *command,
	       const struct heap_time *end) {
	struct making *making = memory_alloc(sizeof(*making));
	struct output output;
	making->area = area;
	making->profile.command = command;
	make_profile(making, end);
	int error = output_open(&output, path, OUTPUT_REPLACE);
	if (!error) {
		error = dhat_write(&output, &making->profile);
		if (!error)
			error = output_commit(&output);
		output_abandon(&output);
	}
	if (error)
		log_error("%s: cannot be written: %s", path, strerror(-error));
	free_making(making);
	return error;
}

char *heap_save(int fd, const char *stem, char **command, const struct heap_time *end) {
	const struct heap_area *area = mmap(NULL, sizeof(*area), PROT_READ, MAP_SHARED, fd, 0);
	if (area == MAP_FAILED) {
		log_warning("no heap profile: %s", strerror(errno));
		return NULL;
	}
	char *path = NULL;
	if (!area->owner)
		log_warning("no heap profile: %s did not load our library (a static or set-user-id program?)",
			    command[0]);
	else
		path = save(area, stem, command, end);
	munmap((void *)area, sizeof(*area));
	return path;
}
