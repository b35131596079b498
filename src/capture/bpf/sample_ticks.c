#include "capture/bpf/sample_ticks.h"

#include "capture/bpf/sample_event.h"
#include "tracelet.skel.h"

#include <bpf/libbpf.h>
#include <errno.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

static int open_attribute(int cpu, struct perf_event_attr *attribute) {
	int fd = (int)syscall(SYS_perf_event_open, attribute, -1, cpu, -1, PERF_FLAG_FD_CLOEXEC);
	return fd < 0 ? -errno : fd;
}

// Opens a disabled event on a CPU; returns -errno on failure.
static int open_event(int cpu, bool cycles, unsigned frequency) {
	struct perf_event_attr attribute = {
		.type = cycles ? PERF_TYPE_HARDWARE : PERF_TYPE_SOFTWARE,
		.config = cycles ? PERF_COUNT_HW_CPU_CYCLES : PERF_COUNT_SW_CPU_CLOCK,
		.size = sizeof(attribute),
		.sample_freq = frequency,
		.freq = 1,
		.disabled = 1,
	};
	return open_attribute(cpu, &attribute);
}

static int open_overflow(int cpu, const struct sample_event *event) {
	struct perf_event_attr attribute;
	return sample_event_on(event, cpu, &attribute) ? open_attribute(cpu, &attribute) : -ENODEV;
}

bool sample_ticks_have_cycles(void) {
	bool found = false;
	for (int cpu = 0; cpu < libbpf_num_possible_cpus(); cpu++) {
		int fd = open_event(cpu, true, 1);
		if (fd == -ENODEV) // an offline CPU
			continue;
		if (fd < 0)
			return false;
		close(fd);
		found = true;
	}
	return found;
}

// This ring reports only throttling: on_sample() suppresses the samples themselves. Mapped
// read-only, so the kernel keeps overwriting, and its head shows how much there was.
static void watch_overflows(struct sample_ticks *ticks, int fd) {
	void *ring = mmap(NULL, 2 * (size_t)sysconf(_SC_PAGESIZE), PROT_READ, MAP_SHARED, fd, 0);
	array_push(&ticks->overflows,
		   ((struct overflows){.fd = fd, .ring = ring == MAP_FAILED ? NULL : ring}));
}

// Compares the count with what arrived. Impossible for a frequency, as its periods vary.
static void end_overflows(struct sample_ticks *ticks, const struct tracelet *programs) {
	enum { THROTTLE_SIZE = 32 }; // the same for UNTHROTTLE
	struct sample_delivery *delivery = &ticks->delivery;
	for (size_t i = 0; i < ticks->overflows.count; i++) {
		struct overflows *overflows = &ticks->overflows.items[i];
		uint64_t value = 0;
		ioctl(overflows->fd, PERF_EVENT_IOC_DISABLE, 0);
		if (ticks->period && read(overflows->fd, &value, sizeof(value)) == sizeof(value))
			delivery->expected += value / ticks->period;
		if (overflows->ring) {
			uint64_t head = __atomic_load_n(&overflows->ring->data_head, __ATOMIC_ACQUIRE);
			delivery->throttled += (head / THROTTLE_SIZE + 1) / 2;
			munmap(overflows->ring, 2 * (size_t)sysconf(_SC_PAGESIZE));
		}
	}
	if (ticks->overflows.count)
		delivery->delivered = __atomic_load_n(&programs->bss->samples_delivered, __ATOMIC_RELAXED);
	ticks->overflows.count = 0;
}

int sample_ticks_begin(struct sample_ticks *ticks, const struct tracelet *programs,
		       const struct sampling_options *options) {
	if (options->event && !options->event->frequency)
		ticks->period = options->event->rate;
	for (int cpu = 0; cpu < libbpf_num_possible_cpus(); cpu++) {
		int fd = options->event ? open_overflow(cpu, options->event)
					: open_event(cpu, options->cycles, options->frequency);
		if (fd == -ENODEV)
			continue;
		if (fd < 0)
			return fd;
		struct bpf_link *link = bpf_program__attach_perf_event(programs->progs.on_sample, fd);
		if (!link) {
			int error = -errno;
			close(fd);
			return error;
		}
		array_push(&ticks->links, link); // closes the event, too
		if (options->event)
			watch_overflows(ticks, fd);
	}
	return 0;
}

void sample_ticks_end(struct sample_ticks *ticks, const struct tracelet *programs) {
	end_overflows(ticks, programs);
	for (size_t i = 0; i < ticks->links.count; i++)
		bpf_link__destroy(ticks->links.items[i]);
	array_free(&ticks->links);
	array_free(&ticks->overflows);
}
