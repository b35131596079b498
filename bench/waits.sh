#!/usr/bin/env bash
# The cost of the stacks of waits: a program that does nothing but switch (`sched pipe`), and a compiler.
# By default only long waits have stacks; with --waits all have.
. "$(dirname "$0")/lib.sh"
need_root

last=$(($(nproc) - 1))
pipe="taskset -c $last perf bench sched pipe -l 100000"
table=$("$bench/measure.py" "$ROUNDS" \
	"plain=$pipe" \
	"none=$TRACELET run --quiet --waits=no --output-dir out -- $pipe" \
	"long=$TRACELET run --quiet --output-dir out -- $pipe" \
	"all=$TRACELET run --quiet --waits --output-dir out -- $pipe")
echo "sched pipe (median of $ROUNDS: wall s, CPU s, largest kB, us/op):"
sed 's/^/  /' <<<"$table"
floor "sched pipe: long waits over none" "$(calculate "$(column long 5) / $(column none 5)")" "<=" 1.02
floor "sched pipe: all waits over plain" "$(calculate "$(column all 5) / $(column plain 5)")" "<=" 1.35

# Many functions, so that a compiler has work.
for ((i = 0; i < 800; i++)); do
	echo "int f$i(int a, int b) { for (int i = 0; i < b; i++) a = a * 31 + (a >> (i & 7)) + $i; return a; }"
done >work.c
compile="cc -O2 -c -o work.o work.c"
table=$("$bench/measure.py" "$ROUNDS" \
	"none=$TRACELET run --quiet --waits=no --output-dir out -- $compile" \
	"long=$TRACELET run --quiet --output-dir out -- $compile" \
	"all=$TRACELET run --quiet --waits --output-dir out -- $compile")
echo "a compiler (median of $ROUNDS: wall s, CPU s, largest kB):"
cut -d' ' -f1-4 <<<"$table" | sed 's/^/  /'
floor "a compiler, CPU time: long waits over none" "$(calculate "$(column long 3) / $(column none 3)")" "<=" 1.02
floor "a compiler, CPU time: all waits over none" "$(calculate "$(column all 3) / $(column none 3)")" "<=" 1.02

"$TRACELET" run --quiet --waits=no --name none --output-dir size -- $compile
"$TRACELET" run --quiet --name long --output-dir size -- $compile
echo "trace of the compiler: $(stat -c %s size/none_*.pb) bytes without stacks, $(stat -c %s size/long_*.pb) with those of long waits"
finish
