// The live blocks, by address, in tables that grow: many, so that threads seldom meet.
#include "preload/heap.h"

#include <sched.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { SHARD_BITS = 6, SHARDS = 1 << SHARD_BITS, FIRST_CAPACITY = 128 };

struct shard {
	uint32_t lock;
	size_t count, capacity;
	struct heap_block *slots;
} __attribute__((aligned(64)));

static struct shard shards[SHARDS];

void heap_lock_slowly(uint32_t *lock) {
	enum { SPINS = 100, YIELDS = 1000 };
	for (unsigned turn = 0;; turn++) {
		if (!__atomic_load_n(lock, __ATOMIC_RELAXED) &&
		    !__atomic_exchange_n(lock, 1, __ATOMIC_ACQUIRE))
			return;
		if (turn < SPINS)
			__atomic_signal_fence(__ATOMIC_SEQ_CST);
		else if (turn < YIELDS)
			sched_yield();
		else // a holder of lower priority must get to run
			syscall(SYS_nanosleep, &(struct timespec){.tv_nsec = 50000}, NULL);
	}
}

void *heap_pages(size_t size) {
	void *pages = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
			   -1, 0);
	return pages == MAP_FAILED ? NULL : pages;
}

void heap_pages_free(void *pages, size_t size) {
	if (pages)
		munmap(pages, size);
}

// Blocks are 16 bytes apart at least; the upper bits choose the shard.
static inline uint64_t hash(uint64_t address) {
	return (address >> 4) * UINT64_C(0x9e3779b97f4a7c15);
}

static inline struct shard *shard_of(uint64_t hashed) {
	return &shards[hashed >> (64 - SHARD_BITS)];
}

static inline size_t slot_of(const struct shard *shard, uint64_t hashed) {
	return (size_t)(hashed >> 20) & (shard->capacity - 1);
}

static bool grow(struct shard *shard) {
	struct shard larger = {.capacity = shard->capacity ? shard->capacity * 2 : FIRST_CAPACITY};
	larger.slots = heap_pages(larger.capacity * sizeof(*larger.slots));
	if (!larger.slots)
		return false;
	for (size_t i = 0; i < shard->capacity; i++) {
		if (!shard->slots[i].address)
			continue;
		size_t slot = slot_of(&larger, hash(shard->slots[i].address));
		while (larger.slots[slot].address)
			slot = (slot + 1) & (larger.capacity - 1);
		larger.slots[slot] = shard->slots[i];
	}
	heap_pages_free(shard->slots, shard->capacity * sizeof(*shard->slots));
	shard->slots = larger.slots;
	shard->capacity = larger.capacity;
	return true;
}

bool heap_block_put(const struct heap_block *block, struct heap_block *before) {
	uint64_t hashed = hash(block->address);
	struct shard *shard = shard_of(hashed);
	before->address = 0;
	heap_lock(&shard->lock);
	bool room = shard->count * 4 < shard->capacity * 3 || grow(shard);
	if (room) {
		size_t slot = slot_of(shard, hashed);
		while (shard->slots[slot].address && shard->slots[slot].address != block->address)
			slot = (slot + 1) & (shard->capacity - 1);
		if (shard->slots[slot].address)
			*before = shard->slots[slot];
		else
			shard->count++;
		shard->slots[slot] = *block;
	}
	heap_unlock(&shard->lock);
	return room;
}

// Closes the gap: what comes behind it moves up, if it may.
static void delete_slot(struct shard *shard, size_t gap) {
	size_t mask = shard->capacity - 1;
	for (size_t at = (gap + 1) & mask; shard->slots[at].address; at = (at + 1) & mask) {
		size_t home = slot_of(shard, hash(shard->slots[at].address));
		if (((at - home) & mask) >= ((at - gap) & mask)) {
			shard->slots[gap] = shard->slots[at];
			gap = at;
		}
	}
	shard->slots[gap].address = 0;
	shard->count--;
}

bool heap_block_take(uint64_t address, struct heap_block *block) {
	uint64_t hashed = hash(address);
	struct shard *shard = shard_of(hashed);
	bool found = false;
	heap_lock(&shard->lock);
	if (shard->count) {
		size_t slot = slot_of(shard, hashed);
		while (shard->slots[slot].address && shard->slots[slot].address != address)
			slot = (slot + 1) & (shard->capacity - 1);
		found = shard->slots[slot].address;
		if (found) {
			*block = shard->slots[slot];
			delete_slot(shard, slot);
		}
	}
	heap_unlock(&shard->lock);
	return found;
}
