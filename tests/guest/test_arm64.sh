#!/bin/bash
# arm64: our agent, built for it, in a throw-away guest with Debian's kernel; and its PMU, on an emulated machine in
# which each instruction takes one nanosecond: known loops execute exactly their number of instructions. in_arm64 runs in
# the guest. One boot for everything, because it takes ten seconds.
set -uo pipefail
here=$(cd -- "$(dirname -- "$0")" && pwd)
# shellcheck source=tests/guest/expect.sh
. "$here/expect.sh"
tracelet=${TRACELET:-$here/../../build/tracelet}
TRACELET=$tracelet
need_vm
[ -n "${LONG:-}" ] || skip 'takes two minutes, most of it to compile: make test-long, or make test-guest LONG=1'
command -v qemu-system-aarch64 >/dev/null || skip 'no qemu-system-aarch64 (Debian package qemu-system-arm)'
cache=${TRACELET_CACHE:-${XDG_CACHE_HOME:-${HOME:-/tmp}/.cache}/tracelet}
kernel=$("$here/kernel" linux-image-cloud-arm64 arm64) || exit $?
"$here/../../tools/fetch-packages" arm64 "$cache/arm64-busybox" busybox-static || exit $?
agent=${TRACELET_AGENT_ARM64:-$("$here/../../tools/agent-arm64" "$here/../../build-arm64")} || exit $?
expect 'the agent is small' yes "$([ "$(stat -c %s "$agent")" -le 6000000 ] && echo yes)"

cd "$work" || exit 1
mkdir -p root/bin out
cp "$cache/arm64-busybox/bin/busybox" root/bin/
for word in sh sleep taskset tar mkdir; do
	ln -s busybox "root/bin/$word"
done
ln -s /tracelet/tracelet-agent root/bin/tracelet # they are the same program
cp "$here/in_arm64" root/bin/
aarch64-linux-gnu-gcc -static -O2 "$here/loop.c" -o root/bin/loop
expect 'the loop is made' 0 $?
# A loaded machine needs minutes for what takes ten seconds on an idle one.
timeout 500 "$TRACELET" vm run --arch arm64 --agent "$agent" --kernel "$kernel" --cpus 2 --qemu '-icount shift=0' \
	--boot-timeout 400 --rootfs root --name guest -- in_arm64 >out.tar 2>guest.err </dev/null
expect 'the exit status is that of the test' 5 $?
cat guest.err # shown if the test fails
tar x -C out -f out.tar
expect 'its output is whole' 0 $?

# ---- its trace ----

trace=$("$TRACELET" artifact guest)
expect 'check' 0 "$("$TRACELET" check "$trace" >&2 && echo 0)"
expect 'the machine' aarch64 "$("$TRACELET" info "$trace" | sed -n 's/^machine  *//p')"
expect 'recorded by BPF, nothing missing' 'bpf|0' \
	"$(jq -r 'select(.kind == "test") | "\(.backend)|\([.lost[]] | add // 0)"' tracelet-out/manifest.jsonl)"
expect 'it has landed' 0 "$("$TRACELET" check --quiet --landed tracelet-out --name guest && echo 0)"
if "$here/../perfetto/setup" >/dev/null 2>&1; then
	expect "Perfetto's importer takes it" 0 "$("$here/../perfetto/tp" --health "$trace" >&2 && echo 0)"
	expect 'with the children of the test' 'sleep 0.1|sleep 0.2' "$("$here/../perfetto/tp" "$trace" "
		select child.cmdline from process child join process parent on child.parent_upid = parent.upid
		where parent.cmdline glob '*in_arm64' and child.cmdline glob 'sleep*' order by child.cmdline" | paste -sd '|')"
fi
cd out || exit 1
expect 'nothing is complained of' '' "$(cat warnings.txt)"

# ---- stat ----

counter='.core.overall.Systemwide_Overall_Performance_Counters'
values() { jq -s "[.[] | $counter[0].counter_value] | $1" "$2"-*.json; }
one=$(values min one) two=$(values min two)
expect 'a loop of 250,000 rounds has 500,000 instructions' true "$(jq -n "$one >= 500000 and $one < 600000")"
expect 'it has exactly as many each time, but for turns of the other CPU' true "$(values "map(select(. == $one)) | length > 1" one)"
expect '250,000 rounds more: 500,000 more, exactly' 500000 $((two - one))
expect 'a group and the other names for it count the same' true \
	"$(jq "[$counter[].counter_value] | (max - min) < 100000 and min >= 2000000 and length == 4" group.json)"
expect 'more events than counters: they take turns, and it shows' true "$(jq .core.Multiplexing many.json)"
expect 'the scaled values are right within a fifth' true \
	"$(jq "[$counter[].scaled_value] | length == 12 and min > 0.8 * 80000000 and max < 1.2 * 80000000" many.json)"
core() { jq "[.core.cores[] | select(.core_number == $1).Performance_counter[0].counter_value][0]" cores.json; }
expect 'on CPU 0 its own loop' true "$(jq -n "$(core 0) >= 2000000")"
expect 'on CPU 1 its own, which is longer' true "$(jq -n "$(core 1) >= 4000000")"
expect 'together all' true "$(jq "$counter[0].counter_value >= 6000000" cores.json)"
expect 'an assertion that does not hold' 3 "$(tail -n 1 assert.txt)"
expect 'an instruction takes a cycle here' 1 "$(awk '$2 == "ipc" { print $1 }' metric.txt | cut -d . -f 1)"

# ---- in the trace ----

trace=$(ls tracks_*.pb)
total() { "$TRACELET" table "$trace" pmu --json | jq "[.[] | select(.event == \"$1\" and .of == \"$2\").value] | add"; }
instructions=$(total instructions:u test)
expect 'the trace is good' 0 "$("$TRACELET" check "$trace" >&2 && echo 0)"
expect 'the test has the instructions of its loop' true "$(jq -n "$instructions >= 20000000 and $instructions < 20500000")"
expect 'the cores have them, too' true "$(jq -n "$(total instructions:u core) >= $instructions")"
expect 'and slices have all of them' "${instructions%.*}" \
	"$("$TRACELET" dump "$trace" | sed -n 's/.* pmu\/slice instructions:u=\([0-9]*\).*/\1/p' | jq -s add)"
if "$here/../perfetto/setup" >/dev/null 2>&1; then
	expect "Perfetto's importer sums up the same" "${instructions%.*}" "$("$here/../perfetto/tp" --health "$trace" \
		"select cast(max(value) as int) from counter join counter_track on counter.track_id = counter_track.id where name = 'instructions:u test'")"
fi

# ---- samples ----

"$TRACELET" top user_*.pb >user.txt
expect 'a sample for each five million instructions' true \
	"$(jq -n "$(sed -n 's/^\([0-9]*\) samples of instructions:u.*/\1/p' user.txt) | . >= 9 and . <= 11")"
expect 'nearly all of them in the loop' true "$(jq -n "$(awk '$6 == "main" { print $1 + 0 }' user.txt) >= 80")"
expect 'overflows that were not delivered are told' 1 "$(grep -c 'samples.* of about .*some counter overflows were not delivered' short.txt)"
expect 'in the manifest, too' true "$(jq -s 'map(select(.test == "short"))[0].samples_short | .delivered < .expected' manifest.jsonl)"
finish
