# --timeout: stacks are saved, the whole tree is killed, and nothing else.
. "$(dirname "$0")/lib.sh"
. "$source/tests/cli/helpers/words.sh"

# timed OPTIONS... -- COMMAND...: a run that must time out; sets the names of its files.
timed() {
	fresh
	run "$TRACELET" run --name hung --json summary.json "$@"
	stacks=$(echo tracelet-out/hung_*.stacks.txt)
}

# gone FILE: the processes whose ids are in the file have ended (zombies do not count).
gone() {
	local pid
	while read -r pid; do
		[ -e "/proc/$pid" ] && ! grep -q '^State:.*Z' "/proc/$pid/status" 2>/dev/null && return 1
	done <"$1"
	return 0
}

# A second is enough for a shell and its child to start; on a busy machine, ten times what they take now.
begin=$(date +%s%N)
"$TRACELET" run --quiet --output-dir "$work/first" -- sh -c 'sh -c true; exit 0'
limit=$((($(date +%s%N) - begin) / 100000000 + 1))

timed --timeout $limit -- sh -c 'echo $$ >pids; sleep 1000; exit 3'
check_equal "a test that takes too long has status 124" 124 "$status"
check "it is gone" gone pids
check_match "the stacks name the process" "^process $(cat pids): sh -c echo" "$stacks"
check_match "and its child" "^process [0-9]+: sleep 1000" "$stacks"
check_match "and threads with name and state" '^  thread [0-9]+ "sleep": sleeping' "$stacks"
check_match "and frames with symbol and module" '#[0-9]+ +0x[0-9a-f]{16} .*nanosleep.*  /.*libc\.so\.6\+0x[0-9a-f]+' "$stacks"
[ "$(id -u)" != 0 ] || check_match "and kernel frames" '^    kernel .*nanosleep' "$stacks"
check_match "the summary says so" "^tracelet: hung timed out: limit $limit s" "$stderr"
check_match "and names the file" "^  stacks  $stacks" "$stderr"
check_equal "so does the JSON" "$limit stacks" \
	"$(jq -r '"\(.timed_out_after) \(.artifacts[] | select(.kind == "stacks") | .kind)"' summary.json)"
check_equal "and the manifest, with size and sha256" "$stacks $(stat -c %s "$stacks") $(sha256sum <"$stacks" | cut -d' ' -f1)" \
	"$(jq -r '.artifacts[] | select(.kind == "stacks") | "\(.path) \(.size) \(.sha256)"' tracelet-out/manifest.jsonl)"
if [ "$(id -u)" = 0 ]; then
	check "there is a trace as well" "$TRACELET" check --quiet tracelet-out/hung_*.pb
	check "it shows the moment" grep -aq "time limit over" tracelet-out/hung_*.pb
fi

timed --timeout 0.2 --attachments yes -- sleep 1000
check_match "the CI gets the stacks" "^\\[\\[ATTACHMENT\\|$PWD/$stacks\\]\\]$" "$stdout"

timed --timeout 0.2 --timeout-status 99 -- sleep 1000
check_equal "another status" 99 "$status"

timed --timeout 30 -- sh -c 'exit 3'
check_equal "a test that ends in time keeps its status" 3 "$status"
check_not "there are no stacks" test -e "$stacks"
check_equal "the JSON says nothing of a limit" null "$(jq .timed_out_after summary.json)"

# ---- processes that refuse to end ----

timed --timeout $limit --grace 0.3 -- bash -c 'trap "" TERM; echo $$ >pids; while :; do sleep 0.01; done'
check_equal "a test that ignores SIGTERM" 124 "$status"
check "is gone" gone pids
check_equal "killed" 9 "$(jq .signal summary.json)"

timed --timeout $limit --grace 100 -- bash -c 'trap "echo ended >last; exit 7" TERM; echo $$ >pids; while :; do sleep 0.01; done'
check_equal "a test that ends itself on SIGTERM" 124 "$status"
check_equal "can do so" ended "$(cat last)"
check_equal "its own status is in the JSON" 7 "$(jq .exit summary.json)"

