// A hash table from 64-bit keys to 64-bit values: open addressing, linear
// probing, power-of-two size. Deleting shifts the run back, so there are no
// tombstones and lookups stay short. (GLib's table costs an allocation and a
// call through a pointer per entry; this one is on the path of every event.)
#pragma once

#include "base/memory.h"

struct map_slot {
	uint64_t key, value;
	bool used;
};

struct map {
	struct map_slot *slots;
	size_t count, capacity;
};

uint64_t *map_get(const struct map *map, uint64_t key); // the value in place, or NULL
uint64_t *map_put(struct map *map, uint64_t key);       // created with value 0 if new
bool map_delete(struct map *map, uint64_t key);
void map_free(struct map *map);

// A 64-bit mix in which every input bit reaches every output bit.
static inline uint64_t hash_u64(uint64_t key) {
	key ^= key >> 32;
	key *= 0xd6e8feb86659fd93u;
	key ^= key >> 32;
	key *= 0xd6e8feb86659fd93u;
	return key ^ key >> 32;
}

// Differs between processes, so that a file cannot be prepared with names that all have
// the same hash, which would make each lookup as long as the file.
uint64_t hash_bytes(const void *bytes, size_t size);
extern uint64_t hash_seed;
