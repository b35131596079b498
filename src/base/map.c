#include "base/map.h"

#include <string.h>
#include <time.h>
#include <unistd.h>

static size_t slot_of(const struct map *map, uint64_t key) {
	return hash_u64(key) & (map->capacity - 1);
}

static struct map_slot *find(const struct map *map, uint64_t key) {
	size_t at = slot_of(map, key);
	while (map->slots[at].used && map->slots[at].key != key)
		at = (at + 1) & (map->capacity - 1);
	return &map->slots[at];
}

uint64_t *map_get(const struct map *map, uint64_t key) {
	if (!map->count)
		return NULL;
	struct map_slot *slot = find(map, key);
	return slot->used ? &slot->value : NULL;
}

static void grow(struct map *map) {
	struct map old = *map;
	size_t capacity = old.capacity ? old.capacity * 2 : 16;
	map->slots = memory_alloc(capacity * sizeof(*map->slots));
	map->capacity = capacity;
	for (size_t i = 0; i < old.capacity; i++)
		if (old.slots[i].used)
			*find(map, old.slots[i].key) = old.slots[i];
	free(old.slots);
}

uint64_t *map_put(struct map *map, uint64_t key) {
	if ((map->count + 1) * 4 > map->capacity * 3)
		grow(map);
	struct map_slot *slot = find(map, key);
	if (!slot->used) {
		*slot = (struct map_slot){.key = key, .used = true};
		map->count++;
	}
	return &slot->value;
}

bool map_delete(struct map *map, uint64_t key) {
	if (!map->capacity)
		return false;
	struct map_slot *slot = find(map, key);
	if (!slot->used)
		return false;
	size_t mask = map->capacity - 1;
	size_t hole = (size_t)(slot - map->slots);
	for (size_t at = (hole + 1) & mask; map->slots[at].used; at = (at + 1) & mask) {
		size_t home = slot_of(map, map->slots[at].key);
		// An entry may fill the hole if its home is not between the two.
		if (((at - home) & mask) >= ((at - hole) & mask)) {
			map->slots[hole] = map->slots[at];
			hole = at;
		}
	}
	map->slots[hole].used = false;
	map->count--;
	return true;
}

void map_free(struct map *map) {
	free(map->slots);
	*map = (struct map){0};
}

uint64_t hash_seed;

// Before main(), so that no thread sees it change.
__attribute__((constructor)) static void choose_seed(void) {
	hash_seed = hash_u64((uint64_t)(uintptr_t)&hash_seed ^ (uint64_t)time(NULL) << 32 ^
			     (uint64_t)getpid());
}

uint64_t hash_bytes(const void *bytes, size_t size) {
	const uint8_t *at = bytes;
	uint64_t hash = size * 0x9e3779b97f4a7c15u ^ hash_seed;
	for (; size >= 8; at += 8, size -= 8) {
		uint64_t word;
		memcpy(&word, at, 8);
		hash = hash_u64(hash ^ word);
	}
	uint64_t word = 0;
	if (size)
		memcpy(&word, at, size);
	return hash_u64(hash ^ word);
}
