#!/usr/bin/env bash
# The cost of counting: `perf bench sched pipe` alone, under `tracelet stat` and under `perf stat`
# with the same events; and the cost of each for a command that does nothing.
. "$(dirname "$0")/lib.sh"

software=task-clock,context-switches,cpu-migrations,page-faults
hardware=cycles,instructions,branches,branch-misses
events=$software
if "$TRACELET" stat man instructions | grep -q 'available  yes'; then
	events=$software,$hardware
fi
echo "events: $events"

# On one CPU: the scheduler puts the two tasks sometimes on one CPU and sometimes on two, and an operation takes 6 or 40 us,
# whichever tool counts. "again" is perf once more: the difference between the two perf runs is noise.
# Many short alternating rounds: other load on the machine affects all of them alike.
rounds=$((ROUNDS * 5))
load="taskset -c $(($(nproc) - 1)) perf bench sched pipe -l 20000"
table=$("$bench/measure.py" "$rounds" "plain=$load" "ours=$TRACELET stat -o /dev/null -e $events -- $load" \
	"perf=perf stat -o /dev/null -e $events -- $load" "again=perf stat -o /dev/null -e $events -- $load")
echo "sched pipe on one CPU ($rounds rounds: median wall s, median CPU s, largest kB, us per operation: median, minimum):"
sed 's/^/  /' <<<"$table"
for name in ours perf again; do
	echo "  slowdown: $name $(calculate "$(column $name 5) / $(column plain 5)") by medians," \
		"$(calculate "$(column $name 6) / $(column plain 6)") by the least"
done
floor "minimum time of an operation over perf stat's" "$(calculate "$(column ours 6) / $(column perf 6)")" "<=" 1.02
floor "CPU time over perf stat's" "$(calculate "$(column ours 3) / $(column perf 3)")" "<=" 1

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
echo "a command that does nothing (wall s, CPU s, largest kB, us per run):"
sed 's/^/  /' <<<"$table"
floor "time of a command that does nothing over perf stat's" "$(calculate "$(column ours 5) / $(column perf 5)")" "<=" 1
finish
