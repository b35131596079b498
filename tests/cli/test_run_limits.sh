# The limits a test runs under belong to the test: it runs, with its own status, however little they leave
# for the tracer, and whatever the tracer does.
. "$(dirname "$0")/lib.sh"
. "$source/tests/cli/helpers/words.sh"
need_bpf
is_sanitized && skip_all "a sanitizer needs more than these limits leave"

# under LIMIT VALUE COMMAND...: with `ulimit LIMIT VALUE`, soft and hard.
under() {
	local limit=$1 value=$2
	shift 2
	bash -c 'ulimit "$1" "$2" || exit 99; shift 2; exec "$@"' under "$limit" "$value" "$@"
}

# ---- sizes of files ----

for kilobytes in 16384 1024 8; do
	fresh
	check_run "files of at most $kilobytes KB: the test runs" 3 under -f "$kilobytes" "$TRACELET" run -- bash -c 'ulimit -f; exit 3'
	check_equal "and has this limit" "$kilobytes" "$(cat "$stdout")"
done

fresh
check_run "no file at all: the test runs" 3 under -f 0 "$TRACELET" run -- sh -c 'exit 3'
fresh
check_run "a soft limit alone: the test runs" 3 under -Sf 0 "$TRACELET" run -- sh -c 'exit 3'
check "and is traced" test -s "$(the_trace)"

# ---- descriptors ----

for count in 4 5 6 7 8 12 20; do
	fresh
	check_run "$count descriptors: the test runs" 3 under -n "$count" "$TRACELET" run -- sh -c 'ulimit -n; exit 3'
	check_equal "and has them all" "$count" "$(cat "$stdout")"
done
fresh
check_run "6 descriptors: one line says that there is no trace" 0 under -n 6 "$TRACELET" run -- true
check_equal "and why" 1 "$(grep -c '^tracelet: warning: no trace: ' "$stderr")"
check_run "--strict: the test is not run" 125 under -n 6 "$TRACELET" run --strict -- true

# ---- processes ----

# Root is not limited, so this runs as another user.
if id nobody >/dev/null 2>&1 && command -v setpriv >/dev/null; then
	fresh
	chmod 777 .
	processes=$(($(ps -u nobody -o pid= | wc -l) + 1))
	check_run "no process beyond the test: it runs" 3 \
		setpriv --reuid nobody --clear-groups bash -c "ulimit -u $processes; exec $TRACELET run -- sh -c 'exit 3'"
fi

# ---- a tracer that hangs ----

# Before the test begins: a kernel file that never answers.
fresh
mkdir -p kernel/kvm/kvm_exit
mkfifo kernel/kvm/kvm_exit/format
check_run "the tracer hangs at its start: the test runs" 3 \
	env TRACELET_TRACEFS="$work/kernel" timeout 60 "$TRACELET" run --profile embedded --tracer-limit 1 -- sh -c 'exit 3'
check_equal "and one line says so" 1 "$(grep -c '^tracelet: warning: no trace: the tracer hangs (--tracer-limit 1)' "$stderr")"

# After its end: a manifest without a reader.
fresh
mkdir tracelet-out
mkfifo tracelet-out/manifest.jsonl
check_run "a FIFO as manifest: the status is the test's" 3 timeout 60 "$TRACELET" run --max-age 7d -- sh -c 'exit 3'
check_match "one line says that the manifest cannot be written" '^tracelet: warning: .*manifest.jsonl: ' "$stderr"
check_not "and nothing hung" grep -q 'tracer-limit' "$stderr"

# A truncated line does not swallow the next one.
fresh
"$TRACELET" run -q --name first -- true
truncate -s -40 tracelet-out/manifest.jsonl
"$TRACELET" run -q --name second -- true
check_equal "a torn line: the next one is whole" second "$(tail -n 1 tracelet-out/manifest.jsonl | jq -r .test)"

# tracer_of PID: its tracer.
tracer_of() {
	pgrep -P "$1" -x tracelet-tracer
}
fresh
mkfifo go
"$TRACELET" run --tracer-limit 1 -- sh -c 'echo >begun; read -r line <go; exit 3' 2>stderr &
tracelet=$!
wait_until test -s begun
tracer=$(tracer_of $tracelet)
kill -STOP "$tracer"
echo >go
wait $tracelet
check_equal "the tracer was stopped: the status is the test's" 3 "$?"
check_match "one line says so, and what to do" \
	'^tracelet: warning: the tracer made no progress for 1 s and was killed \(--tracer-limit\); to recover what it recorded: tracelet convert tracelet-out/sh_.*\.spool out\.pb' stderr
ended() { # PID: it has ended, though it may still be a zombie
	! kill -0 "$1" || grep -q '^State:.Z' "/proc/$1/status"
}
check "the tracer is gone" wait_until ended "$tracer"
check "what it recorded converts" "$TRACELET" convert tracelet-out/sh_*.spool out.pb

# A signal ends the waiting.
fresh
mkfifo go
"$TRACELET" run --tracer-limit 60 -- sh -c 'echo >begun; read -r line <go; exit 3' 2>stderr &
tracelet=$!
wait_until test -s begun
tracer=$(tracer_of $tracelet)
test=$(pgrep -P $tracelet -x sh)
kill -STOP "$tracer"
echo >go
wait_until ended "$test"
terminated() { # the first signal may still be forwarded to the test
	kill -TERM $tracelet
	ended $tracelet
}
wait_until terminated
wait $tracelet
check_equal "SIGTERM ends the waiting: the status is the test's" 3 "$?"
check_match "and says that the trace will come" '^tracelet: warning: interrupted; finishing the trace in the background' stderr
kill -CONT "$tracer"
check "it comes" wait_until sh -c 'test -s tracelet-out/manifest.jsonl'

done_testing
