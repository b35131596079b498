#!/usr/bin/env bash
# Folded stacks to a flame graph: MB per second on one core, for 16 MB of stacks of
# running compilers, separate for each process.
. "$(dirname "$0")/lib.sh"
need_root

. "$bench/compilers.sh"
record_compilers -F 4999 -g
"$TRACELET" fold --quiet perf.data >one.folded
for ((i = 0; $(stat -c %s stacks.folded 2>/dev/null || echo 0) < 16000000; i++)); do
	sed "s/^/process-$i;/" one.folded >>stacks.folded
done
peers=()
for peer in flamegraph.pl inferno-flamegraph; do
	if command -v "$peer" >/dev/null; then
		peers+=("$peer=taskset -c 0 sh -c '$peer stacks.folded >peer.svg'")
	else
		echo "$peer is not installed"
	fi
done
table=$("$bench/measure.py" 7 \
	"ours=taskset -c 0 $TRACELET flame stacks.folded -o ours.svg" \
	"page=taskset -c 0 $TRACELET flame stacks.folded -o ours.html" "${peers[@]}")
bytes=$(stat -c %s stacks.folded)
echo "$(wc -l <stacks.folded) stacks, $bytes bytes, a picture of $(stat -c %s ours.svg): wall s, CPU s, largest kB"
cut -d' ' -f1-4 <<<"$table" | sed 's/^/  /'
for peer in flamegraph.pl inferno-flamegraph; do
	cpu=$(column "$peer" 3)
	[ -z "$cpu" ] || echo "$peer: $(calculate "$bytes / 1e6 / $cpu") MB/s"
done
floor "MB per second" "$(calculate "$bytes / 1e6 / $(column ours 3)")" ">=" 200
finish
