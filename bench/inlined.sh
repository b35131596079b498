#!/usr/bin/env bash
# A perf recording of a program with debug information to folded stacks: plain, with
# inlined functions, and with the lines where functions are declared. perf script
# manages two samples per second here, so it is not measured.
. "$(dirname "$0")/lib.sh"
need_root

awk 'BEGIN {
	for (i = 1; i <= 200000; i++) {
		printf "a %d [000] %d.000000: 1000 cycles:\n", i, i
		printf "\t%x f%d+0x1 (/bin/a)\n\t2 g%d+0x1 (/bin/a)\n\t3 h%d+0x1 (/bin/a)\n\n", i, i % 97, i % 11, i % 7
	}
}' >text
cat >work.sh <<-END
	for i in \$(seq 1 ${LOOPS:-60}); do
		$TRACELET fold text -o /dev/null
		$TRACELET flame text -o x.svg
	done
END
# perf 6.1 often aborts at the end; all samples are in the file by then, which is enough.
perf record -q -F 4999 --call-graph dwarf,4096 -o perf.data -- sh work.sh >/dev/null 2>&1 || true
[ -s perf.data ] || { echo "perf cannot record here"; exit 77; }
samples=$("$TRACELET" top --json --limit 1 perf.data 2>/dev/null | jq .samples)
table=$("$bench/measure.py" "$ROUNDS" \
	"bare=$TRACELET fold --no-inline perf.data -o ours.folded" \
	"inlined=$TRACELET fold perf.data -o ours.folded" \
	"lines=$TRACELET fold --srcline perf.data -o ours.folded")
"$TRACELET" fold perf.data -o ours.folded 2>&1 | sed 's/^/  /'
echo "$samples samples in $(stat -c %s perf.data) bytes, $(grep -c '_\[i\]' ours.folded) stacks with inlined functions: wall s, CPU s, largest kB"
cut -d' ' -f1-4 <<<"$table" | sed 's/^/  /'
floor "samples per second without inlined functions" "$(calculate "$samples / $(column bare 3)")" ">=" 300000
floor "samples per second with inlined functions" "$(calculate "$samples / $(column inlined 3)")" ">=" 100000
floor "samples per second with lines too" "$(calculate "$samples / $(column lines 3)")" ">=" 100000
finish
