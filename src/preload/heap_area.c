// The tables in the memory that the tracer shares. New modules, frames and nodes are
// rare, each thread remembers those it has met: one lock is enough for all of them.
#include "preload/heap.h"

#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

// Finds ids by what is in them: a table of ids, one more than each.
struct index {
	uint32_t *slots;
	size_t capacity, count;
};

struct heap_area *heap_area;
uint32_t heap_generation;

static uint32_t lock;
static struct index frames, nodes;
static struct {
	uint32_t generation;
	bool known;
} modules[HEAP_MOST_MODULES];

// ---- indexes ----

static uint64_t mix(uint64_t a, uint64_t b) {
	uint64_t key = (a ^ b * UINT64_C(0xff51afd7ed558ccd)) * UINT64_C(0x9e3779b97f4a7c15);
	return key ^ key >> 32;
}

static uint64_t hash_of(const struct index *index, uint32_t id) {
	return index == &frames ? mix(heap_area->frames[id].address, heap_area->frames[id].module)
				: mix(heap_area->nodes[id].parent, heap_area->nodes[id].frame);
}

static bool make_room(struct index *index) {
	if (index->count * 2 < index->capacity)
		return true;
	struct index larger = {.capacity = index->capacity ? index->capacity * 2 : 1 << 12,
			       .count = index->count};
	larger.slots = heap_pages(larger.capacity * sizeof(*larger.slots));
	if (!larger.slots)
		return false;
	for (size_t i = 0; i < index->capacity; i++) {
		if (!index->slots[i])
			continue;
		size_t slot = hash_of(index, index->slots[i] - 1) & (larger.capacity - 1);
		while (larger.slots[slot])
			slot = (slot + 1) & (larger.capacity - 1);
		larger.slots[slot] = index->slots[i];
	}
	heap_pages_free(index->slots, index->capacity * sizeof(*index->slots));
	*index = larger;
	return true;
}

// ---- modules ----

struct search {
	uint64_t address;
	struct heap_module *module;
	bool found;
};

static int look_at(struct dl_phdr_info *info, size_t size, void *context) {
	struct search *search = context;
	uint64_t begin = UINT64_MAX, end = 0, header = 0, header_size = 0;
	bool inside = false;
	for (int i = 0; i < info->dlpi_phnum; i++) {
		const ElfW(Phdr) *segment = &info->dlpi_phdr[i];
		uint64_t first = info->dlpi_addr + segment->p_vaddr, last = first + segment->p_memsz;
		if (segment->p_type == PT_GNU_EH_FRAME) {
			header = first;
			header_size = segment->p_memsz;
		}
		if (segment->p_type != PT_LOAD)
			continue;
		begin = first < begin ? first : begin;
		end = last > end ? last : end;
		inside |= search->address >= first && search->address < last;
	}
	if (!inside)
		return 0;
	search->found = true;
	*search->module = (struct heap_module){.bias = info->dlpi_addr,
					       .begin = begin,
					       .end = end,
					       .eh_header = header,
					       .eh_header_size = header_size};
	if (info->dlpi_name)
		strncpy(search->module->path, info->dlpi_name, HEAP_PATH_SIZE - 1);
	return 1;
}

static uint32_t known_module(uint64_t address) {
	for (uint32_t i = 0; i < heap_area->module_count; i++)
		if (modules[i].known && modules[i].generation == heap_generation &&
		    address >= heap_area->modules[i].begin && address < heap_area->modules[i].end)
			return i + 1;
	return 0;
}

// The same file at the same place, before or after a library was unloaded, is the same.
static uint32_t add_module(struct heap_module *module) {
	uint32_t index = 0;
	if (!module->path[0] && readlink("/proc/self/exe", module->path, HEAP_PATH_SIZE - 1) < 0)
		module->path[0] = 0;
	while (index < heap_area->module_count &&
	       memcmp(&heap_area->modules[index], module, sizeof(*module)) != 0)
		index++;
	if (index == HEAP_MOST_MODULES)
		return 0;
	heap_area->modules[index] = *module;
	modules[index].generation = heap_generation;
	modules[index].known = true;
	if (index == heap_area->module_count)
		heap_area->module_count++;
	return index + 1;
}

uint32_t heap_module_of(uint64_t address, struct heap_module *module) {
	heap_lock(&lock);
	uint32_t id = known_module(address);
	if (id)
		*module = heap_area->modules[id - 1];
	heap_unlock(&lock);
	if (id)
		return id;
	// Not under our lock: the dynamic linker has one of its own.
	struct search search = {address, module, false};
	dl_iterate_phdr(look_at, &search);
	if (!search.found)
		return 0;
	heap_lock(&lock);
	id = known_module(address);
	if (!id)
		id = add_module(module);
	heap_unlock(&lock);
	return id;
}

