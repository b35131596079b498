#!/usr/bin/env bash
# `tracelet why`: time and memory for a million events, all of them on the critical path; and what finding the
# path adds to the end of a run, for a test with threads and for a compiler.
. "$(dirname "$0")/lib.sh"
need_root

"$TRACELET" run --quiet --name pipe --output-dir out -- perf bench sched pipe -l 200000 >/dev/null 2>&1
trace=$(ls out/pipe_*.pb)
events=$("$TRACELET" info --json "$trace" | jq '[.events[]] | add')
table=$("$bench/measure.py" 5 "why=taskset -c 0 $TRACELET why --limit 1 $trace")
echo "$events events: wall s, CPU s, largest kB"
cut -d' ' -f1-4 <<<"$table" | sed 's/^/  /'
floor "CPU seconds for a million events" "$(calculate "$(column why 3) * 1e6 / $events")" "<=" 0.3
floor "resident MB for a million events" "$(calculate "$(column why 4) / 1000 * 1e6 / $events")" "<=" 100

# at_end NAME COMMAND...: the median of the microseconds that runs spent on the path.
at_end() {
	local name=$1 i
	shift
	for ((i = 0; i < ROUNDS; i++)); do
		"$TRACELET" run --verbose --off-cpu --sample --name "$name" --output-dir out -- "$@" 2>&1 |
			sed -n 's/.*finding the critical path took \([0-9]*\) us/\1/p'
	done | sort -n | sed -n "$((ROUNDS / 2 + 1))p"
}

printf '#include <stdio.h>\nint main(void) { return puts("x") < 0; }\n' >small.c
floor "ms at the end of the demo that fails" "$(calculate "$(at_end demo "$bench/../build/demo/fails") / 1000")" "<=" 5
floor "ms at the end of a compiler's run" "$(calculate "$(at_end compiler gcc -O2 -o small small.c) / 1000")" "<=" 5
finish