timed --timeout $((2 * limit)) --grace 0.5 -- bash -c 'trap "" TERM; for i in $(seq 200); do (echo $BASHPID >>pids; exec sleep 1000) & done; wait'
check_equal "a test with 200 children" 124 "$status"
check "is gone with all of them" gone pids
check_equal "all that had begun are in the stacks" "$(sed -n 's/.*(processes: \([0-9]*\))$/\1/p' "$stderr")" "$(grep -c '^process ' "$stacks")"
check "which are many" test "$(wc -l <pids)" -gt 100

timed --timeout $limit -- bash -c 'echo $$ >pids; kill -STOP $$; exit 5'
check_equal "a test that is stopped" 124 "$status"
check "is gone" gone pids
check_match "its stacks are there" '^    #0 ' "$stacks"
check_match "and its state" 'stopped' "$stacks"
check_equal "SIGTERM was enough" 15 "$(jq .signal summary.json)"

timed --timeout $limit -- bash -c '(setsid bash -c "echo \$\$ >pids; exec sleep 1000" </dev/null >/dev/null 2>&1 &); sleep 1000'
check_equal "a test whose child has forked away" 124 "$status"
check "both are gone" gone pids
check_match "the child is in the stacks" "^process $(cat pids): sleep 1000" "$stacks"

timed --timeout $limit --wait-tree -- bash -c '(setsid bash -c "echo \$\$ >pids; exec sleep 1000" </dev/null >/dev/null 2>&1 &); exit 0'
check_equal "a tree that --wait-tree waits for has the same limit" 124 "$status"
check "it is gone" gone pids

timed --timeout 60 -- bash -c '(setsid bash -c "echo \$\$ >pids; exec sleep 1000" </dev/null >/dev/null 2>&1 &)
	until [ -s pids ]; do sleep 0.01; done; exit 4'
check_equal "an orphan does not hold up a test that ends in time" 4 "$status"
check_not "and goes on" gone pids
kill "$(cat pids)"

# A process whose first thread has ended while others continue looks like a zombie.
timed --timeout $limit --grace 0.2 -- "$helpers/zombie"
check_equal "a test whose first thread has ended" 124 "$status"
check_not "is gone" test -e "/proc/$(cat "$stdout")"
check_match "its other thread is in the stacks" '#[0-9]+ .* stay\+' "$stacks"

# ---- processes that are not ours ----

fresh
run bash -c 'sleep 1000 & echo $! >stranger; exec "$TRACELET" run --timeout 0.2 --grace 0.2 -- sleep 1000'
check_equal "a child that was there before the test" 124 "$status"
check_not "is left alone" gone stranger
kill "$(cat stranger)"

# ---- at the same time ----

bad=
for i in 1 2 3 4 5 6 7 8; do
	timed --timeout 0.1 --grace 1 -- sleep 0.1
	said=$(jq -r 'if .timed_out_after then 124 else .exit end' summary.json)
	[ "$status" = "$said" ] && { [ "$status" = 0 ] || [ "$status" = 124 ]; } || bad="$bad $status/$said"
done
check_equal "a test that ends at the limit: status and summary agree" "" "$bad"

# ---- without a trace ----

fresh
check_run "--enabled no keeps the limit" 124 "$TRACELET" run --enabled no --timeout 0.2 -- sleep 1000
check_match "says so" "^tracelet: sleep: time limit of 0.2 s reached; saving stacks, ending it" "$stderr"
stacks=$(echo tracelet-out/sleep_*.stacks.txt)
check_match "makes the folder and saves the stacks" '^  thread [0-9]+ "sleep": sleeping' "$stacks"
check_match "the summary names them" "^  stacks +$stacks" "$stderr"
check_equal "the manifest has a line" "test timed out: limit 0.2 s null stacks $stacks" \
	"$(jq -r '"\(.kind) \(.result) \(.backend) \(.artifacts[0].kind) \(.artifacts[0].path)"' tracelet-out/manifest.jsonl)"
check_equal "nothing else is left" 2 "$(ls tracelet-out | wc -l)"
check_run "--keep never" 124 "$TRACELET" run --enabled no --keep never --output-dir never --timeout 0.2 -- sleep 1000
check_not "leaves nothing" test -e never
check_run "the positional form" 124 "$TRACELET" run-test positional 0.2 sleep 1000
check "saves the stacks, too" grep -q sleeping positional/sleep_*.stacks.txt
check_run "and the status" 6 "$TRACELET" run --enabled no --timeout 30 -- sh -c 'exit 6'
check_lines "without a word" 0 "$stderr"
check_lines "nor a file" 1 tracelet-out/manifest.jsonl

