#!/bin/bash
# Counting with a real PMU, that of an emulated arm64 machine in which each instruction takes one nanosecond: known loops
# have exactly the instructions they have. pmu_init tells what runs there.
set -uo pipefail
here=$(cd -- "$(dirname -- "$0")" && pwd)
# shellcheck source=tests/guest/expect.sh
. "$here/expect.sh"

for program in qemu-system-aarch64 busybox jq; do
	command -v "$program" >/dev/null || skip "no $program"
done
kernel=$("$here/arm64" kernel) || exit $?
root=$work/root
"$here/arm64" program "$root" || exit $?
aarch64-linux-gnu-gcc -static -O2 "$here/loop.c" -o "$root/bin/loop"
expect 'the guest is made' 0 $?
install -m 755 "$here/pmu_init" "$root/init"
mkdir "$root/dev"
(cd "$root" && find . | busybox cpio -o -H newc 2>/dev/null) >"$work/initramfs"
# A loaded machine takes minutes for what an idle one does in ten seconds.
timeout 500 qemu-system-aarch64 -M virt -cpu max,pmu=on -accel tcg -icount shift=0 -smp 2 -m 512 -nodefaults -display none \
	-no-reboot -serial "file:$work/console" -kernel "$kernel" -initrd "$work/initramfs" \
	-append 'console=ttyAMA0 quiet panic=-1 cryptomgr.notests'
expect 'the guest ends' 0 $?
mkdir "$work/out"
tr -d '\r' <"$work/console" | sed -n '/^--- out$/,/^--- end$/p' | grep -v '^---' | base64 -d | tar xz -C "$work/out"
expect 'its results are there' 0 $?
cd "$work/out" || exit 1
expect 'nothing is complained of' '' "$(cat warnings.txt)"

# ---- stat ----

counter='.core.overall.Systemwide_Overall_Performance_Counters'
values() { jq -s "[.[] | $counter[0].counter_value] | $1" "$2"-*.json; }
one=$(values min one) two=$(values min two)
expect 'a loop of a million rounds has two million instructions' true "$(jq -n "$one >= 2000000 and $one < 2100000")"
expect 'it has exactly as many each time, but for turns of the other CPU' true "$(values "map(select(. == $one)) | length > 1" one)"
expect 'a million rounds more: two million more, exactly' 2000000 $((two - one))
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
expect 'nearly all of them in the loop' true "$(jq -n "$(awk '$5 == "main" { print $1 + 0 }' user.txt) >= 80")"
finish
