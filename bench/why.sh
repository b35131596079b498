#!/usr/bin/env bash
# `tracelet why`: time and memory for a million events, all of them on the critical path; what finding the path and
# comparing it with earlier runs adds to the end of a run, for a test with threads that fails, in a folder with many
# sessions, and for a compiler; and how large digests are.
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

# at_end NAME COMMAND...: the median of the microseconds that runs spent on the path and on earlier runs.
at_end() {
	local name=$1 i
	shift
	for ((i = 0; i < ROUNDS; i++)); do
		"$TRACELET" run --verbose --off-cpu --sample --name "$name" --output-dir out -- "$@" 2>&1 |
			sed -n 's/.*\(critical path\|earlier runs\) took \([0-9]*\) us/\2/p' | awk '{ sum += $1 } END { print sum }'
	done | sort -n | sed -n "$((ROUNDS / 2 + 1))p"
}

# Eight runs of the demo that passed, and sessions of other tests: more than is looked at.
"$TRACELET" run --quiet --off-cpu --sample --name demo --output-dir out -- "$bench/../build/demo/fails" >/dev/null || true
for ((i = 0; i < 8; i++)); do
	tail -n 1 out/manifest.jsonl | jq -c --arg session "pass$i" '.result = "passed" | .status = "passed" | .session = $session | .artifacts = []'
done >passes
for ((i = 0; i < 2000; i++)); do
	[ $((i % 250)) != 0 ] || sed -n "$((i / 250 + 1))p" passes
	tail -n 1 out/manifest.jsonl | sed "s/\"test\":\"demo\"/\"test\":\"other$i\"/; s/\"session\":\"/&$i/"
done >many
cat many >>out/manifest.jsonl
echo "a manifest of $(stat -c %s out/manifest.jsonl) bytes"

printf '#include <stdio.h>\nint main(void) { return puts("x") < 0; }\n' >small.c
floor "ms at the end of the demo that fails" "$(calculate "$(at_end demo "$bench/../build/demo/fails") / 1000")" "<=" 5
floor "ms at the end of a compiler's run" "$(calculate "$(at_end compiler gcc -O2 -o small small.c) / 1000")" "<=" 5
floor "bytes of the largest digest" "$(tail -n "$((2 * ROUNDS))" out/manifest.jsonl | jq -c .time_digest | awk '{ if (length > most) most = length } END { print most }')" "<=" 4096
finish