// ---- frames, nodes, points ----

// The slot of what is equal to the pair, or an empty one.
static uint32_t *find_slot(struct index *index, uint64_t a, uint32_t b) {
	size_t slot = mix(a, b) & (index->capacity - 1);
	for (; index->slots[slot]; slot = (slot + 1) & (index->capacity - 1)) {
		uint32_t id = index->slots[slot] - 1;
		if (index == &frames ? heap_area->frames[id].address == a && heap_area->frames[id].module == b
				     : heap_area->nodes[id].parent == a && heap_area->nodes[id].frame == b)
			break;
	}
	return &index->slots[slot];
}

uint32_t heap_frame_of(uint64_t address, uint32_t module) {
	uint32_t id = 0;
	heap_lock(&lock);
	uint32_t *slot = make_room(&frames) ? find_slot(&frames, address, module) : NULL;
	if (slot && !*slot && heap_area->frame_count < HEAP_MOST_FRAMES) {
		heap_area->frames[heap_area->frame_count] = (struct heap_frame){.address = address,
										.module = module};
		*slot = ++heap_area->frame_count;
		frames.count++;
	}
	if (slot && *slot)
		id = *slot - 1;
	heap_unlock(&lock);
	return id;
}

uint32_t heap_node_of(uint32_t parent, uint32_t frame) {
	uint32_t id = parent; // without room a stack ends earlier
	heap_lock(&lock);
	uint32_t *slot = make_room(&nodes) ? find_slot(&nodes, parent, frame) : NULL;
	if (slot && !*slot && heap_area->node_count < HEAP_MOST_NODES) {
		heap_area->nodes[heap_area->node_count] = (struct heap_node){.parent = parent,
									     .frame = frame};
		*slot = ++heap_area->node_count;
		nodes.count++;
	}
	if (slot && *slot)
		id = *slot - 1;
	heap_unlock(&lock);
	return id;
}

uint32_t heap_point_of(uint32_t node) {
	uint32_t id = __atomic_load_n(&heap_area->nodes[node].point, __ATOMIC_ACQUIRE);
	if (id || !node)
		return id;
	heap_lock(&lock);
	id = heap_area->nodes[node].point;
	if (!id && heap_area->point_count < HEAP_MOST_POINTS) {
		id = heap_area->point_count;
		heap_area->points[id].node = node;
		heap_area->point_count = id + 1;
		__atomic_store_n(&heap_area->nodes[node].point, id, __ATOMIC_RELEASE);
	}
	heap_unlock(&lock);
	return id;
}

// ---- the beginning ----

// The area belongs to the first process that comes, and after an exec to it again, anew.
static bool claim(struct heap_area *area, int fd) {
	uint32_t self = (uint32_t)getpid(), nobody = 0;
	if (area->magic != HEAP_MAGIC || area->version != HEAP_VERSION)
		return false;
	if (area->owner == self) {
		// All but the first page, which says whose it is.
		size_t page = (size_t)sysconf(_SC_PAGESIZE);
		if (fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, (off_t)page,
			      (off_t)(sizeof(*area) - page)))
			return false;
		size_t head = offsetof(struct heap_area, begin_ticks);
		memset((char *)area + head, 0, page - head);
		return true;
	}
	return __atomic_compare_exchange_n(&area->owner, &nobody, self, false, __ATOMIC_SEQ_CST,
					   __ATOMIC_SEQ_CST);
}

static void begin(struct heap_area *area) {
	struct timespec now;
	clock_gettime(CLOCK_BOOTTIME, &now);
	area->begin_ticks = heap_ticks();
	area->begin_ns = (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
	area->node_count = area->point_count = 1;
}

bool heap_area_open(void) {
	const char *path = getenv(HEAP_VARIABLE);
	int fd = path ? open(path, O_RDWR | O_CLOEXEC) : -1;
	struct stat status;
	if (fd < 0)
		return false;
	struct heap_area *area = MAP_FAILED;
	if (fstat(fd, &status) == 0 && (size_t)status.st_size == sizeof(*area))
		area = mmap(NULL, sizeof(*area), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	bool ours = area != MAP_FAILED && claim(area, fd);
	close(fd);
	if (area != MAP_FAILED && !ours)
		munmap(area, sizeof(*area));
	if (!ours)
		return false;
	begin(area);
	// A child has counts of its own, and nobody who wants them.
	madvise(area, sizeof(*area), MADV_DONTFORK);
	heap_area = area;
	return true;
}
