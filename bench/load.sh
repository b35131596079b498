#!/usr/bin/env bash
# The cost of tracing a program that does nothing but switch: the slowdown of
# `sched pipe` pinned to one CPU and of `sched messaging`, and the CPU time that
# tracing adds (tracer included), compared with `perf sched record`.
#
# Where the CPU time goes in `sched messaging`, on a quiet machine with two CPUs (median of 9): plain 7.64 s, perf sched adds
# 0.53 s, we add 0.16 s without the stacks of long waits (0.29 of perf's) and 0.56 s with them (1.07). perf sched records no
# stacks, so the floor holds for the same work and is missed by default. Without stacks BPF takes 300 ns a switch and 290 ns a
# wakeup, and half of the tracer's 0.07 s is its start. A stack costs some 40 us in all: 6 to 9 us for the interrupt with which
# a CPU asks itself for it, 7 to 16 us for the copy, the rest in the tracer; there are 9,600. Taking fewer by their rate does
# not help: 400 tasks end one wait of 1 ms or more in each millisecond of a CPU, no more than one thread alone may, whose
# stacks must all be there. (A longer period once there were more left 6,700 of them.)
#
# `load.sh messaging` measures only that.
. "$(dirname "$0")/lib.sh"
need_root

last=$(($(nproc) - 1))
pipe="taskset -c $last perf bench sched pipe -l 200000"
# Many short rounds: the noise of a long one is larger than the cost of tracing.
messaging="perf bench sched messaging -g 10 -l 500"

# compare NAME COMMAND: sets $table
compare() {
	table=$("$bench/measure.py" "$ROUNDS" \
		"plain=$2" \
		"ours=$TRACELET run --quiet --output-dir out -- $2" \
		"none=$TRACELET run --quiet --waits=no --output-dir out -- $2" \
		"perf=perf sched record -o perf.data -- $2")
	echo "$1 (median of $ROUNDS: wall s, CPU s, largest kB, us/op):"
	sed 's/^/  /' <<<"$table"
}

# added NAME COLUMN: the difference to plain
added() {
	calculate "$(column "$1" "$2") - $(column plain "$2")"
}

part=${1:-all}
if [ $part = all ]; then
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
fi

compare "sched messaging" "$messaging"
echo "  CPU in all, tracer included: ours $(calculate "$(column ours 3) / $(column plain 3)")," \
	"perf sched $(calculate "$(column perf 3) / $(column plain 3)")"
floor "sched messaging, added CPU over perf sched's" "$(calculate "$(added ours 3) / $(added perf 3)")" "<=" 0.3333
floor "sched messaging, the same without stacks" "$(calculate "$(added none 3) / $(added perf 3)")" "<=" 0.3333
[ $part = all ] || finish

# From the kernel's own statistics, which are switched on throughout.
sysctl -q kernel.bpf_stats_enabled=1
"$TRACELET" run --verbose --output-dir out -- $pipe >/dev/null 2>verbose.txt || true
sysctl -q kernel.bpf_stats_enabled=0
each=$(sed -n 's/.*on_switch: .* measured, \([0-9]*\) ns each/\1/p' verbose.txt)
echo "BPF time by the kernel's statistics: $each ns per switch," \
	"$(sed -n 's/.*on_waking: .* measured, \([0-9]*\) ns each/\1/p' verbose.txt) ns a wakeup"
floor "BPF time per switch in ns" "$each" "<=" 250
finish
