// The tables in the memory shared with the tracer. New modules, frames and nodes are rare, because
// each thread remembers those it has seen: one lock is enough for all of them. A writer may be
// interrupted for good anywhere, so an entry is written before the count includes it.
#include "heap/preload/heap.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

// Finds ids by content: a table of ids, each + 1.
struct index {
	struct slots {
		size_t capacity;
		uint32_t ids[];
	} * slots; // replaced by one store
	size_t count;
};

struct heap_area *heap_area;
struct heap_wishes heap_wishes;
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

static size_t size_of_slots(size_t capacity) {
	return sizeof(struct slots) + capacity * sizeof(uint32_t);
}

static bool make_room(struct index *index) {
	struct slots *old = index->slots;
	if (old && index->count * 2 < old->capacity)
		return true;
	size_t capacity = old ? old->capacity * 2 : 1 << 12;
	struct slots *larger = heap_pages(size_of_slots(capacity));
	if (!larger)
		return false;
	larger->capacity = capacity;
	for (size_t i = 0; old && i < old->capacity; i++) {
		if (!old->ids[i])
			continue;
		size_t slot = hash_of(index, old->ids[i] - 1) & (capacity - 1);
		while (larger->ids[slot])
			slot = (slot + 1) & (capacity - 1);
		larger->ids[slot] = old->ids[i];
	}
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	index->slots = larger;
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	heap_pages_free(old, old ? size_of_slots(old->capacity) : 0);
	return true;
}

// ---- modules ----

