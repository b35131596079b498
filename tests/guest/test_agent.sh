#!/bin/bash
# tracelet-agent as process 1 of a real guest, over a virtio serial port: a traced test with children, files, a port
# that is cut and a machine that is paused in the middle, an idle agent, a panic.
set -uo pipefail
here=$(cd -- "$(dirname -- "$0")" && pwd)
# shellcheck source=tests/guest/expect.sh
. "$here/expect.sh"
# shellcheck source=tests/guest/agent.sh
. "$here/agent.sh"

[ -x "$tracelet" ] || skip 'no build/tracelet: run make first'
tp=$here/../perfetto/tp
"$here/../perfetto/setup" >/dev/null 2>"$work/stderr" || skip "$(cat "$work/stderr")"
cd "$work" || exit 1

agent_prepare one
expect 'the agent is small' yes "$([ "$(stat -c %s "$agent_program")" -le 6000000 ] && echo yes)"
[ -z "${LONG:-}" ] || memory="-m 3000" # for a gigabyte in /tmp
# shellcheck disable=SC2086 # two words or none
agent_boot one ${memory:-} -chardev "socket,id=monitor,path=$work/monitor,server=on,wait=off" -mon chardev=monitor,mode=readline
trap 'kill $emulator $proxy 2>/dev/null; rm -rf "$work"' EXIT
proxy=
guest() { timeout 120 "$tracelet" guest --patience 60 "$address" "$@"; }
monitor() { # COMMAND
	python3 -c 'import socket, sys
s = socket.socket(socket.AF_UNIX); s.connect(sys.argv[1]); s.recv(1000); s.sendall((sys.argv[2] + "\n").encode()); s.recv(1000)' \
		"$work/monitor" "$1"
}

# a test
guest run --name family -- sh -c 'echo to out; echo to err >&2; sleep 0.2 & sleep 0.1; wait; exit 3' >out 2>err </dev/null
expect 'exit status' 3 $?
expect 'standard output' 'to out' "$(cat out)"
expect 'standard error' 'to err' "$(grep '^to' err)"
trace=$(echo tracelet-out/family_*.pb)
"$tracelet" check "$trace"
expect 'check' 0 $?
"$tp" --health "$trace"
expect 'health' 0 $?
expect 'the sleepers are children of the shell' 'sleep 0.1|sleep 0.2' "$("$tp" "$trace" "
	select child.cmdline from process child join process parent on child.parent_upid = parent.upid
	where parent.cmdline glob 'sh -c*' order by child.cmdline" | paste -sd '|')"
expect 'recorded by BPF, nothing missing' 'bpf|0' "$(jq -r '"\(.backend)|\([.lost[], .gaps, .late] | add)"' tracelet-out/manifest.jsonl)"
expect 'the clock is known well enough for this test' true \
	"$(jq '.guest_clock.bound_ns * 20 < .wall_seconds * 1e9' tracelet-out/manifest.jsonl)"
guest run -q -- sh -c 'kill -9 $$' </dev/null
expect 'a signal' 137 $?

# files
guest shell dd if=/dev/urandom of=/tmp/big bs=1M count=50 2>/dev/null </dev/null
sum=$(guest shell sha256sum /tmp/big </dev/null | cut -c1-64)
python3 "$here/../cli/guest_peer.py" proxy "$work/proxy" "$work/one/port" 20000001 2 &
proxy=$!
direct=$address
until [ -S "$work/proxy" ] || ! kill -0 $proxy; do sleep 0.02; done
address=unix:$work/proxy
guest file -o cut /tmp/big
expect 'cut twice, 50 MB are the same' "$sum" "$(sha256sum <cut | cut -c1-64)"
expect 'it was cut' 2 "$(wc -l <proxy.cuts)"
kill $proxy
address=$direct
guest file -o paused /tmp/big &
file=$!
until [ -s paused.partial ] || [ -e paused ] || ! kill -0 $file; do sleep 0.01; done
monitor stop
sleep 1
monitor cont
wait $file
expect 'paused, 50 MB are the same' "$sum" "$(sha256sum <paused | cut -c1-64)"
head -c 10000000 cut >part
guest shell sh -c 'cat >/tmp/back' <part
expect 'and 10 MB back again' "$(sha256sum <part | cut -c1-64)" "$(guest shell sha256sum /tmp/back </dev/null | cut -c1-64)"

