// Process 1 of an arm64 guest: counts known loops with the guest's real PMU, as `tracelet stat`
// does, and tells in TAP on the console whether the numbers are right.
#include "capture/pmu/counters.h"

#include <errno.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/reboot.h>
#include <sys/stat.h>
#include <unistd.h>

// There is no libpfm4 in the guest.
int pmu_pfm_event(struct pmu_event *event, const char *name) {
	return -ENOENT;
}

static const struct pmu_source here = PMU_SOURCE_HERE;
static unsigned checks;

// More than the other CPU does in its turns during a loop.
enum { TURN = 100000 };

static void check(bool good, const char *what) {
	printf("%s %u - %s\n", good ? "ok" : "not ok", ++checks, what);
}

// Two instructions for each round.
static void loop(uint64_t rounds) {
	__asm__ volatile("1: subs %0, %0, #1\n\tb.ne 1b" : "+r"(rounds) : : "cc");
}

// What our own loops count, here or on CPUs one after the other, with these events.
struct counted {
	struct pmu_events events;
	struct count counts[64];
};

static void count_loop(struct counted *counted, const char *list, const struct counter_place *places,
		       size_t place_count, uint64_t rounds) {
	struct counters counters;
	char why[PMU_WHY_SIZE] = "";
	*counted = (struct counted){0};
	if (pmu_events_parse(&counted->events, list, &here, why))
		printf("# %s: %s\n", list, why);
	counters_open(&counters, &counted->events, places, place_count);
	for (size_t i = 0; i < counted->events.count; i++)
		if (counted->events.items[i].missing)
			printf("# %s: %s\n", counted->events.items[i].name, counted->events.items[i].missing);
	counters_enable(&counters);
	for (size_t place = 0; place < place_count; place++) {
		if (places[place].cpu >= 0) {
			cpu_set_t cpus;
			CPU_ZERO(&cpus);
			CPU_SET((size_t)places[place].cpu, &cpus);
			sched_setaffinity(0, sizeof(cpus), &cpus);
		}
		loop(rounds * (place + 1));
	}
	counters_read(&counters, counted->counts);
	for (size_t i = 0; i < counted->events.count * place_count; i++)
		printf("# %zu: %llu, scaled %.0f, %llu of %llu ns\n", i,
		       (unsigned long long)counted->counts[i].value, counted->counts[i].scaled,
		       (unsigned long long)counted->counts[i].running,
		       (unsigned long long)counted->counts[i].enabled);
	counters_close(&counters);
}

static const struct counter_place own = {.pid = 0, .cpu = -1};

// The least of a few runs: QEMU's counter goes on while the machine's other CPU has its turn.
static uint64_t instructions(uint64_t rounds) {
	uint64_t least = UINT64_MAX;
	for (unsigned run = 0; run < 8; run++) {
		struct counted counted;
		count_loop(&counted, "instructions:u", &own, 1, rounds);
		least = counted.counts[0].value < least ? counted.counts[0].value : least;
		pmu_events_free(&counted.events);
	}
	return least;
}

static void check_exact(void) {
	instructions(1); // until counters_read's own allocations take the same way each time
	uint64_t one = instructions(1000000), again = instructions(1000000), two = instructions(2000000);
	check(one >= 2000000 && one < 2010000, "a loop of a million rounds has two million instructions");
	check(again == one, "the next time exactly as many");
	check(two - one == 2000000, "a million rounds more: two million more, exactly");
}

static void check_group(void) {
	struct counted counted;
	count_loop(&counted, "{cycles:u,instructions:u},inst_retired:u,r08:u", &own, 1, 1000000);
	check(counted.counts[0].value > 0, "cycles are counted beside instructions");
	check(counted.counts[0].running == counted.counts[1].running, "a group is there together");
	uint64_t value = counted.counts[1].value;
	check(value >= 2000000 && counted.counts[2].value >= 2000000 &&
		      counted.counts[2].value <= value + TURN,
	      "the kernel's own name for it counts the same");
	check(counted.counts[3].value >= 2000000 && counted.counts[3].value <= value + TURN,
	      "so does the raw code");
	pmu_events_free(&counted.events);
}

static void check_multiplexing(void) {
	struct counted counted;
	char list[256] = "";
	enum { EVENTS = 16, ROUNDS = 60000000 };
	for (size_t i = 0; i < EVENTS; i++)
		strcat(list, i ? ",r08:u" : "r08:u");
	count_loop(&counted, list, &own, 1, ROUNDS);
	size_t shared = 0, near = 0;
	for (size_t i = 0; i < EVENTS; i++) {
		shared += counted.counts[i].running < counted.counts[i].enabled;
		near += counted.counts[i].scaled > 1.6 * ROUNDS && counted.counts[i].scaled < 2.4 * ROUNDS;
	}
	check(shared > 0, "more events than counters: they take turns, and it shows");
	check(near == EVENTS, "the scaled values are right within a fifth");
	pmu_events_free(&counted.events);
}

static void check_cores(void) {
	static const struct counter_place places[] = {{.pid = 0, .cpu = 0}, {.pid = 0, .cpu = 1}};
	struct counted counted;
	count_loop(&counted, "instructions:u", places, 2, 1000000);
	check(counted.counts[0].value >= 2000000 && counted.counts[0].value < 2000000 + TURN,
	      "on CPU 0 its own loop");
	check(counted.counts[1].value >= 4000000 && counted.counts[1].value < 4000000 + TURN,
	      "on CPU 1 its own");
	check(counted.counts[0].scaled == (double)counted.counts[0].value,
	      "time on the other CPU is no time without a counter");
	pmu_events_free(&counted.events);
}

int main(void) {
	mkdir("/proc", 0755);
	mkdir("/sys", 0755);
	mount("proc", "/proc", "proc", 0, NULL);
	mount("sysfs", "/sys", "sysfs", 0, NULL);
	setvbuf(stdout, NULL, _IOLBF, 0);
	check_exact();
	check_group();
	check_multiplexing();
	check_cores();
	printf("1..%u\n", checks);
	sync();
	reboot(RB_POWER_OFF);
	return 0;
}
