#include "capture/bpf/constants.h"
#include "capture/spool.h"

#include <fcntl.h>
#include <link.h>
#include <unistd.h>

// Read between two readings of the other clock, which keeps the error below a microsecond.
uint64_t boot_offset_now(void) {
	uint64_t best = UINT64_MAX, offset = 0;
	for (int try = 0; try < 5; try++) {
		uint64_t before = clock_monotonic_now(), boot = clock_boot_now(),
			 after = clock_monotonic_now();
		if (after - before < best) {
			best = after - before;
			offset = boot - (before + best / 2);
		}
	}
	return offset;
}

// Index of an entry in the auxiliary vector: the same in our process as in any other.
uint32_t auxiliary_index(uint64_t key) {
	uint64_t entries[2 * 64] = {0};
	int fd = open("/proc/self/auxv", O_RDONLY | O_CLOEXEC);
	ssize_t size = fd < 0 ? 0 : read(fd, entries, sizeof(entries));
	if (fd >= 0)
		close(fd);
	for (uint32_t i = 0; size > 0 && i < (size_t)size / 16; i++)
		if (entries[2 * i] == key)
			return i;
	return 0;
}

// A static program has no such section, or one without an address.
extern ElfW(Dyn) _DYNAMIC[] __attribute__((weak));

uint64_t linker_debug_offset(void) {
	for (const ElfW(Dyn) *entry = _DYNAMIC; entry && entry->d_tag != DT_NULL; entry++) {
		const struct r_debug *debug = (const void *)entry->d_un.d_ptr;
		if (entry->d_tag == DT_DEBUG && debug && debug->r_ldbase)
			return (uint64_t)debug - debug->r_ldbase;
	}
	return 0;
}
