# `tracelet why` on small programs with one real-life problem each, which are beside the recordings of other
# tools: a lock during fsync, a name server that does not answer, a full pipe ...
. "$(dirname "$0")/lib.sh"
need_root
[ "$(uname -m)" = x86_64 ] || skip_all "stacks can be walked only on x86-64"
planted=${TRACELET_CORPUS:-$source/../shared/corpus}/planted
[ -d "$planted" ] || skip_all "the planted problems are not here"

# plant NAME [OPTION...]: leaves the answer in why.json and why.txt.
plant() {
	local name=$1
	shift
	[ -e "$name" ] || cc -g -O1 -w -pthread -o "$name" "$planted/$name.c"
	if [[ " $* " == *" --timeout "* ]]; then # it ends in a wait
		run_whole "$TRACELET" run --quiet --sample "$@" -- "./$name"
		"$TRACELET" why --json "$name" >why.json
	else
		explain_whole "$name" "$TRACELET" run --quiet --sample "$@" -- "./$name"
	fi
	"$TRACELET" why "$name" >why.txt
	[ -z "${SHOW_ANSWERS:-}" ] || note "$(head -n 1 why.txt)"
}

# unclear DESCRIPTION: skips the check where switches stay hidden.
unclear() {
	hidden && skip "$1" "this kernel did not report some switches in any of eight recordings"
}

# says, is: check_match and check_equal of an answer.
says() {
	unclear "$1" || check_match "$@"
}

is() {
	unclear "$1" || check_equal "$@"
}

# cause NAME "THREAD REASON FUNCTION": of the largest segment that is not a busy machine's.
cause() {
	is "$1" "$2" "$(jq -r '[.segments[] | select(.state != "ready" and .state != "unknown")][0] |
		"\(.thread) \(.reason) \(.function)"' why.json)"
	is "$1: the segments are the whole time" true "$(jq '([.segments[].ns] | add) == .wall_ns' why.json)"
}

plant lock_fsync
is "lock_fsync: what the flusher does holds up the record" "put_record mutex" \
	"$(jq -r '[.segments[] | select(.thread == "flusher" and .chain[0].reason == "mutex")][0].chain[0] | "\(.function) \(.reason)"' why.json)"
is "lock_fsync: it syncs" "journal_flush" \
	"$(jq -r '[.segments[] | select(.thread == "flusher" and .reason == "fsync")][0].function' why.json)"

plant deadlock --timeout 2
says "deadlock: the cycle, with both locks, functions and owners" \
	'Deadlock: (transfer waits for audit|report waits for accounts) \(0x[0-9a-f]+\) in (transfer|report)\(\) \(deadlock.c:[34]\), held by (transfer|report); (transfer waits for audit|report waits for accounts) ' why.txt

plant dns_timeout
cause dns_timeout "dns_timeout timeout resolve"
says "dns_timeout: twice for a second" \
	'dns_timeout waited until a time limit \(poll\) in resolve\(\) \(dns_timeout.c:4\), 2 times for up to 1\.[0-9]+ s' why.txt

plant busy
cause busy "busy cpu wait_until_ready"
says "busy: what it waits for" 'busy ran in wait_until_ready\(\).*\. Meanwhile, for 7[0-9.]+ ms, loader slept in ' why.txt

plant faults
cause faults "faults page-fault scratch"

plant sysstorm
cause sysstorm "sysstorm cpu save"

plant disk --waits # hundreds in a second
is "disk: its waits are for fdatasync" "fsync commit" \
	"$(jq -r '[.segments[] | select(.state == "waits")][0] | "\(.reason) \(.function)"' why.json)"

plant connect_stuck
cause connect_stuck "connect_stuck timeout db_connect"
says "connect_stuck: the queue of the listener is full" 'Note: .*a TCP listener.s queue was full, [0-9]+ times? on this machine' why.txt
says "connect_stuck: in words" 'connect_stuck waited until a time limit \(socket\) in db_connect\(\)' why.txt

plant pipe_full --timeout 2
says "pipe_full: the first waits for its child, the child for a pipe" \
	'pipe_full waited for a child process in main\(\)' why.txt
