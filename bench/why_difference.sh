#!/usr/bin/env bash
# What was different this time: `tracelet why` against the last passing runs. A test with ten functions fails in 20
# runs with 20 ms more in one of them, half of these as work and half as sleep; and in 20 runs with nothing
# changed. How often is the function named first, and how often is there an alarm for nothing, if so many passing
# runs are known?
. "$(dirname "$0")/lib.sh"
need_root
RUNS=${RUNS:-20}

cat >ten_test.c <<'END'
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
static unsigned long loops;
static volatile unsigned long sum;
static int slow, asleep;
static inline void work(unsigned long ms) { for (unsigned long i = 0; i < ms * loops; i++) sum += i * i; }
#define PART(number, ms)                                                                                    \
	__attribute__((noinline)) void part_##number(void) {                                               \
		work(ms);                                                                                  \
		if (slow == number && asleep)                                                              \
			nanosleep(&(struct timespec){.tv_nsec = 20000000}, NULL);                          \
		if (slow == number && !asleep)                                                             \
			work(20);                                                                          \
	}
PART(0, 5) PART(1, 10) PART(2, 15) PART(3, 20) PART(4, 8) PART(5, 12) PART(6, 4) PART(7, 25) PART(8, 9) PART(9, 12)
static void (*const parts[])(void) = {part_0, part_1, part_2, part_3, part_4, part_5, part_6, part_7, part_8, part_9};
// ten_test LOOPS-A-MILLISECOND SLOW ASLEEP STATUS; without arguments, prints the first of them.
int main(int argc, char **argv) {
	if (argc < 5) {
		clock_t begin = clock();
		loops = 1000000;
		work(50);
		printf("%.0f\n", 50.0 * 1e6 / ((double)(clock() - begin) / CLOCKS_PER_SEC * 1000));
		return 0;
	}
	loops = strtoul(argv[1], NULL, 10);
	slow = atoi(argv[2]);
	asleep = atoi(argv[3]);
	for (int i = 0; i < 10; i++)
		parts[i]();
	return atoi(argv[4]);
}
END
gcc -g -O1 -o ten_test ten_test.c
loops=$(./ten_test)

# once SLOW ASLEEP STATUS: one run.
once() {
	"$TRACELET" run --quiet --off-cpu --sample --output-dir all -- ./ten_test "$loops" "$1" "$2" "$3" || true
}

# grown LINE PASSES: what grew most in the failing run of this line of the manifest, if only so many passing runs
# before it are known: the function, or its caller if it is a helper that several functions call.
grown() {
	local trace
	rm -rf known
	mkdir known
	head -n "$(($1 - 1))" all/manifest.jsonl | jq -c 'select(.result == "passed")' | tail -n "$2" >known/manifest.jsonl
	sed -n "$1p" all/manifest.jsonl >>known/manifest.jsonl
	trace=$(sed -n "$1p" all/manifest.jsonl | jq -r '.artifacts[] | select(.kind == "perfetto").path | sub(".*/"; "")')
	cp "all/$trace" known
	"$TRACELET" why --json "known/$trace" | jq -r '.difference.segments[0] // {} | .caller // .function // .reason // "nothing"'
}

FIRST=8
for ((i = 0; i < FIRST; i++)); do
	once -1 0 0
done
for ((i = 0; i < RUNS; i++)); do
	once -1 0 0
	once -1 0 1
	once $((i % 10)) $((i / 10 % 2)) 1
done

echo "passing runs known, functions named of $RUNS, false alarms of $RUNS"
for known in 1 2 3 5 9; do
	named=0 alarms=0
	for ((i = 0; i < RUNS; i++)); do
		[ "$(grown $((FIRST + 3 * i + 2)) $known)" = nothing ] || alarms=$((alarms + 1))
		[ "$(grown $((FIRST + 3 * i + 3)) $known)" != "part_$((i % 10))" ] || named=$((named + 1))
	done
	echo "  $known $named $alarms"
	floor "with $known: functions with 20 ms more, named" "$named" ">=" $((RUNS * 19 / 20))
	floor "with $known: false alarms" "$alarms" "<=" $((RUNS / 20))
done
finish
