// Which of the blocks that are left at the end can still be reached, as LeakSanitizer has it: a word
// anywhere in a root that points into a block reaches it, and a block that is reached is searched in
// turn. What is left over is a leak.
//
// Roots are all private memory that the program may write: data of modules, stacks, thread-local data and
// what it has mapped itself. Not the allocator's own memory, where freed blocks still hold pointers: that
// of glibc's main arena ([heap]) and of its other arenas, which begin at multiples of 64 MB. Not our
// tables either. Of the first thread's stack only the frames that are in use count.
//
// All of it is read by system calls that fail where memory is gone: other threads may still be running.
#include "heap/preload/heap.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <time.h>
#include <unistd.h>

enum {
	PAGE = 4096, // of /proc/self/pagemap on x86-64
	PIECE = 1 << 16,
	MOST_RANGES = 128,
	MOST_ARENAS = 256,
	LIMIT_SECONDS = 10,
};

#define MOST_BLOCKS ((size_t)1 << 25)
#define ARENA       (UINT64_C(64) << 20)

struct range {
	uint64_t begin, end;
};

struct left {
	uint64_t begin, end;
	uint32_t point;
	bool reached;
};

static struct search {
	struct left *blocks, *spare;
	size_t count, room;
	uint32_t *waiting; // blocks that are reached but not searched yet
	size_t waiting_count;
	uint8_t *piece; // copied memory
	struct range ours[MOST_RANGES];
	size_t ours_count;
	uint64_t arenas[MOST_ARENAS];
	size_t arena_count;
	int pages; // /proc/self/pagemap
	pid_t process;
	time_t end;
	bool failed;
} search;

// ---- the blocks ----

void heap_reach_exclude(const void *begin, size_t size) {
	if (search.ours_count < MOST_RANGES)
		search.ours[search.ours_count++] = (struct range){(uint64_t)begin, (uint64_t)begin + size};
	else
		search.failed = true;
}

static void *own_pages(size_t size) {
	void *pages = heap_pages(size);
	if (pages)
		heap_reach_exclude(pages, size);
	return pages;
}

void heap_reach_take(const struct heap_block *block) {
	if (search.count == search.room)
		search.failed = true; // other threads allocate faster than we copy
	else
		search.blocks[search.count++] = (struct left){
			block->address, block->address + (block->size ? block->size : 1), block->point,
			false};
}

// By address, eleven bits at a time: qsort() may allocate.
static void sort_blocks(void) {
	enum { BITS = 11, DIGITS = 1 << BITS, FIRST = 4, LAST = 48 };
	static uint32_t begins[DIGITS];
	for (unsigned shift = FIRST; shift < LAST; shift += BITS) {
		memset(begins, 0, sizeof(begins));
		for (size_t i = 0; i < search.count; i++)
			begins[search.blocks[i].begin >> shift & (DIGITS - 1)]++;
		uint32_t sum = 0;
		for (size_t i = 0; i < DIGITS; i++) {
			uint32_t count = begins[i];
			begins[i] = sum;
			sum += count;
		}
		for (size_t i = 0; i < search.count; i++)
			search.spare[begins[search.blocks[i].begin >> shift & (DIGITS - 1)]++] =
				search.blocks[i];
		struct left *sorted = search.spare;
		search.spare = search.blocks;
		search.blocks = sorted;
	}
}

// The block that this address is in, or NULL.
static struct left *block_at(uint64_t address) {
	size_t low = 0, high = search.count;
	while (low < high) {
		size_t middle = (low + high) / 2;
		if (search.blocks[middle].begin <= address)
			low = middle + 1;
		else
			high = middle;
	}
	return low && address < search.blocks[low - 1].end ? &search.blocks[low - 1] : NULL;
}

// ---- the search ----

static bool is_root(uint64_t address) {
	for (size_t i = 0; i < search.ours_count; i++)
		if (address >= search.ours[i].begin && address < search.ours[i].end)
			return false;
	for (size_t i = 0; i < search.arena_count; i++)
		if (address - search.arenas[i] < ARENA)
			return false;
	return !block_at(address);
}

static void search_words(uint64_t address, size_t size, bool roots) {
	uint64_t lowest = search.blocks[0].begin, highest = search.blocks[search.count - 1].end;
	for (size_t at = 0; at + 8 <= size; at += 8) {
		uint64_t word;
		memcpy(&word, search.piece + at, sizeof(word));
		if (word < lowest || word >= highest)
			continue;
		struct left *block = block_at(word);
		if (!block || block->reached || (roots && !is_root(address + at)))
			continue;
		block->reached = true;
		search.waiting[search.waiting_count++] = (uint32_t)(block - search.blocks);
	}
}

static void search_memory(uint64_t begin, uint64_t end, bool roots) {
	begin = (begin + 7) & ~UINT64_C(7);
	while (begin < end) {
		uint64_t size = end - begin < PIECE ? end - begin : PIECE;
		struct iovec to = {search.piece, size}, from = {(void *)begin, size}; // NOLINT: an address
		ssize_t got = syscall(SYS_process_vm_readv, search.process, &to, 1ul, &from, 1ul, 0ul);
		if (got > 0)
			search_words(begin, (size_t)got, roots);
		begin += size;
	}
}

static void search_reached(void) {
	while (search.waiting_count && !search.failed) {
		const struct left *block = &search.blocks[search.waiting[--search.waiting_count]];
		search_memory(block->begin, block->end, false);
	}
}

static bool is_late(void) {
	struct timespec now;
	clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
	return now.tv_sec > search.end;
}