says "pipe_full: the child waits for a pipe that its parent should read" \
	'producer waited for a pipe in main\(\) \(pipe_full.c:[0-9]+\) \(descriptor [0-9]+: read by pipe_full \([0-9]+\), written by producer \([0-9]+\)\)' why.txt

plant stuck_child --timeout 2
says "stuck_child: both read from pipes" 'stuck_child waited for a pipe in main\(\).*cat waited for a pipe' why.txt
says "stuck_child: nobody but the child itself has the other end" \
	'\(descriptor 0: read by cat \(([0-9]+)\), written by cat \(\1\)\)' why.txt

cp "$planted/sleepy.sh" sleepy
chmod +x sleepy
plant sleepy
is "sleepy: six naps of a process" "sleep sleep true" \
	"$(jq -r '[.segments[] | select(.reason == "sleep")] | "\(.[0].thread) \(.[0].reason) \(([.[].ns] | add) > 1700000000)"' why.json)"
says "sleepy: in words" \
	'6 processes named sleep slept.*, 6 times for up to 3[0-9]+ ms\. For this, sleepy waited for a child process' why.txt

# Three neighbours on the same CPU.
cc -g -O1 -w -pthread -o starved "$planted/starved.c"
for i in 1 2 3; do
	taskset -c 0 sh -c 'while :; do :; done' &
done
run taskset -c 0 "$TRACELET" run --quiet --sample -- ./starved
# shellcheck disable=SC2046 # one word for each job
kill $(jobs -p)
wait
"$TRACELET" why --json starved >why.json
"$TRACELET" why starved >why.txt
says "starved: its neighbours have names" 'starved was ready to run without a CPU, while .*sh (had it )?for ' why.txt
is "starved: it had no CPU for more than half of the time" "starved ready true" \
	"$(jq -r '.segments[0] | "\(.thread) \(.reason) \(.share > 0.5)"' why.json)"

# ---- what ended the test, and what it left behind ----

plant killed
says "killed: by its child" ' watchdog \([0-9]+\) sent signal 9; for ' why.txt
check_equal "killed: the summary says so, too" 1 "$(grep -c '"explanation":"watchdog ([0-9]*) sent signal 9' tracelet-out/manifest.jsonl)"

# A signal from outside: the test itself says when it is ready.
mkfifo ready
run "$TRACELET" run --quiet --name outside -- sh -c 'echo $$ >ready; exec sleep 100' &
read -r victim <ready
while [ "$(cat "/proc/$victim/comm")" != sleep ]; do :; done
kill -TERM "$victim"
wait
"$TRACELET" why outside >why.txt
says "killed from outside: by whom" ' [a-z_.0-9]+ \([0-9]+, outside the test\) sent signal 15; for ' why.txt

plant orphan
says "orphan: a process is left" 'Note: .*(orphan|fake-server) \([0-9]+\) was still running at the end' why.txt
# shellcheck disable=SC2046 # one word for each process
kill $(jq -r 'select(.test == "orphan") | .outlived[]? | capture("\\((?<pid>[0-9]+)\\)").pid' tracelet-out/manifest.jsonl)

plant contended
is "contended: all workers do the same" add \
	"$(jq -r '[.segments[] | select(.state != "ready" and .state != "unknown" and .function != null and (.thread | startswith("worker")))][0].function' why.json)"

# Whether the loader is in time depends on a random number: here it is chosen. A busy machine may still let it be late
# or early, so both runs are repeated until the recordings have the two orders.
cc -shared -fPIC -o chosen.so -x c - <<'END'
#include <stdlib.h>
int rand(void) { return atoi(getenv("CHOSEN")); }
END
# race_with NUMBER STATUS FILTER: a run ends with this status, and the loader so many nanoseconds before it.
race_with() {
	CHOSEN=$1 LD_PRELOAD=$PWD/chosen.so "$TRACELET" run --quiet --name race --json race.json -- ./race >/dev/null
	[ $? = "$2" ] && ! hidden && "$TRACELET" dump --json "$(jq -r '.artifacts[] | select(.path | endswith(".pb")).path' race.json)" |
		jq -es "[.[] | select(.event == \"exit\")] | (map(select(.tid == .pid))[0].time_ns - map(select(.tid != .pid))[0].time_ns) | $3" >/dev/null
}
cc -g -O1 -w -pthread -o race "$planted/race.c"
for again in 1 2 3 4 5 6 7 8 9 10; do
	race_with 0 0 '. > 1000000' && race_with 3999999 1 '. < 100000' && break
	again=never
