// A tracer has its own session and therefore its own scheduler group (autogroup): next to a test that keeps
// all CPUs busy it gets the share of one group, its converter may use that up, and the rings overflow. The
// lowest real-time priority comes before all ordinary groups; the work is short (copying a ring into a
// file), and the kernel leaves others 5 % in any case.
#include "process/urgent.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <string.h>
#include <unistd.h>

// If real time is not allowed, raising the group's weight may be.
static bool raise_group(void) {
	static const char nice[] = "-10";
	int fd = open("/proc/self/autogroup", O_WRONLY | O_CLOEXEC);
	bool raised = fd >= 0 && write(fd, nice, strlen(nice)) > 0;
	if (fd >= 0)
		close(fd);
	return raised;
}

bool urgent_begin(void) {
	struct sched_param lowest = {.sched_priority = sched_get_priority_min(SCHED_RR)};
	return sched_setscheduler(0, SCHED_RR | SCHED_RESET_ON_FORK, &lowest) == 0 || raise_group();
}

void urgent_end(void) {
	if (sched_getscheduler(0) & SCHED_RR)
		sched_setscheduler(0, SCHED_OTHER, &(struct sched_param){0});
}

void urgent_offer_memory(void) {
	static const char first[] = "1000";
	int fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
	if (fd < 0)
		return;
	while (write(fd, first, strlen(first)) < 0 && errno == EINTR)
		;
	close(fd);
}