# a link that flips bits, one that says nothing any more, and an agent that answers pings but lost the session
peer() { # KIND SOCKET ARGUMENTS...
	python3 "$here/../cli/guest_peer.py" "$@" &
	proxy=$!
	until [ -S "$2" ]; do sleep 0.02; done
	address=unix:$2
}
peer noisy "$work/noisy" "$work/one/port" 3000001
guest file -o noisy-copy /tmp/big
expect 'bits are flipped, 50 MB are the same' "$sum" "$(sha256sum <noisy-copy | cut -c1-64)"
expect 'they were flipped' yes "$([ "$(wc -l <noisy.flips)" -ge 10 ] && echo yes)"
kill $proxy
wait $proxy 2>/dev/null
peer gag "$work/gag" "$work/one/port" 5000000
timeout 120 "$tracelet" guest --patience 15 "$address" file -o gagged /tmp/big 2>err
expect 'a guest that says nothing any more' 125 $?
# Which of the two is said depends on whether half a packet came at last.
expect 'is given up when the patience is over' 1 "$(grep -cE 'silent for 15 s|has not answered this session for 15 s' err)"
expect 'and no file looks whole' no "$([ -e gagged ] || echo no)"
kill $proxy
wait $proxy 2>/dev/null
peer hostile "$work/forgets" forgets
timeout 120 "$tracelet" guest --patience 5 "$address" run -q --enabled no -- true 2>err </dev/null
expect 'an agent that lost the session' 125 $?
expect 'is given up, too' 1 "$(grep -c 'has not answered this session for 5 s' err)"
kill $proxy
peer hostile "$work/waits" forgets
timeout 120 "$tracelet" guest --patience 100 "$address" run -q --enabled no -- true 2>err </dev/null &
host=$!
until grep -q '^SigBlk:.*[4-7c-f]...$' "/proc/$(pgrep -P $host)/status" 2>/dev/null || ! kill -0 $host 2>/dev/null; do sleep 0.02; done
kill -TERM $host # timeout passes it on
wait $host
expect 'SIGTERM ends a host that waits' 1 "$(grep -c 'interrupted; the guest does not answer' err)"
kill $proxy
address=$direct
expect 'the guest still answers' alive "$(guest shell echo alive </dev/null)"

# a gigabyte takes a minute: make test-guest LONG=1
if [ -n "${LONG:-}" ]; then
	guest shell dd if=/dev/urandom of=/tmp/gigabyte bs=1M count=1024 2>/dev/null </dev/null
	sum=$(guest shell sha256sum /tmp/gigabyte </dev/null | cut -c1-64)
	begin=$SECONDS
	guest file -o gigabyte /tmp/gigabyte
	echo "a gigabyte in $((SECONDS - begin)) s"
	expect '1 GB is the same' "$sum" "$(sha256sum <gigabyte | cut -c1-64)"
	guest shell busybox rm /tmp/gigabyte </dev/null
	rm gigabyte
fi

# idle: at least one of three seconds has no wakeup
guest shell sh -c '(for i in 1 2 3 4; do sleep 1; grep ^voluntary /proc/1/status; done >/tmp/idle; echo >/tmp/done) </dev/null >/dev/null 2>&1 &' </dev/null
sleep 4
until guest shell cat /tmp/done </dev/null >/dev/null 2>&1; do sleep 0.2; done
expect 'an idle agent does not wake up' 0 "$(guest shell cat /tmp/idle </dev/null | awk 'NR > 1 { print $2 - last } { last = $2 }' | sort -n | head -n 1)"

# a kernel without type information (BTF)
guest shell busybox mount -t tmpfs none /sys/kernel/btf </dev/null
guest run --quiet --name typeless -- sh -c 'sleep 0.1; exit 4' 2>err </dev/null
expect 'without BTF the status is the same' 4 $?
expect 'what is missing is told in one line' '1 1' "$(wc -l <err) $(grep -c 'warning: this kernel has no BTF' err)"
expect 'there is a trace by other means' 'perf 0' \
	"$(jq -r 'select(.test == "typeless").backend' tracelet-out/manifest.jsonl) $("$tracelet" check --quiet tracelet-out/typeless_*.pb; echo $?)"
guest shell busybox umount /sys/kernel/btf </dev/null

# a panic in the middle
timeout 120 "$tracelet" guest --patience 3 "$address" run --quiet --name panics -- sh -c 'for i in 1 2 3 4 5 6 7 8; do sleep 0.1; done; echo c >/proc/sysrq-trigger' >out 2>err </dev/null &
run=$!
wait $emulator
echo 'the emulator has ended' >&2
rm -f "$work/one/port"
kill -0 $run 2>/dev/null && wait $run
expect 'a guest that panics' 125 $?
expect 'is told' 1 "$(grep -c 'lost the connection to the guest' err)"
expect 'what was recorded until then is here' 0 "$("$tracelet" check tracelet-out/panics_*.partial.pb >/dev/null; echo $?)"
expect 'no trace looks whole' 0 "$(find tracelet-out -name 'panics_*[0-9].pb' | wc -l)"
expect 'the manifest tells' 'guest failed' "$(jq -r 'select(.test == "panics").result' tracelet-out/manifest.jsonl)"
expect 'the console has the panic' yes "$(grep -q 'Kernel panic' one/console_*.log && echo yes)"
finish
