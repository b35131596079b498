#!/usr/bin/env bash
# perf's recordings with copied stacks to folded stacks, against perf script on the
# same file: samples a second of CPU time, unwinding and names of functions included.
. "$(dirname "$0")/lib.sh"
need_root

. "$bench/compilers.sh"
record_compilers -F 999 --call-graph dwarf
samples=$("$TRACELET" top --json --all-events --limit 1 perf.data 2>/dev/null | jq .samples)
table=$("$bench/measure.py" 3 \
	"ours=$TRACELET fold --all-events perf.data -o ours.folded" \
	"perf=sh -c 'perf script --no-inline -i perf.data >perf.txt 2>/dev/null'")
"$TRACELET" fold --all-events --quiet perf.data -o ours.folded 2>&1 | sed 's/^/  /'
echo "$samples samples in $(stat -c %s perf.data) bytes: wall s, CPU s, largest kB"
cut -d' ' -f1-4 <<<"$table" | sed 's/^/  /'
echo "perf script: $(calculate "$samples / $(column perf 3)") samples a second"
floor "samples a second" "$(calculate "$samples / $(column ours 3)")" ">=" 300000
floor "times as fast as perf script" "$(calculate "$(column perf 3) / $(column ours 3)")" ">=" 10

# A program with debug information: with inlined functions, and with the lines of all functions. perf
# itself manages two samples a second there, so it is not asked.
for number in $(seq 1 60000); do
	echo "a $number [000] $number.000000: 1000 cycles:"
	printf '\t%x function_%d+0x1 (/bin/a)\n' "$number" $((number % 97)) 2 $((number % 11)) 3 $((number % 7))
	echo
done >text
for try in 1 2 3; do
	# It may abort at its end: what it has written is enough.
	perf record -q -F 4999 --call-graph dwarf,4096 -o debug.data -- \
		sh -c "for i in \$(seq 1 60); do '$TRACELET' fold text -o /dev/null; '$TRACELET' flame text -o x.svg; done" \
		>/dev/null 2>&1 && break
done
samples=$("$TRACELET" top --json --limit 1 debug.data 2>/dev/null | jq .samples)
table=$("$bench/measure.py" 5 \
	"bare=$TRACELET fold --no-inline debug.data -o ours.folded" \
	"inlined=$TRACELET fold debug.data -o ours.folded" \
	"lines=$TRACELET fold --srcline debug.data -o ours.folded")
echo "$samples samples of a program with debug information: wall s, CPU s, largest kB"
cut -d' ' -f1-4 <<<"$table" | sed 's/^/  /'
floor "samples a second without inlined functions" "$(calculate "$samples / $(column bare 3)")" ">=" 300000
floor "samples a second with inlined functions" "$(calculate "$samples / $(column inlined 3)")" ">=" 100000
floor "samples a second with lines too" "$(calculate "$samples / $(column lines 3)")" ">=" 100000
finish
