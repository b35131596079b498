#include "heap/watch.h"

#include "base/shared_memory.h"
#include "heap/heap.h"

#include <string.h>
#include <sys/mman.h>

enum { COUNTERS = 2 };

static const char *const names[COUNTERS] = {"heap: live bytes", "heap: live blocks"};

struct watched {
	const struct heap_area *area; // NULL if not mapped yet
	uint64_t last[COUNTERS];
	bool reported;
};

struct heap_watch {
	int heap;
	const struct heap_head *head;
	uint64_t next; // when to look again
	struct watched processes[HEAP_MOST_PROCESSES];
};

struct heap_watch *heap_watch_new(int heap) {
	if (heap < 0)
		return NULL;
	const struct heap_head *head = mmap(NULL, HEAP_HEAD_SIZE, PROT_READ, MAP_SHARED, heap, 0);
	if (head == MAP_FAILED)
		return NULL;
	struct heap_watch *watch = memory_alloc(sizeof(*watch));
	watch->heap = heap;
	watch->head = head;
	watch->next = clock_boot_now() + HEAP_WATCH_MS * UINT64_C(1000000);
	return watch;
}

static void tell(struct spool *spool, uint64_t now, uint32_t pid, const char *name, uint64_t value) {
	struct {
		struct spool_reading reading;
		char name[32];
	} block = {.reading = {.time = now, .value = (double)value, .pid = pid}};
	strncpy(block.name, name, sizeof(block.name) - 1);
	spool_append(spool, SPOOL_READING, &block, sizeof(block.reading) + strlen(block.name) + 1);
}

// The test may have written anything: this only records a number.
static void look_at(struct heap_watch *watch, uint32_t index, uint64_t now, struct spool *spool) {
	struct watched *process = &watch->processes[index];
	struct heap_live live;
	if (!process->area && shared_items_there(watch->heap, heap_area_offset(index), 1, 1)) {
		process->area = mmap(NULL, sizeof(*process->area), PROT_READ, MAP_SHARED, watch->heap,
				     (off_t)heap_area_offset(index));
		if (process->area == MAP_FAILED)
			process->area = NULL;
	}
	if (!process->area || !heap_live_now(watch->heap, index, process->area, &live))
		return;
	const uint64_t values[COUNTERS] = {live.bytes, live.blocks};
	for (int i = 0; i < COUNTERS; i++) {
		if (!process->reported || process->last[i] != values[i])
			tell(spool, now, live.pid, names[i], values[i]);
		process->last[i] = values[i];
	}
	process->reported = true;
}

void heap_watch_turn(struct heap_watch *watch, struct spool *spool, bool last) {
	uint64_t now = clock_boot_now();
	if (!watch || (now < watch->next && !last))
		return;
	uint32_t most = SHARED_LOAD(watch->head->most), count = SHARED_LOAD(watch->head->count);
	count = MIN(count, MIN(most, (uint32_t)HEAP_MOST_PROCESSES));
	for (uint32_t i = 0; i < count; i++)
		look_at(watch, i, now, spool);
	watch->next = now + HEAP_WATCH_MS * UINT64_C(1000000);
}

void heap_watch_free(struct heap_watch *watch) {
	if (!watch)
		return;
	for (uint32_t i = 0; i < HEAP_MOST_PROCESSES; i++)
		if (watch->processes[i].area)
			munmap((void *)watch->processes[i].area, sizeof(struct heap_area));
	munmap((void *)watch->head, HEAP_HEAD_SIZE);
	free(watch);
}
