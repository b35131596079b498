#!/usr/bin/env bash
# A trace as input: events per second on one core, memory, and whether the time
# grows in proportion to the input. Folding a trace without samples only reads it.
. "$(dirname "$0")/lib.sh"
need_root
repeat=${REPEAT_SPOOL:-$(dirname "$TRACELET")/bench/repeat_spool}

"$TRACELET" run --quiet --keep-spool --name seed --output-dir out -- perf bench sched messaging -g 10 -l 1000 >/dev/null 2>&1
seed=$(ls out/seed_*.spool)
for size in 100 1000; do
	"$repeat" "$seed" "$size.spool" $((size * 1000000)) >"$size.events"
	"$TRACELET" convert --quiet "$size.spool" "$size.pb"
	rm "$size.spool"
done
table=$("$bench/measure.py" 3 \
	"read-100=taskset -c 0 $TRACELET fold --quiet 100.pb -o 100.folded" \
	"read-1000=taskset -c 0 $TRACELET fold --quiet 1000.pb -o 1000.folded" \
	"again-1000=taskset -c 0 $TRACELET convert --quiet 1000.pb again.pb")
echo "$(stat -c %s 1000.pb) bytes: wall s, CPU s, largest kB"
cut -d' ' -f1-4 <<<"$table" | sed 's/^/  /'
"$TRACELET" check again.pb
events=$(cat 1000.events)
floor "million events per second, read" "$(calculate "$events / 1e6 / $(column read-1000 3)")" ">=" 3
floor "million events per second, read and written" "$(calculate "$events / 1e6 / $(column again-1000 3)")" ">=" 2
floor "resident MB for $((events / 1000000)) million events" "$(calculate "$(column read-1000 4) / 1000")" "<=" 64
floor "time of ten times as much over ten times the time" "$(calculate "$(column read-1000 3) / $(column read-100 3) / 10")" "<=" 1.2
finish
