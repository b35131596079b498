#include "collector/ring.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <sys/mman.h>
#include <unistd.h>

static void *map_pages(int fd, size_t size, int access, size_t from) {
	void *pages = mmap(NULL, size, access, MAP_SHARED, fd, (off_t)from);
	return pages == MAP_FAILED ? NULL : pages;
}

int ring_make(struct ring_view *ring, uint32_t size) {
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	*ring = (struct ring_view){.size = size};
	ring->fd = bpf_map_create(BPF_MAP_TYPE_RINGBUF, "tracelet_ring", 0, 0, size, NULL);
	if (ring->fd < 0)
		return -errno;
	ring->consumer = map_pages(ring->fd, page, PROT_READ | PROT_WRITE, 0);
	const uint8_t *rest = map_pages(ring->fd, page + 2 * (size_t)size, PROT_READ, page);
	ring->producer = (const uint64_t *)rest;
	ring->data = rest ? rest + page : NULL;
	int error = ring->consumer && rest ? 0 : -errno;
	if (error)
		ring_free(ring);
	return error;
}

void ring_free(struct ring_view *ring) {
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	if (ring->consumer)
		munmap(ring->consumer, page);
	if (ring->producer)
		munmap((void *)(uintptr_t)ring->producer, page + 2 * (size_t)ring->size);
	if (ring->fd >= 0)
		close(ring->fd);
	*ring = (struct ring_view){.fd = -1};
}

uint64_t ring_position(const struct ring_view *ring) {
	return __atomic_load_n(ring->consumer, __ATOMIC_RELAXED);
}

const struct batch *ring_next(const struct ring_view *ring, uint64_t *position) {
	while (*position < __atomic_load_n(ring->producer, __ATOMIC_ACQUIRE)) {
		const uint8_t *at = ring->data + (*position & (ring->size - 1));
		uint32_t length = __atomic_load_n((const uint32_t *)(const void *)at, __ATOMIC_ACQUIRE);
		if (length & BPF_RINGBUF_BUSY_BIT)
			return NULL;
		uint32_t size = length & ~BPF_RINGBUF_DISCARD_BIT;
		*position += (BPF_RINGBUF_HDR_SZ + (uint64_t)size + 7) & ~7ull;
		const struct batch *batch = (const void *)(at + BPF_RINGBUF_HDR_SZ);
		if (!(length & BPF_RINGBUF_DISCARD_BIT) && size >= sizeof(*batch) &&
		    batch->size <= size - sizeof(*batch))
			return batch;
	}
	return NULL;
}

bool ring_is_at_end(const struct ring_view *ring, uint64_t position) {
	return position >= __atomic_load_n(ring->producer, __ATOMIC_ACQUIRE);
}

void ring_take(struct ring_view *ring, uint64_t position) {
	__atomic_store_n(ring->consumer, position, __ATOMIC_RELEASE);
}
