#!/usr/bin/env bash
# perf script's text to folded stacks: MB per second on one core, and memory, for a
# recording of running compilers, repeated until it is large. Peers are measured in
# the same run if they are installed: stackcollapse-perf.pl and inferno are not
# packaged by Debian (published numbers: 18 and 136 MB/s).
. "$(dirname "$0")/lib.sh"
need_root

. "$bench/compilers.sh"
record_compilers -F 4999 -g
perf script --no-inline -i perf.data >one.txt 2>/dev/null
for size in 10 120; do
	while [ "$(stat -c %s "$size.txt" 2>/dev/null || echo 0)" -lt $((size * 1000000)) ]; do
		cat one.txt >>"$size.txt"
	done
done
peers=()
for peer in stackcollapse-perf.pl inferno-collapse-perf; do
	if command -v "$peer" >/dev/null; then
		peers+=("$peer=taskset -c 0 sh -c '$peer 10.txt >/dev/null'")
	else
		echo "$peer is not installed"
	fi
done
table=$("$bench/measure.py" 5 \
	"ours=taskset -c 0 $TRACELET fold 120.txt -o ours.folded" \
	"small=taskset -c 0 $TRACELET fold 10.txt -o small.folded" "${peers[@]}")
bytes=$(stat -c %s 120.txt)
echo "$(wc -l <ours.folded) stacks from $bytes bytes: wall s, CPU s, largest kB"
cut -d' ' -f1-4 <<<"$table" | sed 's/^/  /'
for peer in stackcollapse-perf.pl inferno-collapse-perf; do
	cpu=$(column "$peer" 3)
	[ -z "$cpu" ] || echo "$peer: $(calculate "$(stat -c %s 10.txt) / 1e6 / $cpu") MB/s"
done
floor "MB per second" "$(calculate "$bytes / 1e6 / $(column ours 3)")" ">=" 400
floor "memory for 120 MB over memory for 10 MB" "$(calculate "$(column ours 4) / $(column small 4)")" "<=" 1.1
finish
