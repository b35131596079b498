#!/usr/bin/env bash
# The cost of a trace that records almost nothing: `tracelet run -- true` minus
# `true`, compared with perf's ways to record the machine for one command.
. "$(dirname "$0")/lib.sh"
need_root

plain=() ours=() record=() trace=()
median() {
	jq -r '.results[0].median' "$scratch/result.json"
}
# time_of COMMAND: seconds, the median of ten runs.
time_of() {
	hyperfine -N --warmup 1 --runs "${RUNS:-10}" --export-json result.json "$1" >/dev/null 2>&1
	median
}
middle() {
	printf '%s\n' "$@" | sort -g | awk '{ v[NR] = $1 } END { print v[int((NR + 1) / 2)] }'
}

for ((round = 0; round < ROUNDS; round++)); do
	plain+=("$(time_of true)")
	ours+=("$(time_of "$TRACELET run --quiet -- true")")
	record+=("$(RUNS=3 time_of "perf record -o perf.data -a -- true")")
	trace+=("$(RUNS=3 time_of "perf trace -o perf.txt -a -- true")")
	rm -rf tracelet-out
done
base=$(middle "${plain[@]}")
mine=$(calculate "($(middle "${ours[@]}") - $base) * 1000")
perf_record=$(calculate "($(middle "${record[@]}") - $base) * 1000")
perf_trace=$(calculate "($(middle "${trace[@]}") - $base) * 1000")
echo "added to plain 'true': tracelet run $mine ms, perf record -a $perf_record ms, perf trace -a $perf_trace ms"
echo "tracelet by round (ms):$(for value in "${ours[@]}"; do printf ' %s' "$(calculate "$value * 1000")"; done)"

floor "fixed cost in ms" "$mine" "<=" 40
floor "fixed cost over perf record -a" "$(calculate "$mine / $perf_record")" "<=" 0.1
floor "fixed cost over perf trace -a" "$(calculate "$mine / $perf_trace")" "<=" 0.3333
finish
