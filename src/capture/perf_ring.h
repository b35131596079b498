// The ring of a perf event: opening, draining, closing.
#pragma once

#include "base/buffer.h"
#include "base/cursor.h"

#include <linux/perf_event.h>
#include <sys/types.h>

struct perf_ring {
	struct perf_event_mmap_page *page;
	size_t size; // of the data after the first page, a power of two
	uint32_t cpu;
	int fd;
	struct buffer wrapped; // a record that wraps around the ring's end
};

// Opens the event with a ring of this size. Returns 0 or -errno; -ENOBUFS if the ring is larger than allowed.
int perf_ring_open(struct perf_ring *ring, struct perf_event_attr attribute, pid_t pid, uint32_t cpu,
		   size_t size);
void perf_ring_close(struct perf_ring *ring);

// Takes all available records; `body` is what follows the header.
void perf_ring_drain(struct perf_ring *ring,
		     void (*take)(void *context, const struct perf_event_header *header, struct cursor body),
		     void *context);
