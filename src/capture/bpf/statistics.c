// The kernel's run-time statistics cost some 65 ns per run, as much as the rest of a program, and
// toggling them patches kernel code, which interrupts every CPU. So they are on from the start
// until they have seen enough, then off for good, and their result is scaled up by the bytes
// recorded: a program that runs more often records more. In a short or quiet recording they stay on
// to the end, and the result is exact.
//
// Emulated processors (QEMU without KVM) may keep running the old code: guests with two CPUs hung
// or panicked. There the statistics are left as they are.
#include "capture/bpf/statistics.h"
#include "base/log.h"
#include "capture/spool.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>
#ifdef __x86_64__
#include <cpuid.h>
#endif

enum { ENOUGH_NS = 20000000, ENOUGH_BYTES = 64 * 1024 };

#ifdef __x86_64__
static bool is_emulated(void) {
	enum { HYPERVISOR_BIT = 1u << 31, HYPERVISOR_LEAF = 0x40000000 };
	unsigned a, b, c, d, name[3];
	if (!__get_cpuid(1, &a, &b, &c, &d) || !(c & HYPERVISOR_BIT))
		return false;
	__cpuid(HYPERVISOR_LEAF, a, name[0], name[1], name[2]);
	return memcmp(name, "TCGTCGTCGTCG", sizeof(name)) == 0;
}
#else
// There is no way to ask, so treat any QEMU machine as possibly emulated.
static bool is_emulated(void) {
	char maker[64] = "";
	int fd = open("/sys/class/dmi/id/sys_vendor", O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		fd = open("/proc/device-tree/hypervisor/compatible", O_RDONLY | O_CLOEXEC);
	bool known = fd >= 0 && read(fd, maker, sizeof(maker) - 1) > 0;
	if (fd >= 0)
		close(fd);
	return (known && strstr(maker, "QEMU")) || access("/proc/device-tree/psci", F_OK) == 0;
}
#endif

void statistics_open(struct statistics *statistics) {
	if (is_emulated()) {
		log_verbose("the cost of our BPF programs is not measured: this machine is emulated");
		return;
	}
	statistics->fd = bpf_enable_stats(BPF_STATS_RUN_TIME);
	statistics->available = statistics->fd >= 0;
}

void statistics_close(struct statistics *statistics) {
	if (statistics->fd >= 0)
		close(statistics->fd);
	statistics->fd = -1;
}

void statistics_start(struct statistics *statistics) {
	statistics->begun = clock_boot_now();
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

static void measure(struct statistics *statistics, struct bpf_object *programs, uint64_t recorded,
		    uint64_t *runs) {
	statistics->time = clock_boot_now() - statistics->begun;
	statistics->measured = program_time(programs, runs);
	statistics->recorded = recorded;
}

void statistics_turn(struct statistics *statistics, struct bpf_object *programs, uint64_t recorded) {
	uint64_t runs = 0;
	if (statistics->fd < 0 || recorded < ENOUGH_BYTES || clock_boot_now() - statistics->begun < ENOUGH_NS)
		return;
	measure(statistics, programs, recorded, &runs);
	statistics_close(statistics);
}

void statistics_total(struct statistics *statistics, struct bpf_object *programs, uint64_t recorded,
		      struct capture_totals *totals) {
	totals->program_stats = statistics->available;
	if (!statistics->available)
		return;
	totals->program_estimated = statistics->fd < 0;
	if (statistics->fd >= 0)
		measure(statistics, programs, recorded, &totals->program_runs);
	else
		program_time(programs, &totals->program_runs);
	double scale = statistics->recorded ? (double)recorded / (double)statistics->recorded : 1;
	totals->program_ns = (uint64_t)((double)statistics->measured * MAX(scale, 1));
	totals->program_measured = statistics->time;
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
			log_verbose("%s: skipped %llu times, as it was already running",
				    bpf_program__name(program), (unsigned long long)info.recursion_misses);
	}
}
