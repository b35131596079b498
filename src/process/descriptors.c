#include "process/descriptors.h"
#include "base/log.h"

#include <fcntl.h>
#include <limits.h>
#include <sys/resource.h>
#include <unistd.h>

void descriptors_fill_gaps(void) {
	int fd;
	while ((fd = open("/dev/null", O_RDWR | O_CLOEXEC)) >= 0 && fd <= STDERR_FILENO)
		;
	if (fd >= 0)
		close(fd);
}

bool descriptors_can_open(unsigned count) {
	enum { PLENTY = 256 };
	struct rlimit limit;
	if (getrlimit(RLIMIT_NOFILE, &limit) || limit.rlim_cur >= PLENTY)
		return true;
	int opened[PLENTY];
	unsigned found = 0;
	while (found < MIN(count, PLENTY) && (opened[found] = open("/dev/null", O_RDWR | O_CLOEXEC)) >= 0)
		found++;
	for (unsigned i = 0; i < found; i++)
		close(opened[i]);
	return found == count;
}

static bool is_kept(int fd, const int *kept, size_t count) {
	for (size_t i = 0; i < count; i++)
		if (kept[i] == fd)
			return true;
	return false;
}

// The smallest kept descriptor from `least` on, including the one for our messages; INT_MAX if
// none.
static int next_kept(int least, const int *kept, size_t count) {
	int next = log_descriptor() >= least ? log_descriptor() : INT_MAX;
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
