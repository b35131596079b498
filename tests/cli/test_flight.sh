# The flight recorder: the newest events, in bounded memory, saved when it matters.
. "$(dirname "$0")/lib.sh"
need_root
need_command perf

export TRACELET_STATE_DIR=$PWD/state
tp=$source/tests/perfetto/tp
traces() { find tracelet-out -name "$1_*.pb" 2>/dev/null | wc -l; }

check_run "a test that passes" 0 "$TRACELET" run --type memory --name passes -- /bin/true
check_match "leaves no trace, and says so" 'not kept' "$stderr"
check_equal "no file of any kind" "" "$(ls tracelet-out | grep passes)"
check_equal "but a line in the manifest" 1 "$(jq -r '.artifacts | length == 0' tracelet-out/manifest.jsonl | grep -c true)"

check_run "a test that fails" 3 "$TRACELET" run -q --type memory --name fails -- sh -c 'exit 3'
check_equal "leaves one" 1 "$(traces fails)"

# ---- more events than the ring holds ----

load='perf bench sched messaging -g 2 -l 600 >/dev/null'
check_run "a busy test that fails" 1 "$TRACELET" run -q --type memory --ring-size 256k --name busy -- \
	sh -c "exec 2>&1; $load; /bin/true the-last-thing; exit 1"
trace=$(ls tracelet-out/busy_*.pb)
check "its trace is good" "$TRACELET" check "$trace"
check "not larger than the ring" test "$(stat -c %s "$trace")" -le 262144
"$tp" --health "$trace" \
	"select count(*) from process where cmdline = '/bin/true the-last-thing'" \
	"select count(*) from slice where name glob 'exec *perf'" \
	"select count(*) from sched_slice join thread using (utid) where thread.name is null" \
	"select count(distinct upid) from sched_slice join thread using (utid) join process using (upid)
	 where cmdline is null and thread.name in ('perf', 'sched-messaging', 'sh')" >answers
check_equal "healthy, too" 0 $?
check_equal "it has the end" 1 "$(sed -n 1p answers)"
check_equal "and not the beginning" 0 "$(sed -n 2p answers)"
check_equal "tasks from before the first moment have names" 0 "$(sed -n 3p answers)"
check_equal "and its process a command line" 0 "$(sed -n 4p answers)"
check_equal "the manifest counts no loss" 0 \
	"$(jq -s 'map(select(.test == "busy"))[0].lost | add // 0' tracelet-out/manifest.jsonl)"

# The test's own exec is no longer in it; those of its last children are.
check_equal "why is about the test, not about one of its children" sh \
	"$("$TRACELET" why --json "$trace" | jq -r '.segments[.path[-1].segment].thread')"

check_run "only the last seconds" 1 "$TRACELET" run --type memory --ring-seconds 1 --name seconds --json seconds.json -- \
	sh -c '/bin/true first; sleep 1.5; /bin/true last; exit 1'
trace=$(ls tracelet-out/seconds_*.pb)
check_match "the summary says what span there is" '^  span    the last [0-9.]+ s of [0-9.]+ s' "$stderr"
check_equal "so does the manifest" true "$(jq '.held_seconds > 0 and .held_seconds < .wall_seconds' seconds.json)"
check_match "why says that it is about the end only" \
	'^seconds failed: exit status 1; it took [0-9.]+ s, and this is about the last [0-9.]+ (m?s|us)\. For ' <("$TRACELET" why "$trace")
check_equal "are there" "/bin/true last" "$("$tp" "$trace" "select cmdline from process where cmdline glob '/bin/true*'")"

# ---- stacks ----

check_run "samples are kept with it" 1 "$TRACELET" run -q --sample --type memory --ring-size 64k --name stacks -- \
	sh -c '"$TRACELET_HELPERS/chains" recursion 6; exit 1'
trace=$(ls tracelet-out/stacks_*.pb)
check_equal "with the names of code that was mapped long before" 1 "$("$tp" "$trace" \
	"select count(*) > 10 from perf_sample join stack_profile_callsite on callsite_id = stack_profile_callsite.id
	 join stack_profile_frame on frame_id = stack_profile_frame.id where stack_profile_frame.name = 'burn'")"

# ---- saved by snapshot, by signal, and by failure, all at the same moment ----

"$TRACELET" run -q --type memory --name thrice -- sh -c 'touch running; while [ -e running ]; do sleep 0.01; done; exit 1' &
until [ -e running ] && "$TRACELET" status >/dev/null; do :; done
tracer=$("$TRACELET" status --json | jq '.[0].pid')
kill -USR1 "$tracer"
"$TRACELET" snapshot thrice >snapshot.txt &
snapshot=$!
rm running
wait $snapshot
check_equal "the snapshot is answered or comes too late" "" "$(grep -v '\.pb (.*B)$' snapshot.txt)"
wait
check "the failure and the signal are saved, each by itself" test "$(traces thrice)" -ge 2
check "all of them are good" "$TRACELET" check tracelet-out/thrice_*.pb
check_equal "nothing else is left" "" "$(ls tracelet-out | grep -v -e '\.pb$' -e manifest -e '^stacks_')"

check_run "an operation can be a flight recorder" 0 "$TRACELET" start -q --type memory night
/bin/true what-happened
check_run "a snapshot of it" 0 "$TRACELET" snapshot night
check_equal "has what happened" 1 "$("$tp" "$(cut -d ' ' -f 1 "$stdout")" "select count(*) from process where cmdline glob '*what-happened'")"
check_run "a second one" 0 "$TRACELET" snapshot night
check_run "and its end" 0 "$TRACELET" stop night
check_equal "are three traces" 3 "$(traces night)"

check_run "a ring that is too small" 2 "$TRACELET" run --type memory --ring-size 1k -- true
check_lines "is refused in one line" 1 "$stderr"

done_testing
