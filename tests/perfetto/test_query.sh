#!/bin/sh
# Tests the judge itself: it answers, it fails on a statistic that means trouble, and it rejects files that are not
# traces.
set -u
here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd)
"$here/setup" >/dev/null || exit $?
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failed=0

expect() { # WHAT WANTED GOT
	[ "$2" = "$3" ] && return
	echo "$1: wanted '$2', got '$3'" >&2
	failed=1
}

# One bundle of CPU 0: a full sched_switch at 1000 from idle to task 7 "a", a compact one back to idle at 1500.
bundle='\012<P\001h\001\0126\010\000\022\032\010\350\007\020\000\042\023\012\004idle\020\000\030x\040\000*\001a0\0078x\042\026\012\002\334\013\022\001\001\032\001\000\042\001x2\001\000*\004idle'
# An empty bundle of CPU 0 that reports lost events.
lost='\012\010P\001\012\004\010\000\030\001'

# These formats need the octal escapes.
# shellcheck disable=SC2059
printf "$bundle" >"$work/good"
# shellcheck disable=SC2059
printf "$bundle$lost" >"$work/lossy"
echo 'this is no trace' >"$work/text"
: >"$work/empty"

expect 'a slice' '7|a|1000|500' \
	"$("$here/tp" "$work/good" 'select tid, name, ts, dur from sched_slice join thread using (utid) where tid = 7')"
expect 'JSON' '[{"n":2,"missing":null}]' "$("$here/tp" --json "$work/good" 'select count(*) n, null as missing from sched_slice')"

"$here/tp" --health "$work/good"
expect 'exit of a healthy trace' 0 $?
"$here/tp" --health "$work/lossy" 2>"$work/complaint"
expect 'exit of a trace with losses' 3 $?
expect 'its complaint' 1 "$(grep -c ftrace_cpu_has_data_loss "$work/complaint")"
"$here/tp" --health --allow ftrace_cpu_has_data_loss "$work/lossy"
expect 'exit when the loss is allowed' 0 $?
for file in text empty missing; do
	"$here/tp" --health "$work/$file" 2>/dev/null
	expect "exit of a file that is $file" 1 $?
done
"$here/tp" "$work/good" 'select no_such_column' 2>/dev/null
expect 'exit of a wrong query' 1 $?
exit $failed
