#!/usr/bin/env bash
# The size of a trace: bytes per switch or wakeup of `sched messaging`, in the .pb
# and in perf sched's file.
. "$(dirname "$0")/lib.sh"
need_root

"$TRACELET" run --quiet --json summary.json --output-dir out -- perf bench sched messaging -g 10 -l 1000 >/dev/null 2>&1
perf sched record -o perf.data -- perf bench sched messaging -g 10 -l 1000 >/dev/null 2>&1

size=$(jq '.artifacts[0].size' summary.json)
events=$(jq '.events' summary.json)
trace=$(jq -r '.artifacts[0].path' summary.json)
ours=$(calculate "$size / $events")
perf_events=$(perf sched script -i perf.data 2>/dev/null | grep -c 'sched:sched_\(switch\|wak\)' || true)
perf_size=$(calculate "$(stat -c %s perf.data) / ($perf_events + 1)")
gzip -k "$trace"
echo "$events events in $size bytes ($(calculate "$(stat -c %s "$trace.gz") / $events") each with gzip)," \
	"lost: $(jq -c .lost summary.json)"
echo "perf sched: $perf_events switches and wakeups in $(stat -c %s perf.data) bytes"
floor "bytes per event" "$ours" "<=" 10
floor "bytes per event over perf sched's" "$(calculate "$ours / $perf_size")" "<=" 0.2
finish
