#!/usr/bin/env bash
# perf recordings with copied stacks to folded stacks, compared with perf script on the
# same file: samples per second of CPU time, including unwinding and function names.
#
# The floor depends on the CPU: on a quiet machine perf script made 22,000 samples a second and we 134,000 (114,000 with inlined
# functions), 7.5 us each; two of three had 8 kB of stack, 975 MB in all. Another machine made 277,000.
. "$(dirname "$0")/lib.sh"
need_root

. "$bench/compilers.sh"
record_compilers -F 9999 --call-graph dwarf # enough for files and tables, which are read once, not to count
samples=$("$TRACELET" top --json --all-events --limit 1 perf.data 2>/dev/null | jq .samples)
table=$("$bench/measure.py" 3 \
	"ours=$TRACELET fold --all-events --no-inline perf.data -o ours.folded" \
	"inlined=$TRACELET fold --all-events perf.data -o ours.folded" \
	"perf=sh -c 'perf script --no-inline -i perf.data >perf.txt 2>/dev/null'")
"$TRACELET" fold --all-events --quiet perf.data -o ours.folded 2>&1 | sed 's/^/  /'
echo "$samples samples in $(stat -c %s perf.data) bytes: wall s, CPU s, largest kB"
cut -d' ' -f1-4 <<<"$table" | sed 's/^/  /'
echo "perf script: $(calculate "$samples / $(column perf 3)") samples per second"
floor "samples per second" "$(calculate "$samples / $(column ours 3)")" ">=" 300000
floor "samples per second with inlined functions" "$(calculate "$samples / $(column inlined 3)")" ">=" 100000
floor "times as fast as perf script" "$(calculate "$(column perf 3) / $(column ours 3)")" ">=" 10
finish