struct search {
	uint64_t address;
	struct heap_module *module;
	bool found, is_program;
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
	search->is_program = (uint64_t)info->dlpi_phdr == getauxval(AT_PHDR);
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

// The same file at the same address is the same module, even if it was unloaded in between.
static uint32_t add_module(struct heap_module *module) {
	uint32_t index = 0;
	while (index < heap_area->module_count &&
	       memcmp(&heap_area->modules[index], module, sizeof(*module)) != 0)
		index++;
	if (index == HEAP_MOST_MODULES)
		return 0;
	if (index == heap_area->module_count) {
		heap_area->modules[index] = *module;
		__atomic_signal_fence(__ATOMIC_SEQ_CST);
		heap_area->module_count++;
	}
	modules[index].generation = heap_generation;
	modules[index].known = true;
	return index + 1;
}

// The reader may have another working directory. musl names the program as it was invoked; musl and
// glibc both keep a library's "./..." as it was given to dlopen().
static void make_absolute(char *path, bool is_program) {
	char folder[HEAP_PATH_SIZE];
	if (*path == '/' || (!is_program && !strchr(path, '/')))
		return;
	if (is_program) {
		memset(path, 0, HEAP_PATH_SIZE);
		if (readlink("/proc/thread-self/exe", path, HEAP_PATH_SIZE - 1) < 0)
			*path = 0;
	} else if (getcwd(folder, sizeof(folder)) && strlen(folder) + strlen(path) + 2 <= HEAP_PATH_SIZE) {
		memmove(path + strlen(folder) + 1, path, strlen(path));
		memcpy(path, folder, strlen(folder));
		path[strlen(folder)] = '/';
	}
}

// dl_iterate_phdr() takes the dynamic linker's lock. In a child it may be held forever, by a thread
// of the parent that loaded a library while another one forked. The function that exceptions use
// takes no lock; musl does not have it.
extern __typeof(_dl_find_object) _dl_find_object __attribute__((weak));

static void ask_without_lock(struct search *search) {
	struct dl_find_object object;
	if (!_dl_find_object) {
		dl_iterate_phdr(look_at, search);
		return;
	}
	if (_dl_find_object((void *)search->address, &object)) // NOLINT: an address
		return;
	const ElfW(Ehdr) *file = object.dlfo_map_start;
	if (memcmp(file->e_ident, ELFMAG, SELFMAG) != 0) {
		dl_iterate_phdr(look_at, search);
		return;
	}
	struct dl_phdr_info info = {
		.dlpi_addr = object.dlfo_link_map->l_addr,
		.dlpi_name = object.dlfo_link_map->l_name,
		.dlpi_phdr = (const ElfW(Phdr) *)((const char *)file + file->e_phoff),
		.dlpi_phnum = file->e_phnum,
	};
	look_at(&info, sizeof(info), search);
}

// Blocks signals, so that no handler can leave the dynamic linker's lock held.
HEAP_COLD static uint32_t ask_linker(uint64_t address, struct heap_module *module) {
	struct search search = {.address = address, .module = module};
	struct heap_quiet quiet;
	uint32_t id = 0;
	heap_quiet_begin(&quiet);
	ask_without_lock(&search);
	if (search.found)
		make_absolute(module->path, search.is_program);
	if (search.found && heap_lock(&lock)) {
		id = known_module(address);
		id = id ? id : add_module(module);
		heap_unlock(&lock);
	}
	heap_quiet_end(&quiet);
	return id;
}

uint32_t heap_module_of(uint64_t address, struct heap_module *module) {
	if (!heap_lock(&lock))
		return 0;
	uint32_t id = known_module(address);
	if (id)
		*module = heap_area->modules[id - 1];
	heap_unlock(&lock);
	return id ? id : ask_linker(address, module);
}

// ---- frames, nodes, points ----

// The slot of the entry that equals the pair, or an empty one; NULL if out of memory.
static uint32_t *find_slot(struct index *index, uint64_t a, uint32_t b) {
	if (!make_room(index))
		return NULL;
	struct slots *slots = index->slots;
	size_t slot = mix(a, b) & (slots->capacity - 1);
	for (; slots->ids[slot]; slot = (slot + 1) & (slots->capacity - 1)) {
		uint32_t id = slots->ids[slot] - 1;
		if (index == &frames ? heap_area->frames[id].address == a && heap_area->frames[id].module == b
				     : heap_area->nodes[id].parent == a && heap_area->nodes[id].frame == b)
			break;
	}
	return &slots->ids[slot];
}

// Adds the next entry to the index and to the count.
static void add_to(struct index *index, uint32_t *slot, uint32_t *count) {
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	uint32_t id = ++*(volatile uint32_t *)count;
	index->count++;
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	*slot = id;
}

uint32_t heap_frame_of(uint64_t address, uint32_t module) {
	uint32_t id = 0, *count = &heap_area->frame_count;
	if (!heap_lock(&lock))
		return id;
	uint32_t *slot = find_slot(&frames, address, module);
	if (slot && !*slot && *count < HEAP_MOST_FRAMES) {
		heap_area->frames[*count] = (struct heap_frame){.address = address, .module = module};
		add_to(&frames, slot, count);
	}
	if (slot && *slot)
		id = *slot - 1;
	heap_unlock(&lock);
	return id;
}

uint32_t heap_node_of(uint32_t parent, uint32_t frame) {
	uint32_t id = parent, *count = &heap_area->node_count; // if there is no room, the stack ends early
	if (!heap_lock(&lock))
		return id;
	uint32_t *slot = find_slot(&nodes, parent, frame);
	if (slot && !*slot && *count < HEAP_MOST_NODES) {
		heap_area->nodes[*count] = (struct heap_node){.parent = parent, .frame = frame};
		add_to(&nodes, slot, count);
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
	if (!heap_lock(&lock))
		return 0;
	id = heap_area->nodes[node].point;
	if (!id && heap_area->point_count < HEAP_MOST_POINTS) {
		id = heap_area->point_count;
		heap_area->points[id].node = node;
		__atomic_store_n(&heap_area->point_count, id + 1, __ATOMIC_RELEASE);
		__atomic_store_n(&heap_area->nodes[node].point, id, __ATOMIC_RELEASE);
	}
	heap_unlock(&lock);
	return id;
}

// ---- the beginning ----

// Reads a /proc file about this process; returns the size of the text.
static size_t text_of(const char *path, char *text, size_t size) {
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t got = fd < 0 ? 0 : read(fd, text, size - 1);
	if (fd >= 0)
		close(fd);
	text[got > 0 ? got : 0] = 0;
	return got > 0 ? (size_t)got : 0;
}

// Process ids are reused: the start time distinguishes processes. An exec changes neither.
static uint64_t start_of_self(void) {
	enum { FIELD = 22, AFTER_NAME = 2 };
	char text[1024];
	uint64_t start = 0;
	text_of("/proc/self/stat", text, sizeof(text));
	char *at = strrchr(text, ')'); // the name may contain anything
	for (int field = AFTER_NAME; at && field < FIELD; field++)
		at = strchr(at + 1, ' ');
	for (at = at ? at + 1 : NULL; at && *at >= '0' && *at <= '9'; at++)
		start = start * 10 + (uint64_t)(*at - '0');
	return start;
}

// The first area belongs to the first process that claims one, the others to its children if
// requested; after an exec a process gets its own area again, emptied. HEAP_MOST_PROCESSES if there
// is none for us.
static uint32_t claim(struct heap_head *head, bool *again) {
	struct heap_owner self = {.start = start_of_self(), .pid = (uint32_t)getpid()};
	uint32_t count = __atomic_load_n(&head->count, __ATOMIC_ACQUIRE);
	for (uint32_t i = 0; i < count && i < head->most; i++)
		if (__atomic_load_n(&head->owners[i].pid, __ATOMIC_ACQUIRE) == self.pid &&
		    head->owners[i].start == self.start) {
			*again = true;
			return i;
		}
	if (!head->children && head->first && head->first != self.pid)
		return HEAP_MOST_PROCESSES;
	do {
		if (count >= head->most) {
			__atomic_add_fetch(&head->refused, 1, __ATOMIC_RELAXED);
			return HEAP_MOST_PROCESSES;
		}
	} while (!__atomic_compare_exchange_n(&head->count, &count, count + 1, false, __ATOMIC_ACQ_REL,
					      __ATOMIC_ACQUIRE));
	head->owners[count].start = self.start;
	__atomic_store_n(&head->owners[count].pid, self.pid, __ATOMIC_RELEASE);
	return count;
}

static void begin(struct heap_area *area) {
	struct timespec now;
	clock_gettime(CLOCK_BOOTTIME, &now);
	area->begin_ticks = heap_ticks();
	area->begin_ns = (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
	area->node_count = area->point_count = 1;
	area->parent = (uint32_t)getppid();
	text_of("/proc/self/cmdline", area->command, sizeof(area->command));
	if (readlink("/proc/self/exe", area->program, sizeof(area->program) - 1) < 0)
		area->program[0] = 0;
	__atomic_store_n(&area->owner, (uint32_t)getpid(), __ATOMIC_RELEASE);
}

static struct heap_head *map_head(int fd) {
	struct stat status;
	if (fd < 0 || fstat(fd, &status) || (uint64_t)status.st_size < HEAP_HEAD_SIZE)
		return NULL;
	struct heap_head *head = mmap(NULL, HEAP_HEAD_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (head == MAP_FAILED)
		return NULL;
	if (head->magic == HEAP_MAGIC && head->version == HEAP_VERSION && head->most <= HEAP_MOST_PROCESSES &&
	    (uint64_t)status.st_size == heap_file_size(head->most))
		return head;
	munmap(head, HEAP_HEAD_SIZE);
	return NULL;
}

static struct heap_area *open_area(int fd) {
	struct heap_head *head = map_head(fd);
	struct heap_area *area = MAP_FAILED;
	bool again = false;
	uint32_t index = head ? claim(head, &again) : HEAP_MOST_PROCESSES;
	off_t at = (off_t)heap_area_offset(index);
	if (head && index < head->most &&
	    (!again ||
	     fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, at, (off_t)HEAP_AREA_SIZE) == 0))
		area = mmap(NULL, sizeof(*area), PROT_READ | PROT_WRITE, MAP_SHARED, fd, at);
	if (head) {
		heap_wishes = (struct heap_wishes){head->sample, head->children, head->usable, head->leaks};
		munmap(head, HEAP_HEAD_SIZE);
	}
	return area == MAP_FAILED ? NULL : area;
}

bool heap_area_open(void) {
	// A program with more privileges than its caller must not open a file that the caller
	// names.
	const char *path = getauxval(AT_SECURE) ? NULL : getenv(HEAP_VARIABLE);
	int fd = path ? open(path, O_RDWR | O_CLOEXEC) : -1;
	struct heap_area *area = open_area(fd);
	if (fd >= 0)
		close(fd);
	if (!area)
		return false;
	// Left over from the process that this one was forked from.
	struct index *indexes[] = {&frames, &nodes};
	for (size_t i = 0; i < sizeof(indexes) / sizeof(*indexes); i++) {
		struct slots *slots = indexes[i]->slots;
		*indexes[i] = (struct index){0};
		heap_pages_free(slots, slots ? size_of_slots(slots->capacity) : 0);
	}
	memset(modules, 0, sizeof(modules));
	lock = 0;
	begin(area);
	// A child keeps it, too: the handler that interrupted us may have forked, and returned in
	// both.
	heap_area = area;
	return true;
}
