#!/bin/bash
# `tracelet vm run`: throw-away guests as users boot them. Each boot takes seconds under emulation, so
# few guests answer many questions, and several boot at once.
set -uo pipefail

here=$(cd -- "$(dirname -- "$0")" && pwd)
. "$here/expect.sh"
tracelet=${TRACELET:-$here/../../build/tracelet}
need_vm
kernel=$("$here/kernel" linux-image-cloud-amd64 2>"$work/log") || skip "$(cat "$work/log")"
busybox=$(command -v busybox)
cd "$work" || exit 1
mkdir tmp
export TMPDIR=$work/tmp

# vm NAME OPTION… -- COMMAND…: leaves NAME.status, NAME.out, NAME.err; artifacts are in tracelet-out.
vm() {
	local name=$1 status=0
	shift
	timeout --kill-after=5 300 "$tracelet" vm run --kernel "$kernel" --boot-timeout 200 --name "$name" "$@" \
		>"$name.out" 2>"$name.err" <"${input:-/dev/null}" || status=$?
	echo $status >"$name.status"
}

expect_match() { # WHAT REGEX FILE
	grep -Eq -e "$2" "$3" && return
	echo "$1: no line matches '$2' in $3:" >&2
	head -n 20 "$3" >&2
	failures=$((failures + 1))
}

# Five at once: one whose test fails, traced from outside as well; one that panics; one whose test hangs; one with
# its own root, whose test runs twice; one with a chosen machine and environment, which Ctrl-C ends after everything
# else.
printf 'from the host\n' >data
"$tracelet" run --quiet --output-dir outside --name emulator -- "$tracelet" vm run --kernel "$kernel" --boot-timeout 200 --name fails \
	--variant kernel=6.1 --add "$busybox=/bin/busybox" --add data=/data -- \
	sh -c 'busybox cat /data; busybox sleep 0.2 & busybox sleep 0.1; wait; echo wrong >&2; exit 3' \
	>fails.out 2>fails.err </dev/null &
first=$!
printf '#!/bin/sh\necho before\nread -r line\necho c >/proc/sysrq-trigger\necho after\n' >panics
chmod +x panics
mkfifo told
exec 9<>told
input=told vm panics -- ./panics & # somewhere below /tmp, which the guest has as well
second=$!
vm hangs --timeout 2 --grace 1 -- sh -c 'trap "" TERM; while :; do :; done' &
third=$!
mkdir -p root/bin
cp "$busybox" root/bin/busybox
ln -s busybox root/bin/sh
printf '#!/bin/sh\necho "run $(busybox ls /tmp/count 2>/dev/null | busybox wc -l)"\nbusybox touch /tmp/count\nexit 7\n' >root/bin/mine
chmod +x root/bin/mine
vm rooted --rootfs root --repro -- mine &
fourth=$!
# 5 MB go in and come back, 50 MB come out; then it prints what it sees, and waits. The program next to the data has
# its own libraries.
mkdir mine
cp "$(command -v jq)" mine/query
echo '{"key": "value"}' >mine/data
head -c 5000000 /dev/urandom >big
cat >./sees <<-'END'
	#!/usr/bin/env sh
	cat -
	seq 6900000
	exec >&2
	echo "in $(pwd)"
	echo "has $(mine/query -r .key mine/data)"
	echo "variables $FIRST|$SECOND|$THIRD"
	grep -c ^processor /proc/cpuinfo
	grep -o tracelet.mine=1 /proc/cmdline
	grep MemTotal /proc/meminfo
	sleep 1000
END
chmod +x sees
export SECOND='two words' THIRD=3
python3 "$here/on_terminal.py" "$tracelet" vm run --quiet --kernel "$kernel" --boot-timeout 200 --name sees --mem 640M --cpus 2 \
	--append tracelet.mine=1 --env FIRST=1 --env SECOND --add mine --add "$(command -v cat)=/bin/cat" \
	--add "$(command -v grep)=/bin/grep" --add "$(command -v sleep)=/bin/sleep" \
	--add "$(command -v seq)=/bin/seq" -- ./sees >sees.out 2>sees.err <big &
fifth=$!
# It panics only after its output has arrived here.
until grep -q before panics.out 2>/dev/null || ! kill -0 $second 2>/dev/null; do sleep 0.1; done
echo >&9
status=0
wait $first || status=$?
wait $second $third $fourth
until grep -q MemTotal sees.err || ! kill -0 $fifth 2>/dev/null; do sleep 0.1; done
kill -USR1 $fifth # it types Ctrl-C
status_of_fifth=0
wait $fifth || status_of_fifth=$?

