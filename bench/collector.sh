#!/usr/bin/env bash
# The resident collector: what a session costs, and what many sessions cost everybody else, as ratios to the same
# without it. The table at its end has all bars.
#
# Where many files were deleted shortly before, ext4 takes long to make new ones (recently_deleted() in a profile of
# the kernel). TMPDIR on a tmpfs keeps that out of what is measured here.
ROUNDS=${ROUNDS:-5}
. "$(dirname "$0")/lib.sh"
need_root
export TRACELET_STATE_DIR=$scratch/state TRACELET_COLLECTOR_SOCKET=$scratch/sock
last=$(($(nproc) - 1))
pipe="taskset -c $last perf bench sched pipe -l 100000"
sessions=$bench/collector_sessions.py

# bar DESCRIPTION VALUE OPERATOR LIMIT: a floor, and a row of the table.
rows=()
bar() {
	local before=$missed word=held
	missed=0
	floor "$@"
	[ $missed = 0 ] || word=missed
	rows+=("$(printf '%-70s %10s   %-8s %s' "$1" "$2" "$3 $4" $word)")
	[ $before = 0 ] || missed=1
}
now() { echo "${EPOCHREALTIME/./}"; }
start() {
	"$TRACELET" collector --listen "$TRACELET_COLLECTOR_SOCKET" 2>collector.log &
	collector=$!
	until "$TRACELET" status --collector >/dev/null 2>&1; do :; done
}
stop() {
	kill -TERM $collector && wait $collector
}
counter() { "$TRACELET" status --collector --json | jq -r ".$1"; }

# ---- one session ----

"$sessions" "$TRACELET_COLLECTOR_SOCKET" first >first &
client=$!
until grep -q ready first; do :; done
begin=$(now)
"$TRACELET" collector --listen "$TRACELET_COLLECTOR_SOCKET" 2>collector.log &
collector=$!
wait $client
cold=$(calculate "($(tail -1 first) - $begin) / 1000")
echo "from the start of the collector to the first session: $cold ms"
bar "cold start in ms" "$cold" "<=" 60

run="$TRACELET run --quiet --output-dir out"
time_of() { # COMMAND: milliseconds, the median of 60
	hyperfine -N --warmup 3 --runs 60 --export-json result.json "$1" >/dev/null 2>&1
	jq -r '.results[0].median * 1000' result.json
}
middle() { printf '%s\n' "$@" | sort -g | awk '{ v[NR] = $1 } END { print v[int((NR + 1) / 2)] }'; }
plain=() through=() own=()
for ((round = 0; round < ROUNDS; round++)); do
	plain+=("$(time_of true)")
	through+=("$(time_of "$run --collector require -- true")")
	own+=("$(time_of "$run --collector never -- true")")
done
over=$(calculate "$(middle "${through[@]}") - $(middle "${plain[@]}")")
echo "true $(middle "${plain[@]}") ms, through the collector $(middle "${through[@]}") ms, with a tracer of its own $(middle "${own[@]}") ms"
bar "run -- true over plain true in ms" "$over" "<=" 2.5
opening=$("$sessions" "$TRACELET_COLLECTOR_SOCKET" open 500)
bar "open a session, median in us" "$opening" "<=" 150

eight() {
	seq 400 | xargs -P 8 -I{} "$TRACELET" run --quiet --collector require --output-dir eight --name t{} -- true
}
eight
begin=$(now)
eight
bar "sessions a second, 8 at a time" "$(calculate "400 / (($(now) - $begin) / 1e6)")" ">=" 400

# ---- inside a session ----

table=$("$bench/measure.py" "$ROUNDS" "plain=$pipe" "through=$run --collector require -- $pipe" \
	"own=$run --collector never -- $pipe")
echo "sched pipe (median of $ROUNDS: wall s, CPU s, largest kB, us/op; the collector runs beside all of them):"
sed 's/^/  /' <<<"$table"
bar "sched pipe inside a session, time over that with a tracer of its own" \
	"$(calculate "$(column through 5) / $(column own 5)")" "<=" 1.05

# ---- how much the collector works for an event; nothing is lost ----