# ---- the trace ----

if [ "$(id -u)" = 0 ]; then
	timed --timeout $limit --off-cpu -- sh -c 'sleep 1000; exit 3'
	check "waits are in the trace" grep -q 'nanosleep' tracelet-out/hung_*.off-cpu.svg
	check_not "our own stops of the test's threads are none" grep -q 'ptrace_stop' tracelet-out/hung_*.off-cpu.svg
fi

# ---- a core ----

if command -v gcore >/dev/null; then
	timed --timeout 0.2 --core -- sleep 1000
	check "--core leaves a core" test -s "$(echo tracelet-out/hung_*.core)"
	check_equal "of the kernel's kind" 7f454c46 "$(head -c 4 tracelet-out/hung_*.core | od -An -tx1 | tr -d ' ')"
	check_equal "it is in the manifest" core "$(jq -r '.artifacts[] | select(.kind == "core") | .kind' tracelet-out/manifest.jsonl)"
	timed --timeout 0.2 --core --core-limit 4K -- sleep 1000
	check_equal "one that is too large" 124 "$status"
	check_not "is not kept" sh -c 'ls tracelet-out/*.core*'
	check_match "and one line says why" 'no core: .*--core-limit' "$stderr"
	fresh
	check_run "without tracing" 124 "$TRACELET" run --enabled no --core --timeout 0.2 -- sleep 1000
	check "too" test -s "$(echo tracelet-out/sleep_*.core)"
else
	skip "--core leaves a core" "no gcore"
fi

# ---- a core of a crash ----

crash='kill -SEGV $$'
if [ "$(cat /proc/sys/kernel/core_pattern)" = core ] && [ "$(ulimit -H -c)" != 0 ]; then
	ulimit -S -c 0
	for enabled in yes no; do
		fresh
		check_run "a crash with --core, --enabled $enabled" 139 "$TRACELET" run --enabled $enabled --core -- sh -c "$crash"
		check_equal "leaves a core" 7f454c46 "$(head -c 4 tracelet-out/sh_*.core | od -An -tx1 | tr -d ' ')"
		check_equal "beside the trace, not here" "tracelet-out" "$(ls)"
		check_equal "which is in the manifest" "tracelet-out/$(basename tracelet-out/*.core)" \
			"$(jq -r '.artifacts[] | select(.kind == "core").path' tracelet-out/manifest.jsonl)"
	done
	fresh
	run "$TRACELET" run --enabled no --core -- sh -c 'sh -c "kill -SEGV \$\$"; exit 3'
	check "a crash of a child leaves one, too" test -s "$(echo tracelet-out/sh_*.core)"
	fresh
	run "$TRACELET" run --enabled no --core --core-limit 8K -- sh -c "$crash"
	check_match "a core that is cut: one line" '^tracelet: warning: no core: it would be larger than --core-limit' "$stderr"
	check_equal "it is not kept" "" "$(find . -name '*core*')"
	fresh
	echo mine >core
	touch -d '1 hour ago' core
	run "$TRACELET" run --core -- sh -c 'exit 7'
	check_equal "an old file of that name stays" mine "$(cat core)"
	check_equal "the limit of a test without --core is its own" 0 "$("$TRACELET" run -q -- sh -c 'ulimit -c')"
	fresh
	(
		ulimit -S -c unlimited
		export ASAN_OPTIONS="${ASAN_OPTIONS:-}:disable_coredump=0" # a build with sanitizers forbids cores
		run "$TRACELET" run --enabled no --core -- sh -c "$crash"
		test -s core && test -s "$(echo tracelet-out/sh_*.core)"
	)
	check_equal "where cores are written anyway, they stay" 0 "$?"
	fresh
	check_run "with a hard limit of 0" 139 prlimit --core=0:0 "$TRACELET" run --enabled no --core -- sh -c "$crash"
	check_match "one line says why there is none" '^tracelet: warning: no core: the hard limit' "$stderr"
else
	skip "a core of a crash" "the kernel does not write cores to files here"
fi

done_testing
