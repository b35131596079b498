#!/usr/bin/env bash
# What counting costs: `perf bench sched pipe` alone, under `tracelet stat` and under `perf stat`
# with the same events; and what each costs for a command that does nothing.
. "$(dirname "$0")/lib.sh"

software=task-clock,context-switches,cpu-migrations,page-faults
hardware=cycles,instructions,branches,branch-misses
events=$software
if "$TRACELET" stat man instructions | grep -q 'available  yes'; then
	events=$software,$hardware
fi
echo "events: $events"

# Many short rounds in turn: what else the machine does meets all of them alike.
rounds=$((ROUNDS * 3))
load="perf bench sched pipe -l 20000"
table=$("$bench/measure.py" "$rounds" "plain=$load" \
	"ours=$TRACELET stat -q -e $events -- $load" "perf=perf stat -e $events -- $load")
echo "sched pipe (median of $rounds: wall s, CPU s, largest kB, us for an operation):"
sed 's/^/  /' <<<"$table"
ours=$(column ours 5) perf=$(column perf 5) plain=$(column plain 5)
echo "  slowdown: ours $(calculate "$ours / $plain"), perf $(calculate "$perf / $plain")"
floor "time of an operation over perf stat's" "$(calculate "$ours / $perf")" "<=" 1.05
floor "CPU time over perf stat's" "$(calculate "$(column ours 3) / $(column perf 3)")" "<=" 1.02

cat >empty <<END
#!/bin/bash
begin=\$(date +%s%N)
for ((i = 0; i < 100; i++)); do
	"\$@" true
done
echo "\$(((\$(date +%s%N) - begin) / 100000)) usecs/op"
END
chmod +x empty
table=$("$bench/measure.py" "$ROUNDS" "plain=./empty env" "ours=./empty $TRACELET stat -o /dev/null -e $events --" \
	"perf=./empty perf stat -o /dev/null -e $events --")
echo "a command that does nothing (wall s, CPU s, largest kB, us for each):"
sed 's/^/  /' <<<"$table"
floor "time of a command that does nothing over perf stat's" "$(calculate "$(column ours 5) / $(column perf 5)")" "<=" 1
finish
