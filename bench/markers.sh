#!/usr/bin/env bash
# The cost of a mark for the test: nanoseconds per call, traced and untraced, compared
# with other ways to get a mark into a trace: write() to ftrace's trace_marker (or to a
# file where there is none), and LTTng-UST with a tracepoint of one string.
. "$(dirname "$0")/lib.sh"

lttng=
type -P lttng-sessiond >/dev/null && echo "#include <lttng/tracepoint.h>" | cc -E - >/dev/null 2>&1 && lttng=yes
cc -O2 ${lttng:+-DWITH_LTTNG} -I "$bench/../include" -I "$bench" "$bench/markers.c" -o markers \
	${lttng:+-llttng-ust -llttng-ust-common -ldl}
cc -O2 -I "$bench/../include" "$bench/markers.c" -o alone # nothing but the header

target=written
if [ -w /sys/kernel/tracing/trace_marker ]; then
	target=/sys/kernel/tracing/trace_marker
fi

start_lttng() {
	export LTTNG_HOME=$scratch/lttng LTTNG_UST_REGISTER_TIMEOUT=2000
	mkdir "$LTTNG_HOME"
	lttng-sessiond --daemonize --no-kernel &&
		lttng create bench --output "$scratch/lttng/trace" && lttng enable-event -u 'bench:mark' && lttng start
}
stop_lttng() {
	lttng destroy >/dev/null 2>&1
	kill "$(cat "$LTTNG_HOME/.lttng/lttng-sessiond.pid" /run/lttng/lttng-sessiond.pid 2>/dev/null | head -n 1)" 2>/dev/null || true
}
if [ "$lttng" ] && ! start_lttng >lttng.log 2>&1; then
	echo "LTTng does not start: $(tail -n 1 lttng.log)"
	lttng=
fi

traced() { # WAY: the mark as a test under `tracelet run` pays for it; no mark may be lost
	"$TRACELET" run --quiet --json summary.json -- ./alone "$1"
	lost=$((lost + $(jq .lost.marker summary.json)))
	rm -rf tracelet-out
}
middle() {
	printf '%s\n' "$@" | sort -g | awk '{ v[NR] = $1 } END { print v[int((NR + 1) / 2)] }'
}

lost=0
ours=() slices=() counters=() untraced=() empty=() written=() peer=()
for ((round = 0; round < ROUNDS; round++)); do
	ours+=("$(traced ours)")
	slices+=("$(traced slices)")
	counters+=("$(traced counters)")
	untraced+=("$(./alone ours)")
	empty+=("$(./alone empty)")
	written+=("$(./alone write $target)")
	[ -z "$lttng" ] || peer+=("$(./markers lttng)")
	rm -f written
done
traced ours >/dev/null
[ -z "$lttng" ] || stop_lttng

ours=$(middle "${ours[@]}") written=$(middle "${written[@]}")
untraced=$(calculate "$(middle "${untraced[@]}") - $(middle "${empty[@]}")")
echo "ns per call, traced: mark $ours, slice begin or end $(middle "${slices[@]}"), counter $(middle "${counters[@]}"); untraced: $untraced"
echo "ns per call, peers: write() to ${target##*/} $written${lttng:+, LTTng-UST $(middle "${peer[@]}")}"

floor "a traced mark in ns" "$ours" "<=" 100
floor "an untraced mark in ns" "$untraced" "<=" 2
floor "marks lost" "$lost" "==" 0
floor "a mark over write()" "$(calculate "$ours / $written")" "<=" 0.5
[ -z "$lttng" ] || floor "a mark over LTTng-UST" "$(calculate "$ours / $(middle "${peer[@]}")")" "<=" 1
finish
