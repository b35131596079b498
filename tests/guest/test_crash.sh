#!/bin/bash
# A crash, on kernels as Debian ships them: the whole stack, through the C library.
here=$(cd -- "$(dirname -- "$0")" && pwd)
. "$here/expect.sh"
tracelet=${TRACELET:-$here/../../build/tracelet}
folder=$(dirname "$tracelet")
crashes=$folder/tests/cli/helpers/crashes
[ -x "$tracelet" ] && [ -x "$crashes" ] || skip 'no build/tracelet: run make first'

crashed_on() { # PACKAGE
	package=$1 guest=$work/$1
	"$here/boot" --kernel-package "$package" --output "$guest" --add "$crashes" --add "$folder/tracelet-stacks" -- \
		"$tracelet" run --output-dir /out --name crashed -- crashes abort thread >"$work/stdout" 2>"$work/stderr"
	status=$?
	if [ $status -eq 77 ]; then
		cat "$work/stderr"
		return
	fi
	run_on=$((run_on + 1))
	cat "$work/stderr" # seen when the test fails
	expect 'exit status' 134 $status
	expect 'the crash' 'SIGABRT the-culprit' "$(jq -r '.crashes[0] | "\(.name) \(.thread)"' "$guest/out/manifest.jsonl")"
	expect 'its stack' 'abort inner middle in_thread' "$(jq -r '.crashes[0].stack[]' "$guest/out/manifest.jsonl" |
		grep -oE ' (abort|inner|middle|in_thread)\+' | tr -d ' +' | paste -sd ' ')"
}

run_on=0
crashed_on linux-image-cloud-amd64
crashed_on linux-image-6.12-cloud-amd64
[ $run_on -gt 0 ] || skip 'no kernel for the guest'
finish
