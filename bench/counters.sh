#!/usr/bin/env bash
# What counters in a trace cost: `perf bench sched pipe` alone, under `tracelet run`, under
# `tracelet run --counters` with each slice's counts, and under `perf record` with a group that is
# read at every switch.
. "$(dirname "$0")/lib.sh"
need_root

events=task-clock,page-faults,cpu-migrations
load="perf bench sched pipe -l 20000"
table=$("$bench/measure.py" "$ROUNDS" "plain=$load" "run=$TRACELET run -q -- $load" \
	"counters=$TRACELET run -q --counters $events --counters-per-slice -- $load" \
	"perf=perf record -q -a -c 1 -e '{sched:sched_switch,$events}:S' -o perf.data -- $load")
echo "sched pipe (median of $ROUNDS: wall s, CPU s, largest kB, us for an operation):"
sed 's/^/  /' <<<"$table"
plain=$(column plain 5)
for name in run counters perf; do
	echo "  slowdown: $name $(calculate "$(column $name 5) / $plain")"
done
switches=$("$TRACELET" table "$(ls -t tracelet-out/*.pb | head -n 1)" generic-events --csv | sed -n 's/^pmu,slice,//p')
size=$(stat -c %s "$(ls -t tracelet-out/*.pb | head -n 1)")
echo "  bytes for a slice with its counts: $(calculate "$size / ${switches:-1}"), perf.data: $(calculate "$(stat -c %s perf.data) / 40000")"
floor "time of an operation over perf record's" "$(calculate "$(column counters 5) / $(column perf 5)")" "<=" 1
finish
