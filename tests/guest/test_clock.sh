#!/bin/bash
# The wall clock is set back by an hour in the middle of a session: times of the trace come from a clock that
# nobody sets.
set -uo pipefail
here=$(cd -- "$(dirname -- "$0")" && pwd)
# shellcheck source=tests/guest/expect.sh
. "$here/expect.sh"

tracelet=${TRACELET:-$here/../../build/tracelet}
[ -n "${TRACELET:-}" ] || [ -x "$tracelet" ] || skip 'no build/tracelet: run make first'
tp=$here/../perfetto/tp
"$here/../perfetto/setup" >/dev/null 2>"$work/stderr" || skip "$(cat "$work/stderr")"

guest=$work/guest
# shellcheck disable=SC2016 # the guest's shell
"$here/boot" --output "$guest" --add "$tracelet" -- sh -c '
	set_back() { date -s "@$(($(date +%s) - 3600))" >/dev/null; }
	export TRACELET_STATE_DIR=/tmp/state
	tracelet start -q --output-dir /out operation
	set_back
	/bin/sleep 0.05
	tracelet stop operation >/dev/null || exit 9
	tracelet run -q --output-dir /out --name test -- sh -c "/bin/sleep 0.1; date -s @$(($(date +%s) - 3600)) >/dev/null; /bin/sleep 0.2; exit 3"
' >"$work/stdout" 2>"$work/stderr"
status=$?
[ $status -ne 77 ] || skip "$(cat "$work/stderr")"
cat "$work/stderr"
expect 'exit status' 3 $status
for name in operation test; do
	trace=$(echo "$guest/out/${name}"_*.pb)
	"$tracelet" check "$trace"
	expect "check of the $name" 0 $?
	"$tp" --health "$trace"
	expect "health of the $name" 0 $?
done
expect 'both times are plausible' true "$(jq -s 'map(.wall_seconds > 0 and .wall_seconds < 60) | all' "$guest/out/manifest.jsonl")"
expect 'the test took its time' true "$(jq -s 'map(select(.test == "test"))[0].wall_seconds >= 0.3' "$guest/out/manifest.jsonl")"
expect 'so did its sleepers' 2 "$("$tp" "$(echo "$guest/out"/test_*.pb)" "
	select count(distinct utid) from thread_state join thread using (utid) join process using (upid)
	where process.cmdline glob '/bin/sleep*' and state = 'S' and dur between 90000000 and 5000000000")"
expect 'the trace tells of it' 1 "$("$tp" "$(echo "$guest/out"/test_*.pb)" "select count(*) from slice where name glob 'wall clock set back by 3*'")"
finish
