# A process of the test that crashes: signal, process, thread and stack are reported.
. "$(dirname "$0")/lib.sh"
. "$source/tests/cli/helpers/words.sh"
need_bpf

# crash STATUS OPTIONS... -- COMMAND...: writes summary.json and $stderr.
crash() {
	local expected=$1
	shift
	fresh
	run "$TRACELET" run --name crashed --json summary.json "$@"
	check_equal "$*: the status is the test's" "$expected" "$status"
}

# told FILTER: a value of the only crash.
told() {
	jq -r ".crashes | if length == 1 then .[0] | $1 else \"there are \(length)\" end" summary.json
}

# calls: the functions of the stack, innermost first, up to main.
calls() {
	told '[.stack[] | split(" +"; null)[2] | split("+")[0]] | .[:(index("main") // -2) + 1] | join(" ")' |
		sed 's/\.cold\|\.part\.0\|\.isra\.0//g'
}

crash 139 -- "$helpers/crashes" segv
check_equal "a fault" "11 SIGSEGV crashes 1 0x0" "$(told '"\(.signal) \(.name) \(.thread) \(.code) \(.address)"')"
check_equal "its stack" "inner middle main" "$(calls)"
check_equal "a process is its first thread" true "$(told '.pid == .tid')"
check_match "with modules and source lines" '"#0 .* inner\+0x[0-9a-f]+  .*/crashes\+0x[0-9a-f]+  .*crashes\.c:[0-9]+"' summary.json
check_match "the summary shows it" '^  crash   SIGSEGV, address 0x0 is not mapped, process [0-9]+, thread [0-9]+ \(crashes\)$' "$stderr"
check_match "with the stack" '^ +#1 .* middle\+' "$stderr"
check_equal "the manifest too" SIGSEGV "$(jq -r '.crashes[0].name' tracelet-out/manifest.jsonl)"
trace=$(echo tracelet-out/crashed_*.pb)
check "the trace is sound" "$TRACELET" check --quiet "$trace"
tid=$(told .tid)

crash 134 -- "$helpers/crashes" abort
check_equal "an abort, through the C library" "SIGABRT inner middle main" \
	"$(told .name) $(calls | sed 's/.*abort //')"
more=$(sed -n 's/^ *(\([0-9]*\) more frames\{0,1\}, in manifest.jsonl)$/\1/p' "$stderr")
check_equal "the summary says how many frames it leaves out" "$(told '.stack | length')" $(($(grep -cE '^ +#[0-9]' "$stderr") + ${more:-0}))
check_match "no other process sent it" '^  crash   SIGABRT, process [0-9]+' "$stderr"

crash 136 -- "$helpers/crashes" fpe
check_match "a division" '^  crash   SIGFPE, integer division by zero' "$stderr"
crash 132 -- "$helpers/crashes" ill
check_equal "an illegal instruction" "SIGILL inner middle main" "$(told .name) $(calls)"
crash 135 -- "$helpers/crashes" bus
check_match "a mapping without a file behind it" '^  crash   SIGBUS, address 0x[0-9a-f]+ is beyond the end of its file' "$stderr"
crash 139 -- "$helpers/crashes" call
check_match "a call to nowhere" '^ +#0 +0x0000000000000000$' "$stderr"
check_match "has a caller" '^ +#1 .* inner\+' "$stderr"
crash 139 -- "$helpers/crashes" kill
check_equal "a signal that was sent" "SIGSEGV 0" "$(told '"\(.name) \(.code)"')"

crash 139 -- "$helpers/crashes" overflow
check_equal "a stack overflow has its frames" "even odd even odd" \
	"$(told '[.stack[1:5][] | split(" +"; null)[2] | split("+")[0]] | sort | join(" ")' | sed 's/even even odd odd/even odd even odd/')"
check_match "the summary shows those that repeat once" '^ +\(these frames are repeated [0-9]+ times\)$' "$stderr"
check "in a few lines" test "$(grep -cE '^ +#[0-9]' "$stderr")" -le 8
check_match "and that the stack is longer" '^ +\(cut here: ' "$stderr"
crash 139 -- "$helpers/crashes" large
check_match "a stack that is larger than what is saved says so" '^ +\(cut here: only the top 32 kB of the stack were saved\)$' "$stderr"
crash 139 -- "$helpers/crashes" segv
check_not "a whole stack does not" grep 'cut here' summary.json

