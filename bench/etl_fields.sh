#!/usr/bin/env bash
# ETL files: the share of events without field names in the real files of the corpus, by provider and event, and events
# that are decoded with bytes left over. Also the time of `info` on a real recording of 43 MB.
. "$(dirname "$0")/lib.sh"
corpus=${TRACELET_CORPUS:-$bench/../../shared/corpus}
tools=$(dirname "$TRACELET")/bench
[ -d "$corpus/etl" ] || { echo "skipped: no corpus in $corpus"; exit 77; }
zstd -dqc "$corpus/etl-wpr/TraceLoggingTester.etl.zst" >recording.etl

"$tools/etl_fields" "$corpus"/etl/*.etl recording.etl >fields
echo "without names, or inexact; the most frequent ones:"
grep inexact fields | sort -rn | head -20
read -r events unnamed inexact <<<"$(tail -1 fields)"
echo "events: $events, without field names: $unnamed, described in the file with bytes left over: $inexact"
floor "events without field names, percent" "$(calculate "100 * $unnamed / $events")" "<=" 3
# The files of sawbuck are from a test program, which writes other bytes than Windows.
find "$corpus/etl" -name '*.etl' ! -name 'sawbuck*' -exec "$tools/etl_fields" {} + >real
"$tools/etl_fields" recording.etl >>real
floor "kinds of events with bytes left over by a built-in layout" "$(grep -vE ' 0 inexact|event/' real | grep -c inexact || true)" "<=" 0
# Those that the file itself describes, too.
floor "events with bytes left over, whatever describes them" "$(awk '/inexact/ { left += $4 } END { print left + 0 }' real)" "<=" 0

table=$("$bench/measure.py" 5 "info=taskset -c 0 $TRACELET info recording.etl")
floor "info on 43 MB, CPU seconds" "$(column info 3)" "<=" 0.3
finish
