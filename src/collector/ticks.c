#include "collector/ticks.h"
#include "base/array.h"

#include <bpf/libbpf.h>
#include <errno.h>
#include <linux/perf_event.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <unistd.h>

struct tick {
	struct bpf_link *link;
	int event; // closed with its link
};

struct ticks {
	struct bpf_program *program;
	ARRAY(struct tick) list;
	unsigned frequency; // now
};

struct ticks *ticks_new(struct bpf_program *program) {
	struct ticks *ticks = memory_alloc(sizeof(*ticks));
	ticks->program = program;
	return ticks;
}

void ticks_close(struct ticks *ticks) {
	for (size_t i = 0; ticks && i < ticks->list.count; i++)
		bpf_link__destroy(ticks->list.items[i].link);
	if (ticks)
		ticks->list.count = ticks->frequency = 0;
}

void ticks_free(struct ticks *ticks) {
	if (!ticks)
		return;
	ticks_close(ticks);
	array_free(&ticks->list);
	free(ticks);
}

// The CPU clock of one CPU: a timer that runs while the CPU does not idle.
static int open_tick(struct ticks *ticks, int cpu, uint64_t period) {
	struct perf_event_attr attribute = {.type = PERF_TYPE_SOFTWARE,
					    .config = PERF_COUNT_SW_CPU_CLOCK,
					    .size = sizeof(attribute),
					    .sample_period = period,
					    .disabled = 1};
	int fd = (int)syscall(SYS_perf_event_open, &attribute, -1, cpu, -1, PERF_FLAG_FD_CLOEXEC);
	if (fd < 0)
		return errno == ENODEV ? 0 : -errno; // an offline CPU
	struct bpf_link *link = bpf_program__attach_perf_event(ticks->program, fd);
	if (!link) {
		int error = -errno;
		close(fd);
		return error;
	}
	array_push(&ticks->list, (struct tick){.link = link, .event = fd});
	return 0;
}

static int open_all(struct ticks *ticks, uint64_t period) {
	int error = 0;
	for (int cpu = 0; !error && cpu < libbpf_num_possible_cpus(); cpu++)
		error = open_tick(ticks, cpu, period);
	if (error)
		ticks_close(ticks);
	return error;
}

// The events stay open when none is wanted: that is quicker for the next session.
int ticks_set(struct ticks *ticks, unsigned frequency) {
	if (!ticks)
		return frequency ? -EOPNOTSUPP : 0;
	uint64_t period = frequency ? 1000000000u / frequency : 0;
	int error = frequency && !ticks->list.count ? open_all(ticks, period) : 0;
	for (size_t i = 0; !error && i < ticks->list.count; i++) {
		int event = ticks->list.items[i].event;
		if (frequency && ioctl(event, PERF_EVENT_IOC_PERIOD, &period))
			error = -errno;
		ioctl(event, frequency ? PERF_EVENT_IOC_ENABLE : PERF_EVENT_IOC_DISABLE, 0);
	}
	ticks->frequency = error ? 0 : frequency;
	return error;
}
