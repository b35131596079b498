#!/usr/bin/env bash
# The cost and losses of CPU samples with full stacks, whole machine at 999 Hz, compared with
# `perf record -F 999 -a --call-graph dwarf`: the slowdown of a compiler, samples lost under a
# load of switches, bytes per sample, complete stacks in programs without frame pointers, and
# the time from the end of a recording to its flame graph.
. "$(dirname "$0")/lib.sh"
need_root

ours="$TRACELET run --quiet --sample --scope system --output-dir out"
perf="perf record -q -F 999 -a --call-graph dwarf -o perf.data"
# perf 6.1 sometimes aborts at the end.
with_perf() {
	local try
	for try in 1 2 3; do
		$perf -- "$@" >/dev/null 2>&1 && return
	done
	echo "  perf cannot record this: it aborted"
}
last_line() { # FILTER: of the manifest
	jq -rs "last$1" out/manifest.jsonl
}
perf_lost() {
	{ perf script -i perf.data -F tid --show-lost-events 2>/dev/null || true; } | awk '/PERF_RECORD_LOST/ { lost += $NF } END { print lost + 0 }'
}
perf_samples() {
	{ perf report -i perf.data --stats 2>/dev/null || true; } | awk '$1 == "SAMPLE" { samples = $3 } END { print samples + 0 }'
}

# ---- slowdown ----

. "$bench/compilers.sh"
# By CPU time, which includes the sampling interrupts: other programs may be running on this machine.
cat >compile <<-'END'
	#!/usr/bin/env python3
	import resource, subprocess
	subprocess.run(["sh", "compile.sh"], check=True)
	spent = resource.getrusage(resource.RUSAGE_CHILDREN)
	print((spent.ru_utime + spent.ru_stime) * 1e6, "usecs/op")
END
chmod +x compile
table=$("$bench/measure.py" "$ROUNDS" "plain=./compile" "ours=$ours -- ./compile" "perf=$perf -- ./compile")
echo "a compiler (of $ROUNDS rounds: wall s, CPU s, largest kB, us of CPU of the compiler itself, minimum of that):"
sed 's/^/  /' <<<"$table"
slowdown=$(calculate "$(column ours 5) / $(column plain 5)")
perf_slowdown=$(calculate "$(column perf 5) / $(column plain 5)")
echo "  slowdown: ours $slowdown, perf $perf_slowdown; by minimum $(calculate "$(column ours 6) / $(column plain 6)"), $(calculate "$(column perf 6) / $(column plain 6)")"
floor "slowdown of a compiler" "$slowdown" "<=" 1.03
floor "over perf's" "$(calculate "$slowdown / $perf_slowdown")" "<=" 1

# ---- size ----

$ours --keep-spool -- ./compile >/dev/null
read -r samples bytes copied < <("$bench/sample_bytes.py" out/*.spool)
rm -f out/*.spool
with_perf ./compile
perf_each=$(calculate "$(stat -c %s perf.data) / ($(perf_samples) + 0.001)")
each=$(calculate "$bytes / $samples")
echo "the compiler: $samples samples, $copied with a copied stack, $each bytes each; perf $perf_each"
floor "bytes per sample" "$each" "<=" 300
floor "over perf's" "$(calculate "$each / $perf_each")" "<=" 0.1

# ---- losses ----

load="perf bench sched messaging -g 20 -l 300"
lost=0 perf_lost=0 samples=0 perf_samples=0
for _ in 1 2 3; do
	$ours -- $load >/dev/null
	lost=$((lost + $(last_line .lost.sample)))
	samples=$((samples + $(last_line .samples)))
	with_perf $load
	perf_lost=$((perf_lost + $(perf_lost)))
	perf_samples=$((perf_samples + $(perf_samples)))
done
echo "sched messaging: ours $samples samples, $lost lost; perf $perf_samples samples, $perf_lost lost"
floor "lost samples under sched messaging" "$lost" "<=" 0

# ---- whole stacks ----

# whole NAME PROGRAM
whole() {
	"$TRACELET" run --quiet --sample --output-dir out --name "$1" -- "$2"
	floor "share of complete stacks, $1" "$(calculate "1 - $(last_line .broken_stacks) / $(last_line .samples)")" ">=" 0.98
	perf record -q -F 999 --call-graph dwarf -o perf.data -- "$2" 2>/dev/null || true
	{ "$TRACELET" fold --quiet perf.data 2>/dev/null || true; } | awk '
		{ split($0, frames, ";"); all += $NF }
		frames[2] ~ /^(_start|clone3?|__clone3?|_dl_start.*)$/ { whole += $NF }
		END { printf "  perf: %.4f complete, by the name of the outermost function\n", all ? whole / all : 0 }'
}
gcc -O2 -fomit-frame-pointer -pthread "$bench/stacks/c.c" -o c
g++ -std=c++17 -O2 -fomit-frame-pointer "$bench/stacks/cpp.cpp" -o cpp
whole C ./c
whole C++ ./cpp
if command -v rustc >/dev/null; then
	rustc -O -C force-frame-pointers=no "$bench/stacks/rust.rs" -o rust
	whole Rust ./rust
else
	echo "  rustc is not installed: no Rust"
fi

# ---- the end ----

cat >ten_seconds <<-'END'
	#!/bin/bash
	timeout 10 sh -c 'while :; do sh compile.sh; done'
	date +%s.%N >end
END
chmod +x ten_seconds
$ours -- ./ten_seconds
took=$(calculate "$(date +%s.%N) - $(cat end)")
echo "10 s of a compiler, $(last_line .samples) samples: $took s to $(last_line '.artifacts | map(.size | tostring) | join(" and ")') bytes of .pb and .svg"
floor "seconds from its end to both" "$took" "<=" 1
finish
