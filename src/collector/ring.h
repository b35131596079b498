// Reads a BPF ring in place. Unlike libbpf's reader it can look at what is there and take it later: data that
// a client has no room for yet stays in the ring.
#pragma once

#include "base/memory.h"
#include "format/record.h"

struct ring_view {
	int fd; // of the map
	uint32_t size;
	uint64_t *consumer; // the position up to which all has been taken
	const uint64_t *producer;
	const uint8_t *data; // twice, one after the other: a record that wraps around is in one piece
};

int ring_make(struct ring_view *ring, uint32_t size); // 0 or -errno
void ring_free(struct ring_view *ring);

// The batch at `*position`, which then is that of the next one; NULL if there is none, or if it is still
// being written. Begin with ring_position().
uint64_t ring_position(const struct ring_view *ring);
const struct batch *ring_next(const struct ring_view *ring, uint64_t *position);

bool ring_is_at_end(const struct ring_view *ring, uint64_t position); // nothing was reserved after it

void ring_take(struct ring_view *ring, uint64_t position); // everything before it
