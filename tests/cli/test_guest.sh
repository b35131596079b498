# `tracelet guest` with an agent on this machine: a command's input and output, files, lost connections, malicious
# peers. tests/guest/test_agent.sh tests the same in a real guest.
. "$(dirname "$0")/lib.sh"
need_root
need_command python3 jq

peer() { # ARGUMENTS...: starts it in the background, and waits until it listens at $2
	python3 "$source/tests/cli/guest_peer.py" "$@" &
	peer=$!
	for _ in $(seq 500); do
		[ -e "$2" ] && return
		sleep 0.02
	done
}

token=() # of agent and host
agent() { # ADDRESS: starts it and waits until it answers
	"$TRACELET" agent --listen "$1" --linger 20 "${token[@]}" 2>agent.log &
	agent=$!
	for _ in $(seq 500); do
		"$TRACELET" guest --patience 20 "${token[@]}" "${2:-$1}" shell true 2>/dev/null </dev/null && return
		sleep 0.02
	done
}

export TRACELET_STATE_DIR=$work/state
agent "unix:$work/agent"
here=unix:$work/agent
guest() { "$TRACELET" guest "${token[@]}" "$here" "$@"; }

# ---- a command ----

run guest run --name hello -- sh -c 'echo to out; echo to err >&2; exit 3' </dev/null
check_equal "the status is the command's" 3 "$status"
check_equal "its standard output" "to out" "$(cat "$stdout")"
check_match "its standard error" '^to err$' "$stderr"
check_match "the summary shows it" '^tracelet: hello in unix:.*: failed: exit status 3' "$stderr"
check "there is one trace" test -e tracelet-out/hello_*.pb
check "which is good" "$TRACELET" check tracelet-out/hello_*.pb
check_equal "and knows the guest's clock" 1 "$("$TRACELET" info tracelet-out/hello_*.pb | grep -cE '^guest-clock +[0-9]+ -?[0-9]+ [0-9]+,[0-9]+ -?[0-9]+ [0-9]+$')"
"$TRACELET" convert -q tracelet-out/hello_*.pb again.pb
check_equal "which a conversion keeps" 1 "$("$TRACELET" info again.pb | grep -c '^guest-clock ')"
check_equal "the manifest names the file here" "$(realpath tracelet-out/hello_*.pb)" "$(jq -r '.artifacts[0].path' tracelet-out/manifest.jsonl)"
check_equal "with its size and checksum" "$(stat -c %s tracelet-out/hello_*.pb) $(sha256sum <tracelet-out/hello_*.pb | cut -c1-64)" \
	"$(jq -r '.artifacts[0] | "\(.size) \(.sha256)"' tracelet-out/manifest.jsonl)"
check_equal "and the clock's bound" true "$(jq '.guest_clock.bound_ns | . > 0 and . < 1e9' tracelet-out/manifest.jsonl)"
check_equal "nothing else is there" "hello manifest.jsonl" "$(ls tracelet-out | sed 's/_.*pb$//' | xargs)"

seq 200000 >numbers
run guest run --quiet -- sh -c 'cat; cat >&2' <numbers
check_equal "standard input goes in and comes out" "$(sha256sum <numbers)" "$(sha256sum <"$stdout")"
check_lines "a quiet one says nothing" 0 "$stderr"
run guest run -q -- true <numbers
check_equal "a command that does not read it does not hang" 0 "$status"
check_equal "a closed pipe ends the command as ever" "y 0" "$(guest run -q -- sh -c 'trap "" TERM; exec yes' 2>/dev/null </dev/null | head -n 1) ${PIPESTATUS[1]:-0}"
run guest run -q -- sh -c 'kill -SEGV $$' </dev/null
check_equal "a signal is reported as in a shell" 139 "$status"
run guest run -q -- no-such-command </dev/null
check_equal "not found" 127 "$status"
run guest run -q --enabled no -- sh -c 'exit 9' </dev/null
check_equal "not traced" 9 "$status"
run guest shell -- sh -c 'read -r word; echo "$word"; exit 4' <<<"a word"
check_equal "a command that is not traced: its output and status" "a word 4" "$(cat "$stdout") $status"
"$TRACELET" guest "$here" run -q -- sh -c 'trap "echo caught; exit 5" USR1; echo ready; while :; do sleep 0.02; done' >out </dev/null &
for _ in $(seq 500); do
	grep -q ready out && break
	sleep 0.02
