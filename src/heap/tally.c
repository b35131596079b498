#include "heap/tally.h"

#include "capture/spool.h"
#include "capture/tasks.h"
#include "symbol/reader.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>

// ---- code ----

static void take_module(void *context, const struct task_mapping *mapping) {
	struct heap_tally *tally = context;
	struct heap_area *area = tally->area;
	if (*mapping->path != '/' || strlen(mapping->path) >= HEAP_PATH_SIZE)
		return;
	for (uint32_t i = 0; i < area->module_count; i++)
		if (area->modules[i].begin == mapping->start &&
		    strcmp(area->modules[i].path, mapping->path) == 0)
			return;
	CLEANUP_FREE char *path = memory_format("/proc/%d/root%s", (int)tally->process, mapping->path);
	if (!tally->reader)
		tally->reader = reader_new();
	struct elf_object *object = reader_open_code(tally->reader, path);
	uint64_t address;
	if (object && area->module_count < HEAP_MOST_MODULES &&
	    elf_mapping_address(object, mapping->offset, &address)) {
		struct heap_module *module = &area->modules[area->module_count++];
		*module = (struct heap_module){.bias = mapping->start - address,
					       .begin = mapping->start,
					       .end = mapping->start + mapping->size};
		strcpy(module->path, mapping->path);
	}
	elf_close(object);
}

// Index + 1; the newest module, if one was unloaded there before. 0 if none.
static uint32_t module_at(const struct heap_area *area, uint64_t address) {
	for (uint32_t i = area->module_count; i-- > 0;)
		if (address >= area->modules[i].begin && address < area->modules[i].end)
			return i + 1;
	return 0;
}

// Index + 1; 0 if there is no room.
static uint32_t frame_of(struct heap_tally *tally, uint64_t address) {
	struct heap_area *area = tally->area;
	uint64_t *known = map_put(&tally->frames, address);
	if (*known || area->frame_count == HEAP_MOST_FRAMES)
		return (uint32_t)*known;
	uint32_t module = module_at(area, address);
	if (!module &&
	    tally->modules_stale) { // at most once per stack: most such code is generated at run time
		tally->modules_stale = false;
		task_mappings(tally->process, take_module, tally);
		module = module_at(area, address);
	}
	area->frames[area->frame_count] = (struct heap_frame){.address = address, .module = module};
	*known = ++area->frame_count;
	return (uint32_t)*known;
}

// ---- stacks ----

static void take_stack(struct heap_tally *tally, const struct heap_stack *stack, const uint8_t *addresses) {
	struct heap_area *area = tally->area;
	uint32_t node = 0;
	tally->modules_stale = true;
	for (uint32_t i = stack->frames; i-- > 0;) {
		uint64_t address;
		memcpy(&address, addresses + i * sizeof(address), sizeof(address));
		uint32_t frame = frame_of(tally, address - 1); // inside the call instruction
		if (!frame)
			return;
		uint64_t *child = map_put(&tally->nodes, (uint64_t)node << 32 | frame);
		if (!*child) {
			if (area->node_count == HEAP_MOST_NODES)
				return;
			area->nodes[area->node_count] = (struct heap_node){.parent = node,
									   .frame = frame - 1};
			*child = area->node_count++;
		}
		node = (uint32_t)*child;
	}
	tally->cut += !(stack->flags & SAMPLE_STACK_COMPLETE);
	*map_put(&tally->stacks, stack->id) = node + UINT64_C(1);
}

// Point 0 is for blocks without a stack.
static uint32_t point_of(struct heap_tally *tally, uint64_t stack) {
	struct heap_area *area = tally->area;
	const uint64_t *known = stack ? map_get(&tally->stacks, stack) : NULL;
	uint32_t node = known ? (uint32_t)*known - 1 : 0;
	if (!node)
		return 0;
	if (!area->nodes[node].point && area->point_count < HEAP_MOST_POINTS) {
		area->points[area->point_count].node = node;
		area->nodes[node].point = area->point_count++;
	}
	return area->nodes[node].point;
}

// ---- blocks ----

// Saves a point's values at the newest peak, before it changes.
static struct heap_point *touch(struct heap_area *area, uint32_t index) {
	struct heap_point *point = &area->points[index];
	if (point->peak != area->peak) {
		point->peak = area->peak;
		point->peak_bytes = point->bytes;
		point->peak_blocks = point->blocks;
	}
	return point;
}