expect 'the exit status is that of the test' 3 $status
expect 'its output comes out here' 'from the host' "$(cat fails.out)"
expect_match 'and its standard error' '^wrong$' fails.err
trace=$("$tracelet" artifact --variant kernel=6.1 fails)
expect 'the trace is named after the variant' 1 "$(ls "$trace" | grep -c 'tracelet-out/fails-[0-9a-f]\{16\}_.*\.pb$')"
"$tracelet" check --quiet "$trace" || expect 'a good trace' 0 $?
"$tracelet" check --quiet --landed tracelet-out --name fails --variant kernel=6.1 || expect 'it has landed' 0 $?
expect 'what the kernel said is kept' 1 "$(ls tracelet-out/fails-*.console.log | wc -l)"
expect 'the manifest tells of the test and of its machine' 'test:failed: exit status 3 machine:failed' \
	"$(jq -r 'select(.test == "fails") | "\(.kind):\(.result)"' tracelet-out/manifest.jsonl | paste -sd ' ')"
expect 'recorded with BPF, nothing lost' 'bpf|0' "$(jq -r 'select(.test == "fails" and .kind == "test") |
	"\(.backend)|\([.lost[]] | add // 0)"' tracelet-out/manifest.jsonl)"
expect 'the clock is known to a millisecond or so' true "$(jq -r 'select(.test == "fails" and .kind == "test") |
	.guest_clock.bound_ns < 20000000' tracelet-out/manifest.jsonl)"

expect 'a guest that panics is no failed test' 125 "$(cat panics.status)"
expect 'what the test had said is there' before "$(cat panics.out)"
expect_match 'the panic is told' 'the guest failed: kernel panic: sysrq triggered crash' panics.err
expect_match 'with its stack' 'sysrq_handle_crash\+0x' panics.err
partial=$(echo tracelet-out/panics_*.partial.pb)
"$tracelet" check --quiet "$partial" || expect 'what was recorded until then is here' 0 $?
expect 'and says that it is not all' 1 "$("$tracelet" info "$partial" | grep -c '^partial')"
expect 'no trace looks whole' 0 "$(find tracelet-out -name 'panics_*[0-9].pb' | wc -l)"
status=0
"$tracelet" check --landed tracelet-out --name panics 2>landed.err || status=$?
expect 'and told as that when its trace is looked for' 3 $status
expect_match 'in words' 'virtual machine of panics failed: kernel panic' landed.err

expect 'a test that hangs has timed out' 124 "$(cat hangs.status)"
hung=$("$tracelet" artifact hangs stacks)
expect_match 'its stacks are here' 'hangs' "${hung:-/dev/null}"
expect 'a program of the guest itself' 7 "$(cat rooted.status)"
expect 'what its first run says' 'run 0' "$(cat rooted.out)"
again=$("$tracelet" artifact --repro rooted)
"$tracelet" check --quiet "${again:-none}" || expect 'the second run has a trace, too' 0 $?
expect_match 'and what it printed is here' '^run 1$' "$("$tracelet" artifact --repro rooted output)"

seq 6900000 | cat big - | cmp - sees.out || expect 'all bytes are the same, in and out' 0 $?
expect 'ended by Ctrl-C, as here' 130 $status_of_fifth
expect 'where it runs, what it has, its machine' "in $work
has value
variables 1|two words|
2
tracelet.mine=1" "$(grep -v MemTotal sees.err)"
expect_match 'of the size it should have' '^MemTotal: *(5[5-9]|6[0-4])[0-9]{4} kB' sees.err

expect 'nothing is left in the temporary folder' '' "$(ls tmp)"
expect 'and no emulator' '' "$(pgrep -f "qemu-system.*$work")"