done
kill -USR1 $!
wait $!
check_equal "signals are passed on" "5 caught" "$? $(tail -n 1 out)"

if command -v script >/dev/null; then
	printf 'test -t 0 && test -t 1 && echo on a $((1 + 1))-way terminal\nexit 7\n' |
		timeout 60 script -qec "$TRACELET guest $here shell /bin/sh" /dev/null >out
	check_equal "a shell on a terminal" "7 1" "${PIPESTATUS[1]} $(grep -c 'on a 2-way terminal' out)"
else
	skip "a shell on a terminal" "there is no script here"
fi

# ---- once more ----

run guest run --repro --name fails -- sh -c "[ -e $work/count ] && echo again && exit 0; touch $work/count; exit 3" </dev/null
check_equal "the status is the first run's" 3 "$status"
check_match "the second is reported" "fails was run once more: passed" "$stderr"
first=$("$TRACELET" artifact fails)
check "both traces are here" "$TRACELET" check "$first" "${first%.pb}.repro.pb"
check_equal "what the second printed, too" again "$(cat "${first%.pb}.repro.log")"
check_equal "the manifest distinguishes them" 'null,true' \
	"$(jq -r 'select(.test == "fails").repro' tracelet-out/manifest.jsonl | paste -sd ,)"

# ---- other verbs ----

run guest kmsg
check_equal "the kernel's log" 0 "$status"
run guest start operation
check_equal "an operation begins" 0 "$status"
run guest status
check_match "has a status" operation "$stdout"
run guest stop operation
check_equal "and ends" 0 "$status"
check "with its trace here" "$TRACELET" check tracelet-out/operation_*.pb
run guest no-such-verb
check_equal "what tracelet does not know there" 2 "$status"
run guest file /no/such/file
check_equal "a file that is not there" 1 "$status"
check_match "is named" '/no/such/file: No such file' "$stderr"
check_run "an invalid address" 125 "$TRACELET" guest nowhere run -- true
check_lines "one line" 1 "$stderr"
check_run "no agent there" 125 "$TRACELET" guest unix:/no/such run -- true
check_lines "one line again" 1 "$stderr"

# ---- files, and lost connections ----

head -c 50000000 /dev/urandom >big
run guest file "$work/big"
check "50 MB are the same" cmp "$stdout" big
run guest file -o copy "$work/big"
check "so are they in a file" cmp copy big
run "$TRACELET" guest --compress "$here" file "$work/numbers"
check "and compressed" cmp "$stdout" numbers

peer proxy "$work/proxy" "$work/agent" 7000001 4
run "$TRACELET" guest "unix:$work/proxy" file -o twice "$work/big"
check "cut four times, 50 MB are the same" cmp twice big
check_lines "it was cut" 4 proxy.cuts
kill $peer
peer proxy "$work/proxy2" "$work/agent" 1500 3
run "$TRACELET" guest "unix:$work/proxy2" run -q --name cut -- sh -c 'cat; sleep 0.2; echo end; exit 6' <numbers
check_equal "a command goes on while the connection is lost" "6 $( (cat numbers; echo end) | sha256sum)" "$status $(sha256sum <"$stdout")"
check_lines "it was cut, too" 3 proxy2.cuts
check "its trace is here" "$TRACELET" check tracelet-out/cut_*.pb
kill $peer

peer damage "$work/damage" "$work/agent" 300000
run "$TRACELET" guest "unix:$work/damage" run -q --enabled no -- sh -c 'cat; exit 6' <numbers
check_equal "a damaged byte is sent again" "6 $(sha256sum <numbers)" "$status $(sha256sum <"$stdout")"
check_lines "one byte was damaged" 1 damage.flips
check_lines "and nothing is reported" 0 "$stderr"
kill $peer 2>/dev/null