before=$(counter cpu_ns)
"$TRACELET" run --collector require --output-dir load --name load --json load.json -- \
	perf bench sched pipe -l 300000 >/dev/null 2>summary
events=$(jq -r '.events // 0' load.json 2>/dev/null)
[ "$events" != 0 ] || events=$(sed -n 's/.*events *\([0-9,]*\).*/\1/p' summary | tr -d ,)
seconds=$(jq -r '.wall_seconds // 0' load.json)
echo "$events events in $seconds s"
bar "CPU of the collector for an event in ns" "$(calculate "($(counter cpu_ns) - $before) / $events")" "<=" 20
bar "events lost" "$(counter lost)" "<=" 0
busy=()
for ((i = 0; i < 4; i++)); do
	while :; do :; done &
	busy+=($!)
done
"$TRACELET" run --quiet --collector require --output-dir load --name busy --json busy.json -- \
	sh -c 'for i in 1 2 3 4; do perf bench sched pipe -l 200000 & done; wait' >/dev/null 2>&1
kill "${busy[@]}"
wait "${busy[@]}" 2>/dev/null || true
echo "under load 4: $(jq -r '"\(.events) events in \(.wall_seconds) s, \(.events / .wall_seconds | floor) a second"' busy.json)"
bar "events lost under load 4" "$(jq '[.lost[]?] | add // 0' busy.json)" "<=" 0

# ---- many cases ----

# A program that answers as GoogleTest does, with cases that do nothing.
cat >gtest.c <<'END'
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
static const char gtest[] = "gtest_list_tests"; // as the real ones have
int main(int argc, char **argv) {
	const char *output = getenv("GTEST_OUTPUT");
	for (int i = 1; i < argc; i++)
		if (strncmp(argv[i], "--gtest_output=", 15) == 0)
			output = argv[i] + 15;
	if (argc > 1 && strstr(argv[1], gtest)) {
		printf("Many.\n");
		for (int i = 0; i < 2000; i++)
			printf("  Case%d\n", i);
		return 0;
	}
	const char *path = output && strncmp(output, "xml:", 4) == 0 ? output + 4 : NULL;
	FILE *file = path ? fopen(path, "w") : NULL;
	const char *name = "Case0";
	for (int i = 1; i < argc; i++)
		if (strncmp(argv[i], "--gtest_filter=Many.", 20) == 0)
			name = argv[i] + 20;
	if (file) {
		fprintf(file, "<testsuites tests=\"1\" failures=\"0\"><testsuite name=\"Many\" tests=\"1\">"
			"<testcase name=\"%s\" status=\"run\" result=\"completed\" time=\"0\" classname=\"Many\"/>"
			"</testsuite></testsuites>\n", name);
		fclose(file);
	}
	printf("[==========] Running 1 test from 1 test suite.\n[ RUN      ] Many.%s\n[       OK ] Many.%s (0 ms)\n"
	       "[==========] 1 test from 1 test suite ran. (0 ms total)\n[  PASSED  ] 1 test.\n", name, name);
	return 0;
}
END
cc -O2 -o gtest gtest.c
jobs=$(nproc)
plain_cases() { seq 0 1999 | xargs -P "$jobs" -I{} ./gtest --gtest_filter=Many.Case{} >/dev/null; }
begin=$(now)
plain_cases
plain_ms=$(calculate "($(now) - $begin) / 1000")
begin=$(now)
"$TRACELET" each --quiet -j "$jobs" --framework gtest --collector require --output-dir cases -- ./gtest >each.out 2>&1 || cat each.out
each_ms=$(calculate "($(now) - $begin) / 1000")
echo "2000 cases of a GoogleTest program, $jobs at a time: plain $plain_ms ms, each $each_ms ms"
bar "each over plain" "$(calculate "$each_ms / $plain_ms")" "<=" 3