done
if [ $again != never ]; then
	"$TRACELET" why race >why.txt
	note "$(head -n 1 why.txt)"
	says "race: a thread that had ended in the passing run" \
		'^race failed: exit status 1; .* The last passing run took .*; there, loader had ended [0-9.]+ ms before the test did, here it had not\.' why.txt
	is "race: as data" loader "$("$TRACELET" why --json race | jq -r .difference.unfinished)"
else
	skip "race" "the loader is never late here, or always"
fi

cc -g -O1 -w -pthread -o leak "$planted/leak.c"
run "$TRACELET" run --quiet --heap -- ./leak
check_match "leak: what was not freed, and where" ';main;parse_request;cache_load 604800$' \
	<("$TRACELET" fold --metric leaked "$(tail -n 1 tracelet-out/manifest.jsonl | jq -r '.artifacts[] | select(.path | endswith(".dhat.json")).path')")

# ---- control groups ----

# group CONTROLLER FILE=VALUE...: makes a control group and leaves its folder in $group. False: not possible here.
# $1 has the name of version 1 and of version 2 for each file: "v1|v2=value".
group() {
	local controller=$1 setting name
	shift
	group=/sys/fs/cgroup/$controller/tracelet-test-$$
	if ! mkdir "$group" 2>/dev/null; then
		group=/sys/fs/cgroup/tracelet-test-$$
		grep -qw "$controller" /sys/fs/cgroup/cgroup.subtree_control 2>/dev/null && mkdir "$group" 2>/dev/null || return 1
	fi
	for setting in "$@"; do
		name=${setting%%=*}
		[ -e "$group/${name%|*}" ] && name=${name%|*} || name=${name#*|}
		{ echo "${setting#*=}" >"$group/$name"; } 2>/dev/null || { rmdir "$group"; return 1; }
	done
}

# in_group NAME: as plant, inside the group.
in_group() {
	cc -g -O1 -w -pthread -o "$1" "$planted/$1.c"
	run "$TRACELET" run --quiet --off-cpu --sample --name "$1" -- \
		sh -c "echo \$\$ >'$group/cgroup.procs'; exec ./$1"
	cat "$group/cpu.stat" >cpu.stat 2>/dev/null
	rmdir "$group"
	"$TRACELET" why --json "$1" >why.json
	"$TRACELET" why "$1" >why.txt
}

if group memory 'memory.limit_in_bytes|memory.max=60M' && { [ ! -e "$group/memory.swap.max" ] || echo 0 >"$group/memory.swap.max"; }; then
	in_group oom
	says "oom: the kernel ended it, with the limit" \
		' The kernel killed oom: out of memory \(cgroup limit 62\.9 MB, it had 62\.[0-9]+ MB\); for ' why.txt
else
	skip "oom" "no control group for memory here"
fi

if group cpu 'cpu.cfs_quota_us|cpu.max=20000'; then
	in_group throttled
	says "throttled: the limit, and how long it held" \
		'The control group may use 0\.2 CPUs and was stopped for [0-9.]+ m?s, in [0-9]+ of [0-9]+ periods; for ' why.txt
	# On a very busy machine other tasks take more from it than the limit does: the kernel knows.
	throttled=$(awk '/throttled_time/ { print $2 } /throttled_usec/ { print $2 * 1000 }' cpu.stat)
	if jq -e --argjson throttled "${throttled:-0}" '$throttled > 0.6 * .wall_ns' why.json >/dev/null; then
		is "throttled: a CPU limit took most of its time" "throttled throttled true" \
			"$(jq -r '[.segments[] | select(.reason == "throttled")][0] | "\(.thread) \(.reason) \(.share > 0.4)"' why.json)"
		says "throttled: in words" \
			'throttled (was|were) ready to run (and got a CPU every 100 ms|on an idle CPU), as when a CPU limit is used up' why.txt
	else
		says "throttled: it had no CPU" 'throttled (was|were) ready to run' why.txt
	fi
else
	skip "throttled" "no control group for CPUs here"
fi

done_testing