crash 139 -- "$helpers/crashes" segv thread
check_equal "in another thread" "the-culprit false" "$(told '"\(.thread) \(.pid == .tid)"')"
check_match "its stack begins there" '"#[0-9]+ .* in_thread\+' summary.json

crash 0 -- "$helpers/crashes" abort child
check_equal "in a child, while the test passes" "SIGABRT" "$(told .name)"
check_match "is reported as well" '^  crash   SIGABRT' "$stderr"
check_not "without its stack, which the test expected" grep -E '^ +#[0-9]' "$stderr"
check_equal "the stack is in the manifest, through the C library, whose headers a child has not read" "inner middle main" \
	"$(calls | sed 's/.*abort //')"
check_match "up to the first function" '"#[0-9]+ .* _start\+' summary.json

crash 12 -- "$helpers/crashes" handled
check_equal "a signal that is handled is no crash" null "$(jq .crashes summary.json)"
crash 3 -- sh -c 'exit 3'
check_equal "nor is a failure" null "$(jq .crashes summary.json)"
crash 143 -- sh -c 'kill -TERM $$'
check_equal "nor another signal" null "$(jq .crashes summary.json)"

fresh
crashes=$helpers/crashes
run "$TRACELET" run --name many --json summary.json -- sh -c 'for i in $(seq 40); do "$0" segv; done; exit 0' "$crashes"
check_equal "of many crashes some are reported, the rest is counted" "16 24" "$(jq -r '"\(.crashes | length) \(.crashes_more)"' summary.json)"
check_equal "the first ones and the last one have a stack" "0 1 2 15" \
	"$(jq -r '[.crashes | to_entries[] | select(.value.stack | length > 2).key] | join(" ")' summary.json)"
check_match "the summary counts them" '^  crash   and 39 more crashes, in manifest.jsonl$' "$stderr"
fresh
run "$TRACELET" run --name many --json summary.json -- sh -c 'for i in $(seq 20); do "$0" segv & echo $! >>pids; wait; done; exit 1' "$crashes"
check_equal "they are the first ones, and the last" "$(sed -n '1,15p;20p' pids | paste -sd ' ')" "$(jq -r '[.crashes[].pid] | join(" ")' summary.json)"
check_equal "of a test that fails the summary shows four" 4 "$(grep -cE '^  crash   SIGSEGV' "$stderr")"
check_match "and counts the others" '^  crash   and 16 more crashes' "$stderr"
check "the trace has all of them, and is sound" "$TRACELET" check --quiet tracelet-out/many_*.pb

fresh
run "$TRACELET" run --name small --buffer-size 4K --json summary.json -- "$crashes" segv
check_equal "without room for it the test is not touched" 139 "$status"
check_equal "and the signal is reported" "SIGSEGV" "$(told .name)"

fresh
cp "$crashes" gone-program
run "$TRACELET" run --json summary.json -- sh -c 'cp gone-program x; ./x segv; rm x; exit 0'
check_equal "a program that is gone" SIGSEGV "$(told .name)"
check_match "has addresses" '"#0 +0x[0-9a-f]{16}' summary.json

fresh
run "$TRACELET" run --name kept --keep-spool -- "$crashes" segv
check_run "the spool converts" 0 "$TRACELET" convert tracelet-out/kept_*.spool again.pb
check "with the crash in it" grep -aq 'crash: SIGSEGV' again.pb
check "and its stack" grep -aq 'crashes.c:' again.pb

if "$source/tests/perfetto/setup" >/dev/null 2>&1; then
	run "$TRACELET" run --name asked -- "$crashes" segv thread
	check_equal "Perfetto has it on the thread's track" "the-culprit" \
		"$(ask "$(the_trace asked)" "select thread.name from slice join thread_track on slice.track_id = thread_track.id
			join thread using (utid) where slice.name glob 'crash: SIGSEGV*'" | tail -n1)"
else
	skip "Perfetto has it on the thread's track" "no importer"
fi

done_testing