# The traces of host and guest become one.
if "$here/../perfetto/setup" >/dev/null 2>&1; then
	"$tracelet" convert --merge outside/emulator_*.pb "$trace" -o both.pb || expect 'they can be merged' 0 $?
	"$tracelet" check --quiet both.pb || expect 'the merged trace is good' 0 $?
	"$here/../perfetto/tp" --health both.pb >health 2>&1 || expect 'the importer takes all of it' '' "$(cat health)"
	expect 'two machines; the test ran while the emulator did; its sleepers are threads of the guest' '2|1|2' \
		"$("$here/../perfetto/tp" both.pb "
		with host as (select min(ts) first, max(ts + dur) last from sched join thread using (utid)
			join process using (upid) where thread.machine_id = 0 and process.name glob '*qemu*'),
		guest as (select min(ts) first, max(ts) last from sched join thread using (utid) join process using (upid)
			where thread.machine_id = 1 and process.cmdline glob 'busybox sleep*')
		select (select count(*) from machine), guest.first > host.first and guest.last < host.last,
			(select count(*) from process where machine_id = 1 and cmdline glob 'busybox sleep 0.*') from host, guest")"
else
	echo 'without the importer: it is not to be had' >&2
fi

# Invalid requests: one line, status 2 or 125, nothing left behind.
expect_refusal() { # WHAT STATUS REGEX OPTION…
	local what=$1 wanted=$2 regex=$3 status=0
	shift 3
	PATH=${search:-$PATH} "$tracelet" vm run --output-dir refused "$@" >refused.out 2>refused.err </dev/null || status=$?
	expect "$what" "$wanted" $status
	expect "$what: one line" "${lines:-1}" "$(wc -l <refused.err)"
	expect_match "$what" "$regex" refused.err
}
expect_refusal 'no kernel' 2 'needs a kernel' -- true
expect_refusal 'no command' 2 'needs a command' --kernel "$kernel"
expect_refusal 'two roots' 2 'cannot be combined' --kernel "$kernel" --initrd a --rootfs b -- true
expect_refusal 'a kernel that is not there' 125 'No such file' --kernel none -- true
expect_refusal 'a program that is not there' 125 'command not found' --kernel "$kernel" -- no-such-program
expect_refusal 'a machine of another kind' 2 'neither x86_64 nor arm64' --kernel "$kernel" --arch pdp11 -- true
expect_refusal 'an addition that is not there' 125 'No such file' --kernel "$kernel" --add none=/none -- true
expect_refusal 'a root that is not there' 125 'No such file' --kernel "$kernel" --rootfs none -- true
expect_refusal 'an initramfs that is not there' 125 'none: .*No such file' --kernel "$kernel" --initrd none -- true
expect_refusal 'an agent that is not there' 125 'none: .*No such file' --kernel "$kernel" --agent none -- true
expect_refusal 'a variable that is not there' 2 'NO_SUCH_VARIABLE is not set here' --env NO_SUCH_VARIABLE --kernel "$kernel" -- true
expect_refusal 'too little memory' 2 'not a number from 64' --kernel "$kernel" --mem 1 -- true
expect_refusal 'no processor' 2 'not a number from 1 to 255' --kernel "$kernel" --cpus 0 -- true
printf 'no kernel\n' >text
expect_refusal 'a file that is no kernel' 125 'text: is not a kernel' --kernel text -- true
expect_refusal 'a kernel of another machine' 125 'is a kernel for x86_64' --arch arm64 --agent text --kernel "$kernel" -- true
expect_refusal 'options that QEMU does not have' 125 'did not boot: .*no-such-option' --kernel "$kernel" --qemu -no-such-option -- true
cp "$kernel" alone
lines=2 expect_refusal 'a kernel without its modules' 125 'found no modules for its kernel' --kernel alone --boot-timeout 1 -- true
search=$work/tmp expect_refusal 'no emulator' 125 'qemu-system-x86_64 is not installed .Debian package' --kernel "$kernel" -- "$busybox"
"$tracelet" vm start --kernel "$kernel" -- true 2>refused.err
expect 'a guest that stays takes no command' 2 $?

# Ctrl-C while it boots.
python3 "$here/on_terminal.py" "$tracelet" vm run --kernel "$kernel" --append rdinit=/no/such -- true >/dev/null 2>&1 </dev/null &
first=$!
until pgrep -f "qemu-system.*$work" >/dev/null || ! kill -0 $first 2>/dev/null; do sleep 0.05; done
kill -USR1 $first
wait $first
expect 'Ctrl-C while it boots' 130 $?
expect 'no emulator is left' '' "$(pgrep -f "qemu-system.*$work")"
expect 'nothing is left of those, either' '' "$(ls tmp)"
[ $failures -eq 0 ] || tail -n 8 ./*.err tracelet-out/*.console.log >&2
finish
