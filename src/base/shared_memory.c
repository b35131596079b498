#include "base/shared_memory.h"
#include "base/memory.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

static int fill(int fd, uint64_t size, const void *head, size_t head_size) {
	if (ftruncate(fd, (off_t)size) || pwrite(fd, head, head_size, 0) != (ssize_t)head_size ||
	    fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL))
		return -errno;
	return 0;
}

int shared_memory_new(const char *name, uint64_t size, const void *head, size_t head_size) {
	struct rlimit before;
	if (getrlimit(RLIMIT_FSIZE, &before))
		return -errno;
	if (before.rlim_max != RLIM_INFINITY && before.rlim_max < size)
		return -EFBIG;
	int fd = memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (fd < 0)
		return -errno;
	setrlimit(RLIMIT_FSIZE, &(struct rlimit){before.rlim_max, before.rlim_max});
	int error = fill(fd, size, head, head_size);
	setrlimit(RLIMIT_FSIZE, &before);
	if (error)
		close(fd);
	return error ? error : fd;
}

void shared_copy(void *to, const void *from, size_t size) {
	typedef uint32_t __attribute__((may_alias)) word; // of any structure
	word *copy = to;
	const word *shared = from;
	for (size_t i = 0; i < size / sizeof(*copy); i++)
		copy[i] = SHARED_LOAD(shared[i]);
}

char *shared_text(const char *from, size_t size) {
	char *text = memory_alloc(size + 1);
	for (size_t i = 0; i < size && (text[i] = SHARED_LOAD(from[i])); i++)
		;
	return text;
}

uint32_t shared_items_there(int fd, uint64_t offset, size_t item_size, uint32_t most) {
	off_t hole = lseek(fd, (off_t)offset, SEEK_HOLE);
	if (hole <= (off_t)offset)
		return 0;
	uint64_t there = ((uint64_t)hole - offset + item_size - 1) / item_size;
	return there < most ? (uint32_t)there : most;
}
