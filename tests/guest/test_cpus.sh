#!/bin/bash
# A guest with two CPUs in which two processes pass a byte 20,000 times, with LONG=1 100,000 times, traced: it neither
# hangs nor panics. Debian's 6.1, and 6.12 where it can be had; each switch and wakeup runs our programs, on both CPUs.
set -uo pipefail
here=$(cd -- "$(dirname -- "$0")" && pwd)
# shellcheck source=tests/guest/expect.sh
. "$here/expect.sh"
tracelet=${TRACELET:-$here/../../build/tracelet}
need_vm
first=$("$here/kernel" linux-image-cloud-amd64 2>"$work/log") || skip "$(cat "$work/log")"
second=$("$here/kernel" linux-image-6.12-cloud-amd64 2>"$work/log") || second=
cd "$work" || exit 1
cc -O1 -static -o passes "$here/passes.c" || skip 'no static C library'

times=${LONG:+100000}
times=${times:-20000}
boot() { # NAME KERNEL
	local status=0
	timeout --kill-after=5 900 "$tracelet" vm run --kernel "$2" --cpus 2 --boot-timeout 400 --output-dir "$1" --name passes \
		--add passes=/bin/passes -- /bin/passes $times >"$1.out" 2>"$1.err" </dev/null || status=$?
	echo $status >"$1.status"
}

boot first "$first"
[ -z "$second" ] || boot second "$second"
for name in first second; do
	[ -e "$name.status" ] || continue
	cat "$name.err" # seen when the test fails
	expect "$name: the byte was passed to the end" "0 $times" "$(cat "$name.status") $(cat "$name.out")"
	expect "$name: nothing of the kernel's complains" 0 "$(grep -cE 'BUG:|Oops|panic|stall|soft lockup' "$name"/*.console.log)"
	"$tracelet" check --quiet "$name"/passes_*.pb
	expect "$name: the trace is good" 0 $?
	expect "$name: switches are recorded, by BPF" 'bpf true' \
		"$(jq -r 'select(.kind == "test") | "\(.backend) \(.events > '$times')"' "$name/manifest.jsonl")"
	[ "$(cat "$name.status")" = 0 ] || tail -n 20 "$name"/*.console.log
done
[ -n "$second" ] || echo 'without 6.12: it cannot be downloaded' >&2
finish