# Cases inside one process, by marks: two programs, one with 2,000 cases more.
cat >marks.c <<'END'
#include <tracelet/mark.h>
#include <stdio.h>
#include <stdlib.h>
int main(int argc, char **argv) {
	char name[32];
	for (int i = 0; i < atoi(argv[1]); i++) {
		snprintf(name, sizeof(name), "case%d", i);
		tl_test_begin(name);
		tl_test_end(0);
	}
	return 0;
}
END
if cc -O2 -I"$bench/../include" -o marks marks.c 2>marks.err; then
	table=$("$bench/measure.py" "$ROUNDS" "none=$run --collector require -- ./marks 0" \
		"cases=$run --collector require --cases yes -- ./marks 2000")
	echo "cases by marks: none $(column none 2) s, 2000 $(column cases 2) s"
	bar "ms for a case by marks" "$(calculate "($(column cases 2) - $(column none 2)) / 2")" "<=" 0.1
else
	cat marks.err
fi
stop

# ---- beside others' sessions ----

hold() { # N [HZ]: sessions, with HZ samples a second, until `release`
	mkfifo hold 2>/dev/null || true
	"$sessions" "$TRACELET_COLLECTOR_SOCKET" hold "$@" <hold >held &
	holder=$!
	exec 7>hold
	until grep -q held held; do kill -0 $holder || exit 1; done
}
release() {
	exec 7>&-
	wait $holder
}
cpu() { # the CPU time of sched pipe, in us for an operation
	"$bench/measure.py" 1 "pipe=$pipe" | awk '{ print $3 * 1e6 / 100000 }'
}
start
bar "1000 sessions at once in ms" "$("$sessions" "$TRACELET_COLLECTOR_SOCKET" at-once 1000)" "<=" 250
echo "  the same with memory that is there: $("$sessions" "$TRACELET_COLLECTOR_SOCKET" at-once 1000) ms"
echo "memory for 1000 sessions: $(counter memory) bytes"
bar "kB for a session" "$(calculate "$(counter memory) / 1024 / 1024")" "<=" 300
stop
none=() few=() many=()
for ((round = 0; round < ROUNDS; round++)); do
	none+=("$(cpu)")
	start
	hold 256
	few+=("$(cpu)")
	release
	hold 1000
	many+=("$(cpu)")
	release
	stop
done
echo "sched pipe, CPU us for an operation: $(middle "${none[@]}"), beside 256 sessions $(middle "${few[@]}"), beside 1000 $(middle "${many[@]}")"
bar "beside 256 idle sessions" "$(calculate "$(middle "${few[@]}") / $(middle "${none[@]}")")" "<=" 1.10
bar "beside 1000 idle sessions" "$(calculate "$(middle "${many[@]}") / $(middle "${none[@]}")")" "<=" 1.12

# ---- beside sessions that sample ----

cat >loop.c <<'END'
int main(void) {
	for (volatile long i = 0; i < 400000000; i++)
		;
	return 0;
}
END
cc -O1 -o loop loop.c
spin() { "$bench/measure.py" 1 "loop=taskset -c $last ./loop" | awk '{ print $3 }'; }
alone=() beside=()
start
for ((round = 0; round < ROUNDS; round++)); do
	alone+=("$(spin)")
	hold 16 999
	beside+=("$(spin)")
	release
done
stop
echo "a CPU loop: $(middle "${alone[@]}") s, beside 16 sessions with 999 samples a second $(middle "${beside[@]}") s"
bar "a CPU loop beside 16 sampling sessions" "$(calculate "$(middle "${beside[@]}") / $(middle "${alone[@]}")")" "<=" 1.02

# ---- idle ----

start
$run --collector require -- true
usual=$(time_of "$run --collector require -- true")
until [ "$(counter attached)" = 0 ]; do sleep 0.5; done
begin=$(now)
$run --collector require -- true
bar "the first session after idle, ms more than others" "$(calculate "($(now) - $begin) / 1000 - $usual")" "<=" 3
until [ "$(counter attached)" = 0 ]; do sleep 0.5; done
switches() { cat /proc/$collector/task/*/status | awk '/ctxt_switches/ { n += $2 } END { print n }'; }
begin=$(switches)
sleep 10
bar "wakeups in 10 idle seconds" "$(($(switches) - begin))" "<=" 0
stop
printf '\n%-70s %10s   %-8s\n' "after $SECONDS seconds" measured bar
printf '%s\n' "${rows[@]}"
finish
