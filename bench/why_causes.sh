#!/usr/bin/env bash
# Programs with one known cause each (tests/cli/helpers/causes.c): how often does `tracelet why` name cause,
# thread and function, on this machine as it is and with a busy task on every CPU? Time without a CPU, which a
# busy machine adds, does not count, but the sentence must name the cause beside it if that is 5 % of the time. Runs
# in which the kernel did not report a switch are counted apart. RUNS=20 runs of each.
. "$(dirname "$0")/lib.sh"
need_root
RUNS=${RUNS:-20}
causes=$(dirname "$TRACELET")/tests/cli/helpers/causes

# cause, then thread, reason (alternatives with |) and function of the largest segment
table='mutex holder sleep hold_mutex
rwlock holder sleep hold_rwlock
condition holder sleep signal_condition
semaphore holder sleep post
join holder sleep finish_late
inversion holder cpu hold_and_work
child child sleep take_long
vfork causes sleep spawn
pipe peer sleep answer_late
unix peer sleep answer_late
tcp peer sleep answer_late
udp peer sleep answer_late
epoll holder sleep raise_event
eventfd holder sleep raise_event
signal holder sleep send_signal
sleep causes sleep pause_a_while
timeout causes timeout poll_in_vain
socket_timeout causes timeout receive_in_vain
spin causes cpu spin
faults causes page-fault touch_pages
io_uring peer sleep answer_late
barrier holder sleep come_late
flock holder sleep hold_file
inotify holder sleep create_file
accept holder sleep connect_late
semaphore_timeout causes timeout take_in_vain
stopped child sleep thaw
message holder sleep send_late
timerfd causes sleep await_tick
spawn causes sleep pause_a_while
pool pool cpu do_job'

# hidden: whether the kernel did not report a switch of the last recording; then the path may end there.
hidden() {
	[ "$(tail -n 1 out/manifest.jsonl | jq .gaps)" != 0 ]
}

# attempt CAUSE THREAD REASON FUNCTION: 0 if the answer is right.
attempt() {
	"$TRACELET" run --quiet --sample --name "$1" --output-dir out -- "$causes" "$1" || return 0 # not possible here
	"$TRACELET" why --output-dir out --json "$1" >why.json
	jq -e --arg thread "$2" --arg reason "$3" --arg function "$4" '
		([.segments[] | select(.state != "ready" and .state != "unknown" and (.state != "waits" or .reason != "page-fault"))][0]) as $largest |
		$largest.thread == $thread and $largest.function == $function and
		($largest.reason | test("^(" + $reason + ")$")) and
		($largest.share < 0.05 or (.text | contains($function))) and
		([.segments[].ns] | add) == .wall_ns and
		all(.segments[]; (.waker.context // "") as $context |
			($context != "hardirq" and $context != "softirq") or .waker.thread == null)' why.json >/dev/null
}

# truth WHEN: prints the programs with misses, and holds the sum against the floor.
truth() {
	local right=0 all=0 unseen=0 cause thread reason function good i
	while read -r cause thread reason function; do
		good=0
		for ((i = 0; i < RUNS; i++)); do
			if attempt "$cause" "$thread" "$reason" "$function" </dev/null; then
				good=$((good + 1))
			elif hidden; then
				unseen=$((unseen + 1))
			else
				jq -r .text why.json | sed "s/^/  $cause: /"
			fi
		done
		[ "$good" = "$RUNS" ] || echo "$1, $cause: $good of $RUNS"
		right=$((right + good)) all=$((all + RUNS))
	done <<<"$table"
	echo "$1: $unseen of $all runs with wrong answers and switches that the kernel did not report"
	floor "$1: right answers, of $((all - unseen))" "$right" ">=" $((all - unseen))
}

truth "as it is"
busy=()
for ((i = 0; i < $(nproc); i++)); do
	sh -c 'while :; do :; done' &
	busy+=($!)
done
truth "all CPUs busy"
kill "${busy[@]}"
finish
