# `tracelet guest` with every kind of address, through connections that are cut at random, with a gigabyte; and
# what a user sees while waiting, after Ctrl-C, or with another version. The agent is on this machine.
. "$(dirname "$0")/lib.sh"
need_root
need_command python3 jq

export TRACELET_STATE_DIR=$work/state
peers=()
peer() { # KIND LISTEN ARGUMENTS...: starts it in the background, and waits until it listens
	python3 "$source/tests/cli/guest_peer.py" "$@" &
	peers+=($!)
	for _ in $(seq 1000); do
		[ -e "$2" ] && return
		sleep 0.01
	done
}

token=() # of agent and host
agent() { # ADDRESS [HOST'S ADDRESS [OPTION...]]: until it answers; a script's '&' makes it ignore SIGINT
	"$TRACELET" agent --listen "$1" "${token[@]}" "${@:3}" 2>agent.log &
	agent=$!
	here=${2:-$1}
	for _ in $(seq 1000); do
		"$TRACELET" guest --patience 20 "${token[@]}" "$here" shell true 2>/dev/null </dev/null && return
		sleep 0.01
	done
}
guest() { timeout 100 "$TRACELET" guest "$here" "$@"; }
until_file() { # REGEX FILE
	for _ in $(seq 1000); do
		grep -Eq "$1" "$2" 2>/dev/null && return
		sleep 0.01
	done
}
seq 200000 >numbers
sum=$(sha256sum <numbers)

# ---- addresses ----

# ways WHAT: a command's input and output, a file, an exit status.
ways() {
	run guest run -q --name way -- sh -c 'cat; exit 6' <numbers
	check_equal "$1: a traced command, both ways" "6 $sum" "$status $(sha256sum <"$stdout")"
	check "$1: its trace" "$TRACELET" check tracelet-out/way_*.pb
	rm -rf tracelet-out
	run guest file "$work/numbers"
	check_equal "$1: a file" "0 $sum" "$status $(sha256sum <"$stdout")"
	run guest shell sh -c 'kill -TERM $$' </dev/null
	check_equal "$1: a signal" 143 "$status"
}
peer serial "$work/line" "$work/other-end"
agent "serial:$work/line" "serial:$work/other-end"
ways "a serial line"
kill $agent
agent "unix:$work/agent"
ways "a Unix socket"
peer hybrid "$work/hybrid" "$work/agent" 21580
here=vsock:$work/hybrid
ways "a VMM's socket for vsock"
here=vsock:$work/hybrid:77
run guest shell true
check_equal "a port without a listener" "125 1" "$status $(wc -l <"$stderr")"
check_match "is reported" 'nothing listens on port 77' "$stderr"

# ---- cut at random ----

cut() { # SEED OPTION...
	local seed=$1
	shift
	peer chaos "$work/chaos$seed" "$work/agent" "$seed" 8
	run timeout 100 "$TRACELET" guest "$@" "unix:$work/chaos$seed" run -q --name "cut$seed" -- sh -c 'cat; cat numbers >&2; exit 7' <numbers
	check_equal "cut by seed $seed ($*): both ways, all of it, once" "7 $sum $sum" "$status $(sha256sum <"$stdout") $(sha256sum <"$stderr")"
	check "and its trace" "$TRACELET" check tracelet-out/cut"$seed"_*.pb
	check "it was cut" test "$(wc -l <"chaos$seed.cuts")" -ge 3
}
cut 1
cut 2 --compress
cut 3
cut 4 --compress --no-live

# ---- what is counted ----

here=unix:$work/agent
guest start twin 2>/dev/null
mkdir -p tracelet-out
stamp=$(guest status | sed -n 's/.*\(twin_[0-9_]*\).pb.*/\1/p')
touch "tracelet-out/$stamp.pb"
run guest stop twin
check_equal "a name that is taken gets a number, before its extension" "tracelet-out/${stamp}_1.pb" "$(sed -n 's/ (.*//p' "$stdout")"
check_equal "and it knows the clock" 1 "$("$TRACELET" info "tracelet-out/${stamp}_1.pb" | grep -c '^guest-clock ')"

# ---- other verbs ----

sh -c 'while :; do :; done' &
spinner=$!
run guest perf -d 0.3
check_equal "perf: a trace and a flame graph" "0 1 1" "$status $(grep -c '\.pb (' "$stdout") $(grep -c '\.svg (' "$stdout")"
run guest perf -d never
check_equal "perf: an invalid time" "2 1" "$status $(wc -l <"$stderr")"
"$TRACELET" guest "$here" perf -p $spinner -F 99 >out 2>&1 &
first=$!
for _ in $(seq 500); do
	guest status | grep -q perf && break
	sleep 0.02
