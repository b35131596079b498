// The ring of a perf event: opening, draining, closing.
#pragma once

#include "base/buffer.h"
#include "base/cursor.h"

#include <linux/perf_event.h>
#include <sys/types.h>

struct perf_ring {
	struct perf_event_mmap_page *page;
	size_t size; // of the data behind the page, a power of two
	uint32_t cpu;
	int fd;
	struct buffer wrapped; // a record that goes over the ring's end
};

// Opens the event with a ring of this size. 0 or -errno; -ENOBUFS: the ring is larger than is allowed.
int perf_ring_open(struct perf_ring *ring, struct perf_event_attr attribute, pid_t pid, uint32_t cpu,
		   size_t size);
void perf_ring_close(struct perf_ring *ring);

// Takes all records that are there; `body` is what follows the header.
void perf_ring_drain(struct perf_ring *ring,
		     void (*take)(void *context, const struct perf_event_header *header, struct cursor body),
		     void *context);
