#!/usr/bin/env bash
# The cost of counters in a trace: `perf bench sched pipe` alone, under `tracelet run`, under
# `tracelet run --counters` with counts for each slice, and under `perf record` with a group that
# is read at every switch.
. "$(dirname "$0")/lib.sh"
need_root

events=task-clock,page-faults,cpu-migrations
# On one CPU, comparing the minimum: see stat.sh.
load="taskset -c $(($(nproc) - 1)) perf bench sched pipe -l 20000"
table=$("$bench/measure.py" "$ROUNDS" "plain=$load" "run=$TRACELET run -q -- $load" \
	"counters=$TRACELET run -q --counters $events --counters-per-slice -- $load" \
	"perf=perf record -q -a -c 1 -e '{sched:sched_switch,$events}:S' -o perf.data -- $load")
echo "sched pipe on one CPU ($ROUNDS rounds: median wall s, median CPU s, largest kB, us per operation: median, minimum):"
sed 's/^/  /' <<<"$table"
for name in run counters perf; do
	echo "  slowdown: $name $(calculate "$(column $name 5) / $(column plain 5)") by medians," \
		"$(calculate "$(column $name 6) / $(column plain 6)") by the least"
done
switches=$("$TRACELET" table "$(ls -t tracelet-out/*.pb | head -n 1)" generic-events --csv | sed -n 's/^pmu,slice,//p')
size=$(stat -c %s "$(ls -t tracelet-out/*.pb | head -n 1)")
echo "  bytes per slice with counts: $(calculate "$size / ${switches:-1}"), perf.data: $(calculate "$(stat -c %s perf.data) / 40000")"
floor "minimum time of an operation over perf record's" "$(calculate "$(column counters 6) / $(column perf 6)")" "<=" 1
finish
