#!/usr/bin/env bash
# From spool to trace: events per second on one core, memory, and whether the
# time grows in proportion to the input.
. "$(dirname "$0")/lib.sh"
need_root
repeat=${REPEAT_SPOOL:-$(dirname "$TRACELET")/bench/repeat_spool}

"$TRACELET" run --quiet --keep-spool --name seed --output-dir out -- perf bench sched messaging -g 10 -l 1000 >/dev/null 2>&1
seed=$(ls out/seed_*.spool)
for size in 10 100 1000; do
	"$repeat" "$seed" "$size.spool" $((size * 1000000)) >"$size.events"
done
table=$("$bench/measure.py" 3 \
	"10=taskset -c 0 $TRACELET convert --quiet 10.spool 10.pb" \
	"100=taskset -c 0 $TRACELET convert --quiet 100.spool 100.pb" \
	"1000=taskset -c 0 $TRACELET convert --quiet 1000.spool 1000.pb")
echo "MB of spool: wall s, CPU s, largest kB"
cut -d' ' -f1-4 <<<"$table" | sed 's/^/  /'
"$TRACELET" check 1000.pb
events=$(cat 1000.events)
floor "million events a second" "$(calculate "$events / 1e6 / $(column 1000 3)")" ">=" 3
floor "resident MB for 1 GB" "$(calculate "$(column 1000 4) / 1000")" "<=" 64
floor "time of 1 GB over ten times that of 100 MB" "$(calculate "$(column 1000 3) / $(column 100 3) / 10")" "<=" 1.2
finish
