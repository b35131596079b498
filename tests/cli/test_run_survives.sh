# What a run survives: a killed tracer, being killed itself, a full disk, twenty thousand processes,
# many runs at once.
. "$(dirname "$0")/lib.sh"
. "$source/tests/cli/helpers/words.sh"
need_bpf
need_command bpftool
export PATH=$PATH:/usr/sbin:/sbin

tracer_of() { # PID of tracelet
	pgrep -P "$1" -x tracelet-tracer
}
# held_by PID prog|link|map: the ids of what this process holds in the kernel.
held_by() {
	sed -n "s/^$2_id:[[:space:]]*//p" /proc/"$1"/fdinfo/* 2>/dev/null | sort -u
}
# gone: nothing that $tracer held is left in the kernel. (Another user may be tracing, so other programs may exist.)
gone() {
	local kind id
	for kind in prog link map; do
		for id in ${held[$kind]}; do
			! bpftool "$kind" show id "$id" || return 1
		done
	done
}
declare -A held

# begin NAME: a test that reads the pipe `go` and exits with 3; sets $tracelet, $tracer.
begin() {
	rm -f go begun && mkfifo go
	"$TRACELET" run --name "$1" -- sh -c '/bin/echo early-mark >begun; read -r line <go; /bin/echo late-mark >ended; exit 3' \
		>stdout 2>stderr &
	tracelet=$!
	wait_until test -s begun
	tracer=$(tracer_of "$tracelet")
	test=$(pgrep -P "$tracelet" -x sh)
	for kind in prog link map; do
		held[$kind]=$(held_by "$tracer" $kind)
	done
}
# Two drain intervals: everything before now is in the spool, which grows with every drain.
wait_for_drain() {
	local size
	size=$(stat -c %s tracelet-out/*.spool)
	wait_until sh -c "[ \$(stat -c %s tracelet-out/*.spool) -gt $((size + 100)) ]"
}

# ---- the tracer is killed ----

fresh
begin killed
check "programs and maps are in the kernel while it records" test -n "${held[prog]}" -a -n "${held[map]}"
check_not "where bpftool finds them" gone
wait_for_drain
kill -KILL "$tracer"
check "killed: they are gone, and the test is not" wait_until gone
check "it still waits" kill -0 "$test"
echo >go
wait "$tracelet"
check_equal "its status is its own" 3 "$?"
check "it ran to its end" test -s ended
check_lines "one line reports it" 1 stderr
check_match "with the command that helps" "^tracelet: warning: the tracer died; .*tracelet convert tracelet-out/killed_[0-9_]+\.spool out\.pb" stderr
check "which works" sh -c "$(sed -n 's/.*: tracelet convert/"$TRACELET" convert/p' stderr)"
check "and gives a good trace" "$TRACELET" check out.pb
check "with what had been recorded" grep -q -a early-mark out.pb

# ---- tracelet is killed ----

fresh
begin waiter
wait_for_drain
kill -KILL "$tracelet"
wait "$tracelet" 2>/dev/null
check_equal "tracelet killed: its status is the signal's" 137 "$?"
check "the test goes on" kill -0 "$test"
check "nothing stays in the kernel" wait_until gone
check "the tracer ends" wait_until sh -c "! kill -0 $tracer"
check "it has made a good trace" "$TRACELET" check tracelet-out/waiter_*.pb
check "with what had been recorded" grep -q -a early-mark tracelet-out/waiter_*.pb
check_not "no spool is left" ls tracelet-out/*.spool
check_match "it says what happened" "^tracelet: waiter unknown: tracelet was killed after [0-9.]+ s" stderr
check_equal "so does the manifest" "test unknown: tracelet was killed null null 1" \
	"$(jq -r '"\(.kind) \(.result) \(.exit) \(.signal) \(.artifacts | length)"' tracelet-out/manifest.jsonl)"
check_equal "which names what still runs" "sh ($test)" "$(jq -r '.outlived | join(" ")' tracelet-out/manifest.jsonl)"
echo >go
check "the test runs to its end" wait_until test -s ended

# Both, as at the end of a container: the next tracelet makes the trace.
fresh
export TRACELET_STATE_DIR=$work/state
begin both
wait_for_drain
kill -STOP "$tracer" # it must not notice the other's end
kill -KILL "$tracelet" "$tracer"
wait "$tracelet" 2>/dev/null
check "both killed: nothing stays in the kernel" wait_until gone
echo >go
check "the test runs to its end" wait_until test -s ended
run "$TRACELET" status
check_match "the next tracelet recovers what was recorded" "tracer of both died; recovered .*/both_[0-9_]+\.pb" "$stderr"
check "a good trace" "$TRACELET" check tracelet-out/both_*.pb
check_equal "with its line in the manifest" "both test unknown: tracelet was killed bpf 1" \
	"$(jq -r '"\(.test) \(.kind) \(.result) \(.backend) \(.artifacts | length)"' tracelet-out/manifest.jsonl)"
check_equal "whose checksum is right" "$(sha256sum tracelet-out/both_*.pb | cut -d ' ' -f 1)" \
	"$(jq -r '.artifacts[0].sha256' tracelet-out/manifest.jsonl)"

# The process that waits reports a dead tracer itself, with the spool that is still there.
fresh
begin waits
wait_for_drain
kill -KILL "$tracer"
check "the tracer is gone" wait_until gone
run "$TRACELET" status
check "a tracer killed alone: the spool stays until the test has ended" ls tracelet-out/waits_*.spool
echo >go
wait "$tracelet"
unset TRACELET_STATE_DIR

# A killed test takes no other process with it.
fresh
begin test
kill -KILL "$test"
wait "$tracelet"
check_equal "the test killed: 137" 137 "$?"
check "nothing stays in the kernel" wait_until gone
check "and its trace is there" "$TRACELET" check tracelet-out/test_*.pb

# ---- a full disk ----

fresh
mkdir small
full_disk() { # SIZE COMMAND...: with tracelet-out on a file system of this size, in a separate mount namespace
	# shellcheck disable=SC2016
	unshare -m sh -c 'mount -t tmpfs -o size="$1" small small || exit 77; shift
		"$@"; status=$?; cp -r small/. kept; exit $status' sh "$@"
}
run full_disk 200k "$TRACELET" run --json summary.json --output-dir small -- sh -c "\"$helpers/storm\" 3000; exit 9"
if [ "$status" = 77 ]; then
	skip "a full disk" "nothing can be mounted here"
else
	check_equal "a full disk: the status is the test's" 9 "$status"
	check_equal "its output too" 3000 "$(cat "$stdout")"
	check_equal "one warning" 1 "$(grep -c warning "$stderr")"
	check_match "that says why" "warning: .*small/sh_[0-9_]+\.spool: No space left" "$stderr"
	check_not "and no other complaint" grep -E "cannot|error" "$stderr"
	check_match "the summary names what there is" "^  next +tracelet convert small/sh_[0-9_]+\.spool" "$stderr"
	check_equal "no count is made up" "null null" "$(jq -r '"\(.events) \(.lost)"' summary.json)"
	check_not "no half trace" ls kept/*.pb kept/*.tmp
	check "what was written can be converted" "$TRACELET" convert kept/sh_*.spool out.pb
	check "to a good trace" "$TRACELET" check out.pb
	check "of the test's beginning" grep -q -a 'exec .*/storm' out.pb
fi

# The test itself fills the disk: before the trace is written, or already during the recording.
for children in 0 9; do
	fresh
	mkdir small
	run full_disk 24k "$TRACELET" run --output-dir small -- sh -c 'for i in $(seq "$0"); do /bin/true; done
		dd if=/dev/zero of=small/more bs=4096 2>/dev/null; exit 9' $children
	[ "$status" = 77 ] && break
	check_equal "a disk that a test of $children processes fills: the status is the test's" 9 "$status"
	check_equal "one complaint" 1 "$(grep -cE 'warning|cannot' "$stderr")"
	check_not "no half trace" ls kept/*.pb kept/*.tmp
	check "the spool is kept, and converts" "$TRACELET" convert kept/sh_*.spool out.pb
	note "$(cat "$stderr")"
done

# ---- very many processes ----

fresh
check_run "20,000 short processes" 0 "$TRACELET" run --json summary.json --keep-spool -- "$helpers/storm" 20000
check_equal "all were started" 20000 "$(cat "$stdout")"
check "the trace is good" "$TRACELET" check tracelet-out/storm_*.pb
lost=$(jq '.lost.process // 0' summary.json)
note "lost: $(jq -c .lost summary.json), $(jq .events summary.json) events, $(stat -c %s tracelet-out/*.pb) bytes"
if "$source/tests/perfetto/setup" >/dev/null 2>&1; then
	mapfile -t counts < <(ask "$(the_trace storm)" "select count(*) from thread where start_ts is not null and name in ('storm', 'true')" \
		"select count(*) from slice where name = 'exit 0'" "select count(*) from process where end_ts is not null")
	note "begun ${counts[0]}, exits ${counts[1]}, ended ${counts[2]}"
	check "each fork is in the trace or counted as lost" test $((counts[0] + lost)) -ge 20000
	check "each exit too" test $((counts[1] + lost)) -ge 20001
	check "none is there that was not" test "${counts[1]}" -le 20001
else
	skip "each fork and exit is in the trace or counted" "the importer is not to be had"
fi
[ "$lost" = 0 ] && check_equal "none lost: all ends are known" 20001 "${counts[2]:-20001}"

# ---- very many runs ----

fresh
for i in {1..16}; do
	"$TRACELET" run --quiet --json "json.$i" --name "run$i" -- sh -c "for n in 1 2 3 4 5; do /bin/echo mark-$i-end; done; exit $i" >"out.$i" 2>&1 &
	pids[i]=$!
done
for i in {1..16}; do
	wait "${pids[i]}"
	check_equal "parallel run $i: its status" "$i" "$?"
	check_equal "its output" "$(yes "mark-$i-end" | head -n 5)" "$(cat "out.$i")"
done
check "16 good traces" "$TRACELET" check tracelet-out/run*.pb
check_equal "nothing lost" 0 "$(jq -s 'map(.lost | add // 0) | add' json.*)"
alone=0
for i in {1..16}; do
	marks=$(grep -a -o 'mark-[0-9]*-end' tracelet-out/run"$i"_*.pb | sort -u)
	[ "$marks" = "mark-$i-end" ] && alone=$((alone + 1))
done
check_equal "each has its own marks and no other's" 16 "$alone"

# ---- both CPUs busy switching ----

# Without a guaranteed share the tracer got no CPU, and recording nearly stopped after 0.7 s.
if chrt -r 1 true 2>/dev/null && ! is_sanitized; then
	fresh
	processors=$(nproc)
	check_run "every CPU busy switching" 0 "$TRACELET" run --json summary.json -- sh -c '
		for i in $(seq $1); do timeout -s INT 2 perf bench sched pipe -l 100000000 >/dev/null 2>&1 & done; wait; exit 0' \
		sh "$processors"
	note "$(jq -c '[.events, .lost]' summary.json)"
	check "there are many events" test "$(jq .events summary.json)" -gt 100000
	check_equal "none is lost" 0 "$(jq '.lost | add // 0' summary.json)"
else
	skip "every CPU busy switching" "no real-time priority here, or too slow"
fi

done_testing