// Returns the block's point; -1 if it was allocated before we watched.
static int64_t end_block(struct heap_tally *tally, uint64_t address, uint64_t time) {
	uint64_t *known = map_get(&tally->blocks, address);
	if (!known)
		return -1;
	uint32_t index = (uint32_t)*known - 1;
	struct tallied_block *block = &tally->pool.items[index];
	struct heap_point *point = touch(tally->area, block->point);
	point->bytes -= block->size;
	point->blocks--;
	point->life += time;
	tally->area->bytes -= block->size;
	map_delete(&tally->blocks, address);
	block->next_free = tally->first_free;
	tally->first_free = index + 1;
	return block->point;
}

static void begin_block(struct heap_tally *tally, uint64_t address, uint64_t size, uint32_t at,
			uint64_t time) {
	struct heap_area *area = tally->area;
	struct heap_point *point = touch(area, at);
	if (!tally->first_free) {
		array_push(&tally->pool, (struct tallied_block){0});
		tally->first_free = (uint32_t)tally->pool.count;
	}
	uint32_t index = tally->first_free - 1;
	tally->first_free = tally->pool.items[index].next_free;
	tally->pool.items[index] = (struct tallied_block){.size = size, .born = time, .point = at};
	*map_put(&tally->blocks, address) = index + UINT64_C(1);
	point->total_bytes += size;
	point->total_blocks++;
	point->bytes += size;
	point->blocks++;
	point->life -= time;
	if (point->bytes > point->most_bytes) {
		point->most_bytes = point->bytes;
		point->most_blocks = point->blocks;
	}
	area->bytes += size;
	if (area->bytes > area->most_bytes) {
		area->most_bytes = area->bytes;
		area->peak++;
		area->peak_ticks = time;
	}
}

// A resized block counts again, for the stack that allocated it.
static void take_block(struct heap_tally *tally, const struct heap_block *record) {
	int64_t from = record->resized ? end_block(tally, record->old, record->time) : -1;
	uint32_t point = from < 0 ? point_of(tally, record->stack) : (uint32_t)from;
	end_block(tally, record->address, record->time); // if its end was lost
	begin_block(tally, record->address, record->size, point, record->time);
}

static bool is_late(const struct heap_tally *tally, uint64_t time) {
	return tally->until && time > tally->until;
}

void heap_tally_take(void *context, const void *record, size_t size) {
	struct heap_tally *tally = context;
	struct heap_stack stack;
	struct heap_block block;
	struct heap_free ended;
	uint32_t kind = 0;
	if (size >= sizeof(kind))
		memcpy(&kind, record, sizeof(kind));
	if (kind == HEAP_RECORD_STACK && size >= sizeof(stack)) {
		memcpy(&stack, record, sizeof(stack));
		if (stack.frames <= (size - sizeof(stack)) / 8)
			take_stack(tally, &stack, (const uint8_t *)record + sizeof(stack));
	} else if (kind == HEAP_RECORD_BLOCK && size >= sizeof(block)) {
		memcpy(&block, record, sizeof(block));
		if (!is_late(tally, block.time))
			take_block(tally, &block);
	} else if ((kind == HEAP_RECORD_FREE || kind == HEAP_RECORD_EXEC) && size >= sizeof(ended)) {
		memcpy(&ended, record, sizeof(ended));
		if (kind == HEAP_RECORD_EXEC && !is_late(tally, ended.time)) {
			tally->until = ended.time;
			tally->is_other = true;
		} else if (!is_late(tally, ended.time))
			tally->before += end_block(tally, ended.address, ended.time) < 0;
	}
}

// ---- beginning and end ----

int heap_tally_init(struct heap_tally *tally, pid_t process) {
	*tally = (struct heap_tally){.process = process};
	// At its maximum size; only used pages take memory.
	struct heap_area *area = mmap(NULL, sizeof(*area), PROT_READ | PROT_WRITE,
				      MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (area == MAP_FAILED)
		return -errno;
	tally->area = area;
	area->owner = (uint32_t)process;
	area->node_count = area->point_count = 1;
	area->begin_ticks = area->begin_ns = clock_monotonic_now();
	task_mappings(process, take_module, tally);
	struct buffer words = {0};
	task_command_line(process, &words);
	if (words.size) // the zeroed area leaves an extra NUL at the end
		memcpy(area->command, words.data, MIN(words.size, HEAP_COMMAND_SIZE - 2));
	buffer_free(&words);
	return 0;
}

void heap_tally_free(struct heap_tally *tally) {
	if (tally->area)
		munmap(tally->area, sizeof(*tally->area));
	map_free(&tally->stacks);
	map_free(&tally->frames);
	map_free(&tally->nodes);
	map_free(&tally->blocks);
	array_free(&tally->pool);
	reader_free(tally->reader);
}
