// The kernel's run-time statistics cost some 65 ns a run, as much as the rest of a
// program. So they are on for a first moment, and from then on for a short while
// now and then; what they say of that time is scaled up to all of it. They may be
// on for somebody else too: what they say of the time between does not count.
#include "capture/bpf/statistics.h"
#include "base/log.h"
#include "capture/spool.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <unistd.h>

enum { FIRST_TURN_NS = 20000000, ON_TURN_NS = 10000000, OFF_TURN_NS = 240000000 };

void statistics_open(struct statistics *statistics) {
	statistics->fd = bpf_enable_stats(BPF_STATS_RUN_TIME);
	statistics->available = statistics->fd >= 0;
}

void statistics_close(struct statistics *statistics) {
	if (statistics->fd >= 0)
		close(statistics->fd);
	if (statistics->timer >= 0)
		close(statistics->timer);
	statistics->fd = statistics->timer = -1;
}

static void wait_for_turn(struct statistics *statistics, uint64_t time) {
	statistics->due = statistics->since + time;
	struct itimerspec when = {.it_value = {.tv_sec = (time_t)(statistics->due / 1000000000),
					       .tv_nsec = (long)(statistics->due % 1000000000)}};
	if (statistics->timer >= 0)
		timerfd_settime(statistics->timer, TFD_TIMER_ABSTIME, &when, NULL);
}

// Without the timer they are looked at whenever there is something else to do.
void statistics_start(struct statistics *statistics, int epoll) {
	statistics->since = clock_boot_now();
	if (!statistics->available)
		return;
	statistics->timer = timerfd_create(CLOCK_BOOTTIME, TFD_CLOEXEC | TFD_NONBLOCK);
	if (statistics->timer >= 0)
		epoll_ctl(epoll, EPOLL_CTL_ADD, statistics->timer, &(struct epoll_event){.events = EPOLLIN});
	wait_for_turn(statistics, FIRST_TURN_NS);
}

static bool program_info(const struct bpf_program *program, struct bpf_prog_info *info) {
	uint32_t size = sizeof(*info);
	int fd = bpf_program__fd(program);
	return fd >= 0 && !bpf_obj_get_info_by_fd(fd, info, &size);
}

static uint64_t program_time(struct bpf_object *programs, uint64_t *runs) {
	struct bpf_program *program;
	uint64_t time = 0;
	bpf_object__for_each_program(program, programs) {
		struct bpf_prog_info info = {0};
		if (!program_info(program, &info))
			continue;
		time += info.run_time_ns;
		*runs += info.run_cnt;
	}
	return time;
}

// The end of a turn, in which they were on or off.
static void count(struct statistics *statistics, uint64_t passed, uint64_t told) {
	if (statistics->turns == 0) {
		statistics->first_ns = told;
		statistics->first_time = passed;
	} else if (statistics->fd >= 0) {
		statistics->on_time += passed;
		statistics->on_ns += told - statistics->on_begin;
	} else {
		statistics->off_time += passed;
	}
	statistics->turns++;
	statistics->on_begin = told;
}

void statistics_turn(struct statistics *statistics, struct bpf_object *programs) {
	uint64_t now = clock_boot_now(), runs = 0;
	if (!statistics->available || now < statistics->due)
		return;
	count(statistics, now - statistics->since, program_time(programs, &runs));
	statistics->since = now;
	if (statistics->fd >= 0) {
		close(statistics->fd);
		statistics->fd = -1;
		wait_for_turn(statistics, OFF_TURN_NS);
	} else {
		statistics->fd = bpf_enable_stats(BPF_STATS_RUN_TIME);
		wait_for_turn(statistics, ON_TURN_NS);
	}
}

void statistics_total(struct statistics *statistics, struct bpf_object *programs,
		      struct capture_totals *totals) {
	uint64_t told = program_time(programs, &totals->program_runs);
	totals->program_stats = statistics->available;
	totals->program_ns = told;
	if (!statistics->turns)
		return;
	uint64_t now = clock_boot_now();
	count(statistics, now - statistics->since, told);
	statistics->since = now;
	// Too short for a good second look: what the first turn told goes for the rest too.
	bool again = statistics->on_time >= ON_TURN_NS;
	uint64_t base = again ? statistics->first_ns : 0;
	uint64_t seen = statistics->on_time + (again ? 0 : statistics->first_time);
	double scale = seen ? (double)(seen + statistics->off_time) / (double)seen : 1;
	totals->program_ns = base +
			     (uint64_t)((double)(statistics->first_ns + statistics->on_ns - base) * scale);
	totals->program_estimated = true;
}

void statistics_say(struct bpf_object *programs) {
	struct bpf_program *program;
	bpf_object__for_each_program(program, programs) {
		struct bpf_prog_info info = {0};
		if (!program_info(program, &info))
			continue;
		if (info.run_cnt)
			log_verbose("%s: %llu runs measured, %llu ns each", bpf_program__name(program),
				    (unsigned long long)info.run_cnt,
				    (unsigned long long)(info.run_time_ns / info.run_cnt));
		if (info.recursion_misses)
			log_verbose("%s: %llu not run: it was running already", bpf_program__name(program),
				    (unsigned long long)info.recursion_misses);
	}
}
