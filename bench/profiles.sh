#!/usr/bin/env bash
# The cost of profiles: `embedded` on `true`, on a compiler and on a program that does nothing but
# switch, compared with `perf record -a` with the same events; `system-calls` on a copy byte by byte,
# compared with `perf trace` and `strace -f`.
. "$(dirname "$0")/lib.sh"
need_root

# compare TITLE NAME=COMMAND...: sets $table
compare() {
	local title=$1
	shift
	table=$("$bench/measure.py" "$ROUNDS" "$@")
	echo "$title (median of $ROUNDS: wall s, CPU s, largest kB, us/op):"
	sed 's/^/  /' <<<"$table"
}

# added NAME COLUMN: the difference to plain
added() {
	calculate "$(column "$1" "$2") - $(column plain "$2")"
}
ours="$TRACELET run --quiet --output-dir out"

compare "true" "plain=true" "default=$ours -- true" "embedded=$ours --profile embedded -- true" \
	"verbose=$ours --profile verbose -- true"
for name in default embedded verbose; do
	echo "  $name: $(calculate "$(added $name 2) * 1000") ms, CPU $(calculate "$(added $name 3) * 1000") ms"
done
floor "embedded, fixed cost in ms" "$(calculate "$(added embedded 2) * 1000")" "<=" 80

# Tests one after the other: a tracer starts while the previous one removes its programs from the kernel.
row() {
	echo "bash -c 'for i in 1 2 3 4 5 6 7 8; do $*; done'"
}
compare "true, eight in a row" "plain=$(row true)" "default=$(row "$ours -- true")" \
	"embedded=$(row "$ours --profile embedded -- true")" "verbose=$(row "$ours --profile verbose -- true")"
for name in default embedded verbose; do
	echo "  $name: $(calculate "$(added $name 2) * 1000 / 8") ms each"
done

# A real file: one process that compiles for two seconds. The time counts until the trace is written.
tests=/usr/src/googletest/googletest # libgtest-dev brings it
compile="g++ -O2 -I$tests -c $tests/src/gtest-death-test.cc -o one.o"
compare "gcc, one file" "plain=$compile" "default=$ours -- $compile" "embedded=$ours --profile embedded -- $compile"
echo "  default over plain: $(calculate "$(column default 2) / $(column plain 2)")"
floor "embedded, gcc over plain" "$(calculate "$(column embedded 2) / $(column plain 2)")" "<=" 1.05

# A larger file, with a smaller share of start and end: printed, without a floor.
compile="g++ -O2 -I$tests -c $tests/src/gtest-all.cc -o one.o"
compare "gcc, a larger file" "plain=$compile" "embedded=$ours --profile embedded -- $compile"
echo "  embedded over plain: $(calculate "$(column embedded 2) / $(column plain 2)")"

# Two dozen short processes, as in a build: printed, without a floor.
compile="gcc -O2 -std=gnu17 -I$bench/../src -DTRACELET_VERSION=\\\"0\\\" -c $bench/../src/read/perf/script.c $bench/../src/write/perfetto/perfetto.c"
compile="bash -c 'cd $scratch && for i in 1 2 3 4; do $compile; done'"
compare "gcc, many short processes" "plain=$compile" "default=$ours -- $compile" \
	"embedded=$ours --profile embedded -- $compile"
for name in default embedded; do
	echo "  $name over plain: $(calculate "$(column $name 2) / $(column plain 2)")"
done

events="sched:sched_switch,sched:sched_waking,irq:irq_handler_entry,irq:irq_handler_exit,irq:softirq_entry"
events+=",irq:softirq_exit,task:task_newtask,task:task_rename,sched:sched_process_exec,sched:sched_process_exit"
events+=",page-faults,syscalls:sys_enter_mmap,syscalls:sys_enter_munmap,syscalls:sys_enter_brk,syscalls:sys_enter_mprotect"
pipe="taskset -c $(($(nproc) - 1)) perf bench sched pipe -l 200000"
# "recording" makes no trace, like perf: printed, without a floor.
compare "sched pipe" "plain=$pipe" "embedded=$ours --profile embedded -- $pipe" \
	"recording=$ours --profile embedded --keep failed -- $pipe" \
	"perf=perf record -q -a -c 1 -o perf.data -e $events -e cpu-clock/freq=249,call-graph=fp/ -- $pipe"
echo "  recording alone, added CPU over perf record -a: $(calculate "$(added recording 3) / $(added perf 3)")"
floor "embedded, sched pipe, added CPU over perf record -a" \
	"$(calculate "$(added embedded 3) / $(added perf 3)")" "<=" 0.5

copy="dd if=/dev/zero of=/dev/null bs=1 count=200000"
compare "dd bs=1" "plain=$copy" "ours=$ours --profile system-calls -- $copy" \
	"trace=perf trace -o perf.txt $copy" "strace=strace -f -o strace.txt $copy"
[ -s perf.txt ] || echo "  perf trace recorded nothing: not a peer in this run"
floor "system-calls, added CPU over perf trace" "$(calculate "$(added ours 3) / $(added trace 3)")" "<=" 0.25
floor "system-calls, added CPU over strace -f" "$(calculate "$(added ours 3) / $(added strace 3)")" "<=" 0.05
finish