done
kill -INT $first
wait $first
check_equal "perf: Ctrl-C ends it, and the trace comes" 1 "$(grep -c '\.pb (' out)"
kill $spinner
run guest heap -n no-such-process
check_equal "heap: a missing process is reported with the running ones" "2 1" "$status $(grep -c "running: .*tracelet" "$stderr")"
# A process with a unique name.
if [ "$(uname -m)" = x86_64 ]; then
	cp "$TRACELET_HELPERS/heap_server" "heap$$"
	mkfifo words answers
	"./heap$$" <words >answers &
	served=$!
	exec 7>words 8<answers
	"$TRACELET" guest "$here" heap -n "heap$$" >heap.json 2>heap.err 7>&- 8<&- </dev/null &
	first=$!
	until_file 'watching|cannot|no uprobes' heap.err
	echo plain >&7
	read -r -t 60 _ <&8
	kill -INT $first
	wait $first
	check_equal "heap: a profile of a process by its name, Ctrl-C ends it" "0 2" "$? $(jq .dhatFileVersion heap.json)"
	check "heap: with what it allocated meanwhile" sh -c "'$TRACELET' fold --metric blocks heap.json | grep -q give"
	exec 7>&- 8<&-
	wait $served
	check_equal "heap: the process went on, and ended as it does" 0 $?
else
	skip "heap of a process" "stacks can be walked only on x86-64"
fi

# ---- users ----

"$TRACELET" guest "$here" run -q -- sh -c 'trap "echo caught; exit 42" INT; echo ready; while :; do sleep 0.02; done' >out </dev/null &
first=$!
until_file ready out
run guest run -q -- sh -c 'echo second; exit 4' </dev/null
check_equal "a second host at the same time" "4 second" "$status $(cat "$stdout")"
kill -INT $first
wait $first
check_equal "Ctrl-C meets the command" "42 caught" "$? $(tail -n 1 out)"

"$TRACELET" guest --patience 60 "$here" run -q --name waits -- sh -c 'echo ready; sleep 60' >out 2>err </dev/null &
first=$!
until_file ready out
sockets() { ls -l "/proc/$first/fd" | grep -c socket:; }
connected=$(sockets)
kill -STOP $agent
mv agent agent.away # the connection is cut, and there is no listener
kill -9 $agent
until [ "$(sockets)" -lt "$connected" ]; do sleep 0.01; done # it has noticed
kill -INT $first
timeout 20 tail --pid=$first -f /dev/null
wait $first
check_equal "Ctrl-C while a lost connection is waited for" "125 1" "$? $(grep -c 'interrupted while reconnecting' err)"

agent "unix:$work/short" "unix:$work/short" --linger 0.3
"$TRACELET" guest "$here" run -q -- sh -c 'sleep 7771 & echo ready; sleep 7772' >out </dev/null &
first=$!
until_file ready out
kill -9 $first
for _ in $(seq 1000); do
	pgrep -f '^sleep 777[12]$' >/dev/null || break
	sleep 0.01
done
check_equal "a host that never comes back: nothing of its command stays" "" "$(pgrep -f '^sleep 777[12]$')"

peer version "$work/version"
run timeout 30 "$TRACELET" guest "unix:$work/version" run -q -- true </dev/null
check_equal "an agent of another version" "125 1" "$status $(wc -l <"$stderr")"
check_match "is reported as such" 'version 2 of the protocol, this tracelet version 1' "$stderr"

peer hostile "$work/evil" damaged bomb nul many words
for case in damaged bomb nul many words; do
	run timeout 60 "$TRACELET" guest --patience 5 "unix:$work/evil" run --quiet --output-dir "out-$case" -- true </dev/null
	check_equal "$case, impossible: reported, and the session ends" "125 yes" "$status $(grep -qE 'by the guest|not a tracelet-agent' "$stderr" && echo yes)"
done

# ---- agents that do not answer ----

