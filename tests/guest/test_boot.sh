#!/bin/bash
# The guest itself: a command's output, exit status and files come back whole, and a guest that dies is noticed.
set -uo pipefail
here=$(cd -- "$(dirname -- "$0")" && pwd)
# shellcheck source=tests/guest/expect.sh
. "$here/expect.sh"

# shellcheck disable=SC2016 # the guest expands it
"$here/boot" --output "$work/whole" -- sh -c '
	uname -r
	echo "it'\''s me" >&2
	dd if=/dev/urandom of=/out/random bs=1M count=8 2>/dev/null
	sha256sum </out/random >/out/sum
	exit 7' >"$work/stdout" 2>"$work/stderr"
status=$?
[ $status -ne 77 ] || skip "$(cat "$work/stderr")"
expect 'exit status' 7 $status
expect 'kernel release' yes "$(grep -Eq '^[0-9]+\.[0-9]+.*-amd64$' "$work/stdout" && echo yes)"
expect 'standard error' "it's me" "$(cat "$work/stderr")"
expect 'checksum of 8 MB' "$(cat "$work/whole/out/sum")" "$(sha256sum <"$work/whole/out/random")"

"$here/boot" --output "$work/dead" -- sh -c 'echo half done >/out/file; poweroff -f' 2>"$work/stderr"
expect 'exit status of a guest that dies' 125 $?
expect 'its complaint' 'boot: the guest sent nothing' "$(head -n 1 "$work/stderr")"
expect 'nothing half-done left' no "$([ -e "$work/dead/out" ] && echo yes || echo no)"

finish
