#!/usr/bin/env bash
# What tracing costs a program that does nothing but switch: the slowdown of
# `sched pipe` pinned to one CPU and of `sched messaging`, and the CPU time that
# tracing adds (tracer included), beside `perf sched record`.
. "$(dirname "$0")/lib.sh"
need_root

last=$(($(nproc) - 1))
pipe="taskset -c $last perf bench sched pipe -l 200000"
# Not too long, and often: a long one wanders by more than tracing costs.
messaging="perf bench sched messaging -g 10 -l 500"

# compare NAME COMMAND: leaves $table
compare() {
	table=$("$bench/measure.py" "$ROUNDS" \
		"plain=$2" \
		"ours=$TRACELET run --quiet --output-dir out -- $2" \
		"perf=perf sched record -o perf.data -- $2")
	echo "$1 (median of $ROUNDS: wall s, CPU s, largest kB, us/op):"
	sed 's/^/  /' <<<"$table"
}

# added NAME COLUMN: over plain
added() {
	calculate "$(column "$1" "$2") - $(column plain "$2")"
}

compare "sched pipe" "$pipe"
pipe_ratio=$(calculate "$(column ours 5) / $(column plain 5)")
perf_ratio=$(calculate "$(column perf 5) / $(column plain 5)")
echo "  slowdown of an operation: ours $pipe_ratio, perf sched $perf_ratio"
echo "  CPU in all, tracer included: ours $(calculate "$(column ours 3) / $(column plain 3)")," \
	"perf sched $(calculate "$(column perf 3) / $(column plain 3)")"
floor "sched pipe, slowdown" "$pipe_ratio" "<=" 1.15
floor "sched pipe, added time over perf sched's" \
	"$(calculate "($pipe_ratio - 1) / ($perf_ratio - 1)")" "<=" 0.3333
floor "sched pipe, added CPU over perf sched's" "$(calculate "$(added ours 3) / $(added perf 3)")" "<=" 0.3333

ROUNDS=$((ROUNDS * 2 + 1))
compare "sched messaging" "$messaging"
echo "  CPU in all, tracer included: ours $(calculate "$(column ours 3) / $(column plain 3)")," \
	"perf sched $(calculate "$(column perf 3) / $(column plain 3)")"
floor "sched messaging, added CPU over perf sched's" "$(calculate "$(added ours 3) / $(added perf 3)")" "<=" 0.3333

# The kernel's own statistics, measured all the time here.
sysctl -q kernel.bpf_stats_enabled=1
"$TRACELET" run --verbose --output-dir out -- $pipe >/dev/null 2>verbose.txt || true
sysctl -q kernel.bpf_stats_enabled=0
each=$(sed -n 's/.*on_switch: .* measured, \([0-9]*\) ns each/\1/p' verbose.txt)
echo "BPF time by the kernel's statistics: $each ns a switch," \
	"$(sed -n 's/.*on_waking: .* measured, \([0-9]*\) ns each/\1/p' verbose.txt) ns a wakeup"
floor "BPF time per switch in ns" "$each" "<=" 250
finish