// Only pages that have memory: a program may reserve far more than it uses.
static void search_pages(uint64_t begin, uint64_t end) {
	enum { ENTRIES = 256 };
	const uint64_t has_memory = UINT64_C(3) << 62; // present, or swapped out
	uint64_t entries[ENTRIES];
	for (uint64_t page = begin / PAGE; page * PAGE < end && !search.failed; page += ENTRIES) {
		ssize_t got = pread(search.pages, entries, sizeof(entries), (off_t)(page * 8));
		search.failed |= got <= 0 || is_late();
		for (uint64_t i = 0, first = 0; got > 0 && i <= (uint64_t)got / 8; i++) {
			bool ends = i == (uint64_t)got / 8 || (page + i) * PAGE >= end ||
				    !(entries[i] & has_memory);
			if (!ends)
				continue;
			uint64_t from = (page + first) * PAGE, to = (page + i) * PAGE;
			search_memory(from < begin ? begin : from, to < end ? to : end, true);
			search_reached();
			first = i + 1;
			if ((page + i) * PAGE >= end)
				break;
		}
	}
}

// ---- the maps ----

struct map {
	uint64_t begin, end;
	bool writable;
	char name[16]; // its beginning
};

static const char *take_number(const char *text, uint64_t *number) {
	*number = 0;
	for (; (*text >= '0' && *text <= '9') || (*text >= 'a' && *text <= 'f'); text++)
		*number = *number << 4 | (uint64_t)(*text <= '9' ? *text - '0' : *text - 'a' + 10);
	return text + (*text != 0);
}

// "55d0c0a00000-55d0c0a21000 rw-p 00000000 00:00 0    [heap]"
static void take_map(const char *line, struct map *map) {
	enum { FIELDS_BEFORE_NAME = 4 };
	memset(map, 0, sizeof(*map));
	line = take_number(line, &map->begin);
	line = take_number(line, &map->end);
	map->writable = strncmp(line, "rw", 2) == 0 && strlen(line) > 3 && line[3] == 'p';
	for (int i = 0; i < FIELDS_BEFORE_NAME && line; i++) {
		line = strchr(line, ' ');
		line = line ? line + 1 : NULL;
	}
	line = line ? line + strspn(line, " ") : "";
	for (size_t i = 0; i < sizeof(map->name) - 1 && line[i]; i++)
		map->name[i] = line[i];
}

// Calls `take` with each mapping, as they are now.
static bool each_map(void (*take)(const struct map *map, uint64_t stack), uint64_t stack) {
	char piece[2048], line[160];
	size_t length = 0;
	ssize_t got;
	int fd = open("/proc/self/maps", O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	while ((got = read(fd, piece, sizeof(piece))) > 0)
		for (ssize_t i = 0; i < got; i++) {
			struct map map;
			if (piece[i] != '\n') {
				if (length < sizeof(line) - 1)
					line[length++] = piece[i];
				continue;
			}
			line[length] = 0;
			length = 0;
			take_map(line, &map);
			take(&map, stack);
		}
	close(fd);
	return got == 0;
}

static void find_arena(const struct map *map, uint64_t stack) {
	size_t low = 0, high = search.count;
	if (!map->writable || map->name[0] || map->begin % ARENA)
		return;
	while (low < high) { // the first block from there
		size_t middle = (low + high) / 2;
		if (search.blocks[middle].begin < map->begin)
			low = middle + 1;
		else
			high = middle;
	}
	if (low < search.count && search.blocks[low].begin < map->end) {
		if (search.arena_count < MOST_ARENAS)
			search.arenas[search.arena_count++] = map->begin;
		else
			search.failed = true;
	}
}

static void search_map(const struct map *map, uint64_t stack) {
	uint64_t begin = map->begin;
	if (!map->writable || strcmp(map->name, "[heap]") == 0)
		return;
	if (strcmp(map->name, "[stack]") == 0 && stack > begin && stack < map->end)
		begin = stack;
	search_pages(begin, map->end);
}

// ---- the whole ----

// A program with a system call filter may be killed for what we do here.
static bool is_confined(void) {
	return prctl(PR_GET_SECCOMP, 0, 0, 0, 0) != 0;
}

static bool prepare(size_t blocks) {
	struct timespec now;
	search.room = blocks + blocks / 8 + 1024;
	if (search.room > MOST_BLOCKS)
		return false;
	search.blocks = own_pages(search.room * sizeof(*search.blocks));
	search.spare = own_pages(search.room * sizeof(*search.spare));
	search.waiting = own_pages(search.room * sizeof(*search.waiting));
	search.piece = own_pages(PIECE);
	search.process = getpid();
	clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
	search.end = now.tv_sec + LIMIT_SECONDS;
	search.pages = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
	return search.blocks && search.spare && search.waiting && search.piece && search.pages >= 0;
}

static void report(void) {
	for (size_t i = 0; i < search.count; i++) {
		const struct left *block = &search.blocks[i];
		struct heap_reached *reached = &heap_area->reached[block->point % HEAP_MOST_POINTS];
		if (!block->reached)
			continue;
		reached->bytes += block->end - block->begin;
		reached->blocks++;
	}
	__atomic_store_n(&heap_area->is_searched, 1, __ATOMIC_RELEASE);
}

void heap_reach(uint64_t stack) {
	int error = errno;
	if (is_confined())
		return;
	heap_self.aligned = NULL;
	heap_self.pending = 0;
	if (prepare(heap_blocks_count())) {
		heap_blocks_each();
		sort_blocks();
		bool whole = !search.count || (each_map(find_arena, 0) && each_map(search_map, stack));
		if (whole && !search.failed)
			report();
	}
	if (search.pages > 0)
		close(search.pages);
	errno = error; // our pages go with the process
}
