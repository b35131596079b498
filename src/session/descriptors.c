#include "session/descriptors.h"
#include "base/memory.h"

#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <unistd.h>

void descriptors_fill_gaps(void) {
	int fd;
	while ((fd = open("/dev/null", O_RDWR | O_CLOEXEC)) >= 0 && fd <= STDERR_FILENO)
		;
	if (fd >= 0)
		close(fd);
}

static bool is_kept(int fd, const int *kept, size_t count) {
	for (size_t i = 0; i < count; i++)
		if (kept[i] == fd)
			return true;
	return false;
}

// The smallest kept descriptor from `least` on; INT_MAX: there is none.
static int next_kept(int least, const int *kept, size_t count) {
	int next = INT_MAX;
	for (size_t i = 0; i < count; i++)
		if (kept[i] >= least)
			next = MIN(next, kept[i]);
	return next;
}

void descriptors_give_up(const int *kept, size_t count) {
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);
	for (int fd = STDIN_FILENO; null >= 0 && fd <= STDOUT_FILENO; fd++)
		if (!is_kept(fd, kept, count))
			dup2(null, fd);
	for (int from = STDERR_FILENO + 1; from < INT_MAX;) {
		int next = next_kept(from, kept, count);
		if (next > from)
			close_range((unsigned)from, (unsigned)next - 1, 0);
		from = next < INT_MAX ? next + 1 : next;
	}
}