kill $agent
agent "unix:$work/patient"
# no_answer CASE: what a host says of an agent that takes requests and answers none, and how long it waits.
no_answer() {
	peer hostile "$work/$1" "$1"
	run timeout 60 "$TRACELET" guest --patience 2 "unix:$work/$1" run -q --enabled no -- true </dev/null
}
no_answer mute
check_equal "a mute agent" "125 1" "$status $(wc -l <"$stderr")"
check_match "is reported" 'the guest has been silent for 2 s' "$stderr"
no_answer forgets
check_equal "an agent that answers pings, but lost the session" "125 1" "$status $(wc -l <"$stderr")"
check_match "is reported" 'answers pings, but has not answered this session for 2 s' "$stderr"
for case in mute forgets; do
	peer hostile "$work/$case-signal" "$case"
	"$TRACELET" guest --patience 60 "unix:$work/$case-signal" run -q --enabled no -- true 2>err </dev/null &
	host=$!
	# It has asked when it blocks the signal, to pass it on. So does the shell that becomes the host.
	until [ "$(readlink "/proc/$host/exe")" = "$TRACELET" ]; do sleep 0.01; done
	until grep -q '^SigBlk:.*[4-7c-f]...$' "/proc/$host/status" 2>/dev/null || ! kill -0 $host 2>/dev/null; do
		sleep 0.02
	done
	kill -TERM $host
	wait $host
	check_equal "SIGTERM ends a host that waits for an agent ($case)" "125 1" "$? $(grep -c 'interrupted; the guest does not answer' err)"
done
run "$TRACELET" guest --patience 2 "$here" run -q --enabled no -- sh -c 'sleep 5; exit 6' </dev/null
check_equal "a command that is silent for longer than the patience is not given up" 6 "$status"
head -c 20000000 /dev/urandom >noise
peer noisy "$work/noisy" "$work/patient" 700001
run "$TRACELET" guest --patience 30 "unix:$work/noisy" file -o noisy-copy "$work/noise"
check "through a link that flips bits, a file is the same" cmp noisy-copy noise
check "bits were flipped" test "$(wc -l <noisy.flips)" -ge 5

# ---- a gigabyte ----

if is_sanitized; then
	skip "a gigabyte is the same" "a sanitizer's program is slow, and its memory says nothing"
else
	# Holes, and a random block in each sixteenth, at odd offsets: lost, duplicated or moved data is noticed.
	head -c 4M /dev/urandom >block
	for ((i = 0; i < 16; i++)); do
		dd if=block of=gigabyte bs=1M seek=$((i * 67108864 + i * 4099)) oflag=seek_bytes conv=notrunc status=none
	done
	truncate -s 1G gigabyte
	tcp=$((20000 + $$ % 20000))
	(umask 077 && head -c 32 /dev/urandom >token)
	token=(--token-file token)
	agent "tcp:127.0.0.1:$tcp"
	python3 - "$TRACELET" "$here" "$work/gigabyte" >host.memory <<-'END'
		import resource, subprocess, sys
		host = subprocess.Popen([sys.argv[1], "guest", "--token-file", "token", sys.argv[2], "file", sys.argv[3]], stdout=subprocess.PIPE)
		same = subprocess.run(["cmp", "-", sys.argv[3]], stdin=host.stdout).returncode
		status = host.wait()
		usage = subprocess.run(["true"]) and resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
		print(status, same, usage)
	END
	read -r code same memory <host.memory
	check_equal "a gigabyte is the same, over TCP" "0 0" "$code $same"
	check "in 64 MB of the host's memory ($memory kB)" test "$memory" -lt 65536
	memory=$(awk '/^VmHWM/ { print $2 }' /proc/$agent/status)
	check "and of the agent's ($memory kB)" test "$memory" -lt 65536
	kill $agent
	token=()
	agent "unix:$work/bulk"
	check "and a part of it over a Unix socket" sh -c "head -c 200M gigabyte >part && '$TRACELET' guest '$here' file '$work/part' | cmp - part"
fi

# ---- messages while waiting ----

if command -v script >/dev/null; then
	head -c 50000000 /dev/urandom >big
	peer slow "$work/slow" "${here#unix:}" 9000000
	timeout 100 script -qec "$TRACELET guest unix:$work/slow file -o copy $work/big" /dev/null >screen </dev/null
	check "a slow file arrives" cmp copy big
	check_match "meanwhile a line on the terminal shows the progress" 'big: .* MB of 50.* MB, .*B/s' screen
	check_equal "and is gone at the end" $'\r\033[K' "$(tail -c 4 screen)"
else
	skip "how far a file is" "there is no script here"
fi
kill "${peers[@]}" $agent 2>/dev/null
done_testing
