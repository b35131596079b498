// The live blocks, by address, in tables that grow: many tables, so that threads seldom compete. A
// thread that changes a table may be interrupted for good at any instruction. So a table is
// replaced by one store, a block exists once its address is stored, and a table that was left in
// the middle of a change is rebuilt.
#include "heap/preload/heap.h"

#include <sys/mman.h>

enum { SHARD_BITS = 6, SHARDS = 1 << SHARD_BITS, FIRST_BITS = 7, SAMPLE_SHARD_BITS = 2 };

struct shard {
	uint32_t lock;
	size_t count;
	uintptr_t table; // address of the slots, page-aligned; the lower bits hold the logarithm of their
			 // number
} __attribute__((aligned(64)));

enum { TABLE_BITS = 0xfff };

struct table {
	struct heap_block *slots;
	size_t capacity;
};

static struct shard shards[SHARDS];

void *heap_pages(size_t size) {
	void *pages = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
			   -1, 0);
	return pages == MAP_FAILED ? NULL : pages;
}

void heap_pages_free(void *pages, size_t size) {
	if (pages)
		munmap(pages, size);
}

// Blocks are at least 16 bytes apart; the upper bits select the shard. With samples threads hardly
// ever compete, and each additional table costs time to create.
static inline uint64_t hash(uint64_t address) {
	return (address >> 4) * UINT64_C(0x9e3779b97f4a7c15);
}

static inline struct shard *shard_of(uint64_t hashed) {
	return &shards[hashed >> (64 - (heap_wishes.sample ? SAMPLE_SHARD_BITS : SHARD_BITS))];
}

static inline struct table table_of(const struct shard *shard) {
	if (!shard->table)
		return (struct table){0};
	return (struct table){(struct heap_block *)(shard->table & ~(uintptr_t)TABLE_BITS), // NOLINT
			      (size_t)1 << (shard->table & TABLE_BITS)};
}

// Where the block is, or would be. A table is never full, except perhaps in the middle of a
// change by another thread, so the search has an end.
static inline struct heap_block *find_slot(const struct table *table, uint64_t address) {
	size_t slot = (size_t)(hash(address) >> 20);
	for (size_t turn = 0; turn < table->capacity; turn++, slot++) {
		struct heap_block *at = &table->slots[slot & (table->capacity - 1)];
		if (!at->address || at->address == address)
			return at;
	}
	return NULL;
}

static inline void fill_slot(struct heap_block *slot, const struct heap_block *block) {
	slot->size = block->size;
	slot->birth = block->birth;
	slot->point = block->point;
	slot->weight = block->weight;
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	slot->address = block->address;
}

// Replaces the table with a copy of 1 << bits slots. The caller keeps the old one.
static bool replace(struct shard *shard, unsigned bits) {
	struct table old = table_of(shard), fresh = {.capacity = (size_t)1 << bits};
	size_t count = 0;
	fresh.slots = heap_pages(fresh.capacity * sizeof(*fresh.slots));
	if (!fresh.slots)
		return false;
	for (size_t i = 0; i < old.capacity; i++) {
		struct heap_block *slot = old.slots[i].address ? find_slot(&fresh, old.slots[i].address)
							       : NULL;
		if (slot && !slot->address) {
			*slot = old.slots[i];
			count++;
		}
	}
	shard->count = count;
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	shard->table = (uintptr_t)fresh.slots | bits;
	return true;
}

static bool grow(struct shard *shard) {
	struct table old = table_of(shard);
	if (!replace(shard, shard->table ? (unsigned)(shard->table & TABLE_BITS) + 1 : FIRST_BITS))
		return false;
	__atomic_signal_fence(__ATOMIC_SEQ_CST);
	heap_pages_free(old.slots, old.capacity * sizeof(*old.slots));
	return true;
}

static inline bool has_room(const struct shard *shard) {
	return shard->count * 4 < table_of(shard).capacity * 3;
}

bool heap_block_put(const struct heap_block *block, struct heap_block *before) {
	struct shard *shard = shard_of(hash(block->address));
	before->address = 0;
	if (!heap_lock(&shard->lock))
		return false;
	bool room = has_room(shard) || grow(shard);
	struct table table = table_of(shard);
	struct heap_block *slot = room ? find_slot(&table, block->address) : NULL;
	if (slot && slot->address)
		*before = *slot;
	else
		shard->count++;
	if (slot)
		fill_slot(slot, block);
	heap_unlock(&shard->lock);
	return slot;
}

// Closes the gap: entries after it move up where possible.
static void delete_slot(const struct table *table, size_t gap) {
	size_t mask = table->capacity - 1;
	for (size_t at = (gap + 1) & mask; table->slots[at].address; at = (at + 1) & mask) {
		size_t home = (size_t)(hash(table->slots[at].address) >> 20) & mask;
		if (((at - home) & mask) >= ((at - gap) & mask)) {
			table->slots[gap] = table->slots[at];
			gap = at;
		}
	}
	table->slots[gap].address = 0;
}

bool heap_block_take(uint64_t address, struct heap_block *block) {
	struct shard *shard = shard_of(hash(address));
	if (!heap_lock(&shard->lock))
		return false;
	struct table table = table_of(shard);
	struct heap_block *slot = shard->count ? find_slot(&table, address) : NULL;
	bool found = slot && slot->address;
	if (found) {
		*block = *slot;
		shard->count--;
		delete_slot(&table, (size_t)(slot - table.slots));
	}
	heap_unlock(&shard->lock);
	return found;
}

// The old table is not freed: if we were wrong, and its holder does return, it continues with that
// one.
void heap_blocks_repair(const uint32_t *lock) {
	if ((uintptr_t)lock < (uintptr_t)shards || (uintptr_t)lock >= (uintptr_t)(shards + SHARDS))
		return;
	struct shard *shard = &shards[((uintptr_t)lock - (uintptr_t)shards) / sizeof(*shards)];
	if (shard->table && !replace(shard, (unsigned)(shard->table & TABLE_BITS)))
		shard->table = 0;
}

void heap_blocks_forget(void) {
	for (size_t i = 0; i < SHARDS; i++) {
		struct table table = table_of(&shards[i]);
		heap_pages_free(table.slots, table.capacity * sizeof(*table.slots));
		shards[i] = (struct shard){0};
	}
}

size_t heap_blocks_count(void) {
	size_t count = 0;
	for (size_t i = 0; i < SHARDS; i++)
		count += __atomic_load_n(&shards[i].count, __ATOMIC_RELAXED);
	return count;
}

void heap_blocks_each(void) {
	for (size_t i = 0; i < SHARDS; i++) {
		if (!heap_lock(&shards[i].lock))
			continue;
		struct table table = table_of(&shards[i]);
		if (table.slots)
			heap_reach_exclude(table.slots, table.capacity * sizeof(*table.slots));
		for (size_t k = 0; k < table.capacity; k++)
			if (table.slots[k].address)
				heap_reach_take(&table.slots[k]);
		heap_unlock(&shards[i].lock);
	}
}
