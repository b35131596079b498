// Writes a manifest to standard output: SESSIONS sessions of TESTS tests, ten runs of all tests a day, ending
// at a fixed time. Some tests are flaky, some become slower, one session in ten was sampled.
#include "base/map.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

enum { RUNS_A_DAY = 10, FUNCTIONS = 500, SHOWN = 15 };

static const int64_t end_ms = 1795046400000; // 2026-11-19

static uint64_t mix(uint64_t a, uint64_t b) {
	return hash_u64(a * 0x9e3779b97f4a7c15u + b + 1);
}

static double unit(uint64_t a, uint64_t b) {
	return ((double)(mix(a, b) >> 11) + 0.5) / 9007199254740992.0;
}

static double normal(uint64_t a, uint64_t b) {
	return sqrt(-2 * log(unit(a, b))) * cos(2 * M_PI * unit(b, a + 7));
}

static void print_functions(uint64_t session, uint64_t test) {
	printf(",\"functions\":{\"samples\":200,\"self\":{");
	for (unsigned i = 0; i < SHOWN; i++)
		printf("%s\"project::module_%u::function_%u(int, char const*)\""
		       ":%u",
		       i ? "," : "", (unsigned)(mix(test, i) % 20), (unsigned)(mix(test, i) % FUNCTIONS),
		       (unsigned)(5 + mix(session, i) % 10));
	printf("}}");
}

static void print_metrics(uint64_t session, double wall) {
	uint64_t ns = (uint64_t)(wall * 1e9);
	printf(",\"metrics\":{\"cpu_user_ns\":%" PRIu64 ",\"cpu_system_ns\":%" PRIu64 ",\"ready_ns\":%" PRIu64
	       ",\"blocked_ns\":%" PRIu64 ",\"io_ns\":%" PRIu64 ",\"lock_ns\":%" PRIu64
	       ",\"switches\":%u,\"preempted\":%u,\"faults\":%u,\"max_rss\":%u,\"processes\":3}",
	       ns / 2, ns / 10, ns / 20, ns / 3, ns / 30, ns / 9, (unsigned)(mix(session, 3) % 900),
	       (unsigned)(mix(session, 4) % 90), (unsigned)(mix(session, 5) % 9000),
	       (unsigned)(4000000 + mix(session, 6) % 90000));
	printf(",\"waited\":{\"futex\":[%u,%" PRIu64 ",%" PRIu64 "],\"disk\":[4,%" PRIu64 ",%" PRIu64 "]}",
	       (unsigned)(mix(session, 8) % 50), ns / 9, ns / 40, ns / 30, ns / 90);
}

static void print_time(int64_t ms) {
	time_t seconds = (time_t)(ms / 1000);
	struct tm utc;
	char text[32];
	strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%S", gmtime_r(&seconds, &utc));
	printf("\"started\":\"%s.%03dZ\"", text, (int)(ms % 1000));
}

static void print_session(uint64_t run, uint64_t runs, uint64_t test, uint64_t tests) {
	uint64_t session = run * tests + test, commit = run - run % 10 / 9; // one run in ten repeats a commit
	int64_t started = end_ms - (int64_t)((runs - run) * (86400000 / RUNS_A_DAY)) +
			  (int64_t)(test * 1000 / tests);
	double wall = 0.002 * exp(3 * unit(test, 1)) * exp(0.03 * normal(session, 2));
	bool flaky = test % 50 == 7, failed = unit(session, 9) < (flaky ? 0.15 : 0.0005);
	if (test % 100 == 3 && run > runs / 2)
		wall *= 1.2;
	uint64_t random = mix(session, 11), more = mix(session, 12);
	printf("{\"version\":2,\"session\":\"%08x-%04x-7%03x-8%03x-%012" PRIx64 "\",\"run\":\"github-%" PRIu64
	       "\",\"attempt\":1,\"project\":\"bench\",\"test\":\"test_%" PRIu64 "\",\"name\":\"test/%" PRIu64
	       "\",\"suite\":\"suite_%" PRIu64 "\",\"command\":[\"./unit_tests\",\"--case=%" PRIu64
	       "\"],\"kind\":\"test\",\"status\":\"%s\",\"result\":\"%s\",\"exit\":%d,",
	       (unsigned)(started >> 16), (unsigned)(started & 0xffff), (unsigned)(random & 0xfff),
	       (unsigned)(random >> 12 & 0xfff), more & 0xffffffffffff, 1000 + run, test, test, test % 40,
	       test, failed ? "failed" : "passed", failed ? "failed: exit status 1" : "passed", failed);
	print_time(started);
	printf(",\"wall_seconds\":%.9g,\"cpu_seconds\":%.9g", wall, wall * 0.6);
	print_metrics(session, wall);
	if (session % 10 == run % 10)
		print_functions(session, test);
	printf(",\"source\":{\"commit\":\"%016" PRIx64 "%016" PRIx64
	       "%08x\",\"branch\":\"main\",\"ci\":\"github\","
	       "\"job\":\"unit\"},\"host\":\"build%u\",\"kernel\":\"6.12.0\",\"machine\":\"x86_64\",\"cpu\":"
	       "\"Bench "
	       "CPU\",\"cpus\":8,\"memory\":33285996544,\"tracelet\":\"0.1.0\",\"profile\":\"default\","
	       "\"scope\":\"tree\","
	       "\"backend\":\"bpf\",\"artifacts\":[],\"events\":812,\"lost\":{}}\n",
	       mix(commit, 20), mix(commit, 21), (unsigned)mix(commit, 22), (unsigned)(mix(session, 30) % 9));
}

int main(int argc, char **argv) {
	uint64_t sessions = argc > 1 ? strtoull(argv[1], NULL, 10) : 1000000;
	uint64_t tests = argc > 2 ? strtoull(argv[2], NULL, 10) : 5000;
	uint64_t runs = (sessions + tests - 1) / tests, left = sessions;
	for (uint64_t run = 0; run < runs; run++)
		for (uint64_t test = 0; test < tests && left; test++, left--)
			print_session(run, runs, test, tests);
	return 0;
}
