#include "capture/perf_ring.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

int perf_ring_open(struct perf_ring *ring, struct perf_event_attr attribute, pid_t pid, uint32_t cpu,
		   size_t size) {
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	*ring = (struct perf_ring){.cpu = cpu, .size = size};
	attribute.size = sizeof(attribute);
	ring->fd = (int)syscall(SYS_perf_event_open, &attribute, pid, (int)cpu, -1, PERF_FLAG_FD_CLOEXEC);
	if (ring->fd < 0)
		return -errno;
	void *memory = mmap(NULL, page + size, PROT_READ | PROT_WRITE, MAP_SHARED, ring->fd, 0);
	if (memory == MAP_FAILED) {
		close(ring->fd);
		ring->fd = -1;
		return -ENOBUFS;
	}
	ring->page = memory;
	return 0;
}

void perf_ring_close(struct perf_ring *ring) {
	munmap(ring->page, ring->size + (size_t)sysconf(_SC_PAGESIZE));
	close(ring->fd);
	buffer_free(&ring->wrapped);
}

void perf_ring_drain(struct perf_ring *ring,
		     void (*take)(void *context, const struct perf_event_header *header, struct cursor body),
		     void *context) {
	const uint8_t *data = (const uint8_t *)ring->page + sysconf(_SC_PAGESIZE);
	uint64_t head = __atomic_load_n(&ring->page->data_head, __ATOMIC_ACQUIRE);
	uint64_t tail = ring->page->data_tail;
	while (tail < head) {
		size_t at = tail & (ring->size - 1);
		struct perf_event_header header;
		memcpy(&header, data + at, sizeof(header)); // 8-aligned: never wraps
		const uint8_t *record = data + at;
		if (header.size < sizeof(header))
			break;
		if (at + header.size > ring->size) {
			ring->wrapped.size = 0;
			buffer_append(&ring->wrapped, record, ring->size - at);
			buffer_append(&ring->wrapped, data, header.size - (ring->size - at));
			record = ring->wrapped.data;
		}
		take(context, &header, cursor_of(record + sizeof(header), header.size - sizeof(header)));
		tail += header.size;
	}
	__atomic_store_n(&ring->page->data_tail, tail, __ATOMIC_RELEASE);
}