# ---- malicious peers ----

run "$TRACELET" guest --max-artifact-size 1M "$here" file -o large "$work/big"
check_equal "more than is allowed" 125 "$status"
check_match "is reported" 'max-artifact-size' "$stderr"
check_not "and leaves no file that looks whole" test -e large

peer hostile "$work/evil" huge outside absolute link endless short escape message stream ack length manifest
hostile() { # CASE, in the peer's order: sets $status, and leaves the folder out-CASE
	mkdir -p "out-$1"
	ln -sf "$work/target" "out-$1/link"
	run timeout 60 "$TRACELET" guest --patience 5 --max-artifact-size "${2:-1G}" "unix:$work/evil" run --quiet --output-dir "out-$1" -- true </dev/null
}
hostile huge
check_equal "a length of 64 GB is refused" 125 "$status"
check_match "and reported" 'more than --max-artifact-size' "$stderr"
hostile outside
check "a name stays inside the folder" test -e out-outside/___.._outside -a ! -e outside -a ! -e ../outside
hostile absolute
check "an absolute one as well" test -e out-absolute/_tmp_absolute -a ! -e /tmp/absolute
hostile link
check_not "no link is followed" test -e target
check "the file has another name" grep -q xxxxx out-link/link_1
hostile endless 4K
check_equal "a file without end is refused" 125 "$status"
check_not "and is not whole" test -e out-endless/endless.pb
hostile short
check "a file that is too short is marked" test -e out-short/short.pb.partial -a ! -e out-short/short.pb
hostile escape
check_equal "nothing of the guest's reaches the terminal's own language" 0 "$(grep -c $'\x1b' "$stderr")"
for case in message stream ack length; do
	hostile $case
	check_equal "$case, impossible: reported, and the session ends" "125 1" "$status $(grep -c '^tracelet: unix:' "$stderr")"
done
mkdir -p out-manifest
echo mine >out-manifest/precious.pb
hostile manifest
manifest=out-manifest/manifest.jsonl
check_match "garbage that is called a trace is reported" 'the guest sent a damaged trace: .*mine\.pb: expected' "$stderr"
check_equal "and is none" file "$(jq -r '.artifacts[]?.kind' "$manifest")"
check_equal "a guest's lines are about the test that was asked for" "true__other case,true test" "$(jq -r '"\(.test) \(.kind)"' "$manifest" | paste -sd ,)"
check_equal "which ran what was asked for" "true true" "$(jq -r '.command[]' "$manifest" | xargs)"
check_equal "only what was received is an artifact, once" "$(realpath out-manifest/mine.pb)" "$(jq -r '.artifacts[].path' "$manifest")"
check_equal "with the sum of the file here" "$(sha256sum <out-manifest/mine.pb | cut -c1-64)" "$(jq -r '.artifacts[].sha256' "$manifest")"
check_equal "a case's trace, too, has to be received" null "$(jq -r '.cases[]?.trace' "$manifest")"
check_equal "the host says which guest it was, and what it did not ask for is gone" "unix:$work/evil null null null null" \
	"$(jq -r 'select(.kind == "test") | "\(.guest) \(.guest_failed) \(.variant) \(.repro) \(.unknown)"' "$manifest")"
check_equal "the result steers no terminal" "passed?[31m" "$(jq -r 'select(.kind == "test").result' "$manifest")"
check_equal "nor does any other text, whatever its member is called" "" \
	"$(jq -c 'paths(strings) as $at | select(getpath($at) | explode | any(. < 32 or (. >= 127 and . < 160))) | $at' "$manifest")"
check_equal "and it says nothing about projects, suites or sources" '[null,null,null,null,null]' \
	"$(jq -c 'select(.kind == "test") | [.parent, .project, .suite, .machine_class, .source.fork]' "$manifest")"
check_equal "but about its own test" '{"x":1} {"a":"??[31m\\"} {"??":[1]}' \
	"$(jq -r 'select(.kind == "test") | "\(.metrics) \(.waited) \(.functions)"' "$manifest")"
check_match "lines about anything else are dropped and reported" "ignoring a line in the guest's manifest" "$stderr"
run "$TRACELET" check --landed out-manifest --name other
check_match "no other test has a session by that" 'a session of other, found none' "$stderr"
"$TRACELET" run -q --output-dir out-manifest --max-age 1s --name later -- true
check_equal "limits of the folder cost nothing that was here before" mine "$(cat out-manifest/precious.pb)"
echo '<testsuite><testcase name="true"/><testcase name="other"/></testsuite>' >guest.xml
check_run "junit" 0 "$TRACELET" junit --quiet --manifest "$manifest" guest.xml
check_not "attaches no file from elsewhere" grep -q -e passwd -e precious guest.xml
kill $peer 2>/dev/null
peer garbage "$work/noise"
run timeout 60 "$TRACELET" guest --patience 20 "unix:$work/noise" run -q -- true </dev/null
check_equal "a peer that sends garbage" 125 "$status"
check_match "is no agent" 'not a tracelet-agent' "$stderr"
kill $peer 2>/dev/null
peer silent "$work/silent"
run timeout 60 "$TRACELET" guest --patience 1 "unix:$work/silent" run -q -- true </dev/null
check_equal "a peer that says nothing" 125 "$status"
check_match "is reported" 'no answer from the guest' "$stderr"
kill $peer

mkdir full
if mount -t tmpfs -o size=1M tmpfs full 2>/dev/null; then
	run guest file -o full/big "$work/big"
	check_equal "a full disk" 125 "$status"
	check_match "is reported" 'full/big.partial: cannot be written: No space left' "$stderr"
	check_not "and leaves no file that looks whole" test -e full/big
	head -c 1M /dev/zero >full/filler 2>/dev/null
	run guest run -q --output-dir full -- sh -c 'exit 8' </dev/null
	check_equal "a test's status is its own all the same" 8 "$status"
	umount full
else
	skip "a full disk" "no tmpfs can be mounted"
fi

# ---- an agent that dies ----

"$TRACELET" guest --patience 1 "$here" run --quiet --name dies -- sh -c 'echo ready; /bin/true; sleep 60' >out 2>err </dev/null &
for _ in $(seq 500); do
	grep -q ready out && break
	sleep 0.02
done
kill -9 $agent
rm -f agent # no new listener will come
wait $!
check_equal "an agent that is killed" 125 $?
check_match "is reported" 'lost the connection to the guest' err
check_equal "the manifest distinguishes it from a failed test" "guest failed" "$(jq -r 'select(.test == "dies").result' tracelet-out/manifest.jsonl)"
check_not "no trace looks whole" ls tracelet-out/dies_*[0-9].pb

# ---- other ways ----

tcp=$((20000 + $$ % 20000))
(umask 077 && head -c 32 /dev/urandom >token)
token=(--token-file token)
agent "tcp:127.0.0.1:$tcp"
here=tcp:127.0.0.1:$tcp
run guest file "$work/numbers"
check "over TCP" cmp "$stdout" numbers
peer damage "tcp:$((tcp + 1))" "tcp:$tcp" 300000
run timeout 60 "$TRACELET" guest "${token[@]}" "tcp:127.0.0.1:$((tcp + 1))" run -q --enabled no -- sh -c 'cat; exit 6' <numbers
check_equal "with a token, too, a damaged byte is sent again" "6 $(sha256sum <numbers)" "$status $(sha256sum <"$stdout")"
kill $peer 2>/dev/null
kill $agent
wait $agent
check_equal "an agent ends when told to" 0 $?
token=()
here="exec:$TRACELET agent --listen stdio"
run guest run -q -- sh -c 'cat; exit 2' <numbers
check_equal "over a command's standard input and output" "2 $(sha256sum <numbers)" "$status $(sha256sum <"$stdout")"

done_testing
