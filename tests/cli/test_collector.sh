# The resident collector: 'run' and 'each' record through its socket and give the same traces as without it; for
# ordinary users, too. Whatever happens to the collector, the test runs as if it were not there.
. "$(dirname "$0")/lib.sh"
. "$source/tests/cli/helpers/words.sh"
. "$source/tests/cli/helpers/collector.sh"
need_bpf
need_command setpriv python3
is_sanitized && skip_all "another user cannot load a sanitizer's library"
chmod 755 "$work_root" "$work"

# Without a collector.
export TRACELET_COLLECTOR_SOCKET=$work_root/none.sock
check_run "without a collector" 3 "$TRACELET" run --quiet --name alone -- sh -c 'exit 3'
check_equal "a tracer records by itself" bpf "$(backend_of alone)"
check_run "one that is required" 3 "$TRACELET" run --quiet --collector require -- sh -c 'exit 3'
check_match "and missing is one line" "^tracelet: warning: no trace: no collector: $work_root/none.sock: No such file or directory" "$stderr"
check_run "--strict runs nothing then" 125 "$TRACELET" run --quiet --strict --collector require -- touch ran
check_not "nothing at all" test -e ran
check_run "'status' says that there is none" 1 "$TRACELET" status --collector
check_match "where it looked" "^tracelet: $work_root/none.sock: no collector: No such file" "$stderr"

# The same test through both.
start_collector
export TRACELET_COLLECTOR_SOCKET
test='ls / >/dev/null; (exit 3); sh -c "kill -TERM \$\$"; "$TRACELET" mark "from the test"; exit 7'
check_run "with a collector" 7 "$TRACELET" run --name through -- sh -c "$test"
check_equal "it records" collector "$(backend_of through)"
check_match "no event is lost" 'events .*none lost' "$stderr"
check_not "nor is anything missing" grep -q 'not recorded' "$stderr"
check_run "without it" 7 "$TRACELET" run --quiet --collector never --name beside -- sh -c "$test"
check_equal "a tracer does" bpf "$(backend_of beside)"
lives "$(the_trace through)" >through.lives
lives "$(the_trace beside)" >beside.lives
check "both have the same forks, execs, names and exits" diff through.lives beside.lives
check "which are some" test "$(wc -l <through.lives)" -ge 12
kinds() { "$TRACELET" dump --json "$1" | jq -r '.provider + "/" + .event' | grep -Ev '^(irq|softirq|sample)/' | sort -u; }
check "and the same kinds of events" diff <(kinds "$(the_trace through)") <(kinds "$(the_trace beside)")
for trace in through beside; do
	"$TRACELET" dump "$(the_trace $trace)" >dumped
	check_match "marks and signals are in $trace" 'from the test' dumped
	check_match "with their senders" 'signal_generate .*sig=15 sender=sh' dumped
	check_run "$trace is a sound trace" 0 "$TRACELET" check "$(the_trace $trace)"
done

# Crashes.
stack() { jq -r "select(.test == \"$1\") | .crashes[0].stack[]" tracelet-out/manifest.jsonl | sed 's/ 0x[0-9a-f]* / /'; }
for how in auto never; do
	"$TRACELET" run --quiet --collector $how --name "crash-$how" -- "$helpers/crashes" segv 2>/dev/null
done
check_equal "a crash has the same stack" "$(stack crash-never)" "$(stack crash-auto)"
check_match "with functions" . <(stack crash-auto)

# Code that no dynamic linker has loaded: a compiler's, also below a function of a library.
if [ "$(uname -m)" = x86_64 ]; then
	cat >compiler.c <<'END'
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>
// Calls its argument over and over: push rbp; mov rbp, rsp; push rbx; push rax; mov rbx, rdi; call rbx; jmp to the call
static const char code[] = "\x55\x48\x89\xe5\x53\x50\x48\x89\xfb\xff\xd3\xeb\xfc";
static void work(void) {
	for (volatile int i = 0; i < 1000; i++)
		;
	if (clock() > CLOCKS_PER_SEC * 3 / 10)
		_exit(0);
}
int main(void) {
	void *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	char path[64];
	snprintf(path, sizeof(path), "/tmp/perf-%d.map", (int)getpid());
	FILE *map = fopen(path, "w");
	fprintf(map, "%lx 10 made_at_run_time\n", (unsigned long)page);
	fclose(map);
	puts(path);
	fflush(stdout);
	memcpy(page, code, sizeof(code));
	((void (*)(void (*)(void)))page)(work);
}
END
	gcc -O1 -o compiler compiler.c
	check_run "a program that compiles" 0 "$TRACELET" run --quiet --collector require --sample --name compiled -- ./compiler
	check_match "its code has a name, and callers" ';main;made_at_run_time;work( |;)' <("$TRACELET" fold "$(the_trace compiled)" 2>/dev/null)
	rm -f "$(cat "$stdout")"
fi

# What it cannot record is recorded as without it.
check_run "counters" 0 "$TRACELET" run --quiet --counters task-clock --name counted -- true
check_equal "are the tracer's business" bpf "$(backend_of counted)"
check_run "if it is required" 0 "$TRACELET" run --counters task-clock --collector require --name uncounted -- true
check_equal "it records all the same" collector "$(backend_of uncounted)"
check_match "and the summary says what is missing" 'none lost; not recorded: counters' "$stderr"
check_run "a profile with events that it does not record" 0 "$TRACELET" run --quiet --profile verbose --name verbose -- true
check_equal "is the tracer's business" bpf "$(backend_of verbose)"
check_run "if it is required" 0 "$TRACELET" run --profile verbose --collector require --name less -- true
check_match "the summary says what is missing" 'none lost.*; not recorded: power, ' "$stderr"
check_run "a tracer inside a traced test" 0 "$TRACELET" run --quiet --name outer -- \
	"$TRACELET" run --quiet --name inner -- sh -c 'exit 0'
check_equal "records by itself" "bpf collector" "$(backend_of inner) $(backend_of outer)"
"$TRACELET" dump "$(the_trace outer)" >dumped
check_match "the outer trace has the inner test" 'task/exec file=\S*/sh arguments="sh' dumped

# An ordinary user gets the whole trace.
mkdir -m 777 users
as_first() { as $first_user "$TRACELET" run --quiet --output-dir users/out "$@"; }
check_run "an ordinary user" 7 as_first --collector require --name own -- sh -c "$test"
lives users/out/own_*.pb >own.lives
check "gets the same" diff own.lives beside.lives
# Options that only a tracer has cost nothing else: perf events would have no wakeups and no other tasks.
for option in --counters=task-clock --buffer-size=1M; do
	check_run "with ${option%=*}, too" 0 as_first "$option" --name "${option//[!a-z]/}" -- sh -c 'exit 0'
	check_equal "the collector records it" collector "$(jq -r "select(.test == \"${option//[!a-z]/}\") | .backend" users/out/manifest.jsonl)"
done
check_match "a fixed size is one line" 'warning: --buffer-size is not used: the collector' <(as_first --buffer-size=1M -- true 2>&1)
check_run "one who is not in the group" 0 setpriv --reuid $first_user --regid $first_user --clear-groups "$TRACELET" run --quiet \
	--output-dir users/out --name outsider -- true
check_equal "gets what the kernel gives" 1 "$(jq -r 'select(.test == "outsider") | .backend' users/out/manifest.jsonl | grep -cv collector)"

# Timers, work queues, locks, the network: what the user's own tasks do, and no address of the kernel.
connects='import socket, sys, os, time
def once():
	with socket.socket() as server:
		server.bind(("127.0.0.1", 0))
		server.listen()
		socket.create_connection(server.getsockname()).close()
		return server.getsockname()[1]
'
python=$(PATH=/usr/bin:/bin command -v python3) # one that all users may run
# It ends with the shell that started it.
as $second_user "$python" -c "$connects
shell = os.getppid()
while os.getppid() == shell: print(once(), flush=True)" >other-ports &
other=$!
check "another user connects" wait_until test -s other-ports
check_run "timers, locks, the network" 0 as_first --profile verbose --collector require --name points -- "$python" -c "$connects
time.sleep(0.01)
open('users/port', 'w').write('%d\n' % once())"
kill $other
wait $other 2>/dev/null
"$TRACELET" dump --json users/out/points_*.pb >points.json
for event in timer/hrtimer_start sock/inet_sock_set_state net/net_dev_xmit sched/switch; do
	check "$event is there" jq -se "any(.[]; .provider + \"/\" + .event == \"$event\")" points.json
done
socket_ports() { jq -r 'select(.event == "inet_sock_set_state") | .fields | .sport, .dport' points.json | sort -u; }
check "its own connection" grep -qx "$(cat users/port)" <(socket_ports)
check_equal "no connection of another user" "" "$(comm -12 <(socket_ports | grep -vx 0) <(sort -u other-ports | grep -vx "$(cat users/port)"))"
addresses() {
	jq -r 'select(.provider | IN("timer", "workqueue", "ipi", "lock", "sock", "net")) | .fields
		| .hrtimer, .timer, .function, .work, .skaddr, .skbaddr, .lock_addr, .callsite, .callback
		| select(. != null and . != "" and . != "0x0")' points.json
}
check_equal "and no address of the kernel" "" "$(addresses)"

# 'status' lists users and sessions: to root all, to others their own.
users_seen() { "$@" status --collector --json | jq -r '[.users[].uid, .open_sessions[].uid] | unique | join(" ")'; }
mkfifo listed-gate
as_first --collector require --name listed -- sh -c 'read line <listed-gate' &
listed=$!
listing() { "$TRACELET" status --collector --json | jq -e ".open_sessions[] | select(.uid == $first_user)" >/dev/null; }
check "'status' lists a session" wait_until listing
check_equal "root sees all users" "0 $first_user" "$(users_seen "$TRACELET")"
check_equal "a user sees the own sessions" "$first_user" "$(users_seen as $first_user "$TRACELET")"
check_equal "and no others" "$second_user" "$(users_seen as $second_user "$TRACELET")"
check_equal "an administrator sees all users, too" "0 $first_user $second_user" "$(users_seen as_admin $second_user "$TRACELET")"
"$TRACELET" status --collector >listing
check_match "with what it cost" "^session +[0-9]+ of $first_user, process [0-9]+: [0-9.]+ s, [0-9]+ events, .*, 0 lost" listing
check_match "and what users had" "^user +$first_user: 1 session now, [1-9][0-9]* so far, [0-9]+ refused; [1-9][0-9]* events, " listing
echo >listed-gate
wait "$listed"
check_equal "all events are counted" true "$("$TRACELET" status --collector --json | jq '.events > 100 and .events >= ([.users[].events] | add)')"

# 'each', and many at the same time.
cat >cases <<-'END'
	#!/bin/sh
	case "$*" in
	"--list --format terse") printf 'case_%s: test\n' 1 2 3 4 5 6 7 8 ;;
	--list*) ;;
	*) ls / >/dev/null ;;
	esac
	echo "test result: ok. 1 passed"
END
chmod +x cases
check_run "each" 0 "$TRACELET" each --quiet -j 4 --framework libtest --output-dir each -- ./cases
check_equal "runs all cases" 8 "$(jq -r 'select(.backend) | .test' each/manifest.jsonl | grep -c case_)"
check_equal "uses it for every case" collector "$(jq -r 'select(.kind == "test" and .backend) | .backend' each/manifest.jsonl | sort -u)"
many() {
	local i all=()
	for i in {1..40}; do
		as $first_user "$TRACELET" run --quiet --collector require --output-dir users/many --name "many-$i" -- \
			sh -c "ls /; exit $i" >/dev/null 2>"users/$i.err" || echo $? &
		all+=($!)
	done
	wait "${all[@]}"
}
check_equal "40 at the same time: every status is its test's" "$(seq 40 | xargs)" "$(many | sort -n | xargs)"
check_equal "and every trace is there" 40 "$(jq -r 'select(.backend == "collector") | .test' users/many/manifest.jsonl | grep -c '^many-')"
for i in 1 17 40; do
	check_equal "session $i has its own test" 1 "$(lives "users/many/many-${i}_"*.pb | grep -c "exit $i\\\\u0000")"
done
check_equal "nothing is lost" 0 "$(collector_counter lost)"
check_equal "none is open any more" 0 "$(collector_counter sessions)"
check_match "a line about each session" "session [0-9]+ of uid $first_user, process [0-9]+: [0-9.]+ s, [0-9]+ bytes, 0 events lost" "$work_root/collector.log"

# Its end.
mkfifo gate
"$TRACELET" run --name outlives -- sh -c 'ls /; read line <gate; ls /; exit 5' >/dev/null 2>outlives.err &
running=$!
one_session() { [ "$(collector_counter sessions)" = 1 ]; }
wait_until one_session
stop_collector
check_equal "SIGTERM ends it" 0 $?
echo go >gate
wait $running
check_equal "the test goes on" 5 $?
check_match "the summary says what is missing" 'cut .*recorded only the first .*: the collector ended' outlives.err
check_match "with a warning" 'warning: recording stopped after .* s: the collector ended' outlives.err
lives "$(the_trace outlives)" >lives
check_match "what came before is kept" '/ls' lives
check_equal "and no more" 1 "$(grep -c '/ls' lives)"
check_not "the socket is gone" test -e "$TRACELET_COLLECTOR_SOCKET"

# Starting it.
start_collector
check_run "a second one" 2 "$TRACELET" collector --listen "$TRACELET_COLLECTOR_SOCKET"
check_match "is refused" 'cannot listen: another collector listens there' "$stderr"
kill -KILL "$collector"
wait "$collector" 2>/dev/null
check "killed, it leaves its socket" test -S "$TRACELET_COLLECTOR_SOCKET"
check_run "a test does not mind" 0 "$TRACELET" run --quiet --name after -- true
check_equal "it is recorded" bpf "$(backend_of after)"
start_collector --idle-exit 5
check_run "the next one takes its place" 0 "$TRACELET" run --quiet --collector require -- true
wait "$collector"
check_equal "and ends when it is idle" 0 $?
printf 'sessions-per-user = 0\n' >bad.conf
check_run "a bad limit" 2 "$TRACELET" collector --config bad.conf
check_match "is one line" '^tracelet: bad.conf:1: expected sessions-per-user' "$stderr"
printf 'sessions-per-user = 1\n' >users/theirs.conf && chown $first_user users/theirs.conf
check_run "a user's file" 2 "$TRACELET" collector --config users/theirs.conf
check_match "does not count" 'must belong to root' "$stderr"

# As systemd starts it: root listens, and a user with two capabilities serves.
cat >activate.py <<-'END'
	import os, socket, sys
	listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
	listener.bind(sys.argv[1])
	os.chown(sys.argv[1], 0, int(sys.argv[2]))
	os.chmod(sys.argv[1], 0o660)
	listener.listen(16)
	os.dup2(listener.fileno(), 3)
	os.set_inheritable(3, True)
	os.environ.update(LISTEN_PID=str(os.getpid()), LISTEN_FDS="1")
	os.execvp(sys.argv[3], sys.argv[3:])
END
TRACELET_COLLECTOR_SOCKET=$work_root/passed.sock
two="-all,+bpf,+perfmon"
python3 activate.py "$TRACELET_COLLECTOR_SOCKET" $collector_group setpriv --reuid 61009 --regid 61009 --clear-groups --inh-caps=$two \
	--ambient-caps=$two --bounding-set=$two --no-new-privs "$TRACELET" collector 2>"$work_root/collector.log" &
collector=$!
wait_until test -S "$TRACELET_COLLECTOR_SOCKET"
check_run "started for a socket, with two capabilities" 7 as_first --collector require --name passed -- sh -c "$test"
lives users/out/passed_*.pb >passed.lives
check "it records the same for a user" diff passed.lives beside.lives
check_run "and for root" 7 "$TRACELET" run --quiet --collector require --name passed -- sh -c "$test"
lives "$(the_trace passed)" >passed.lives
check "all of it" diff passed.lives beside.lives
stop_collector
check_equal "it ends as it does by hand" 0 $?
check "and leaves the socket to its owner" test -S "$TRACELET_COLLECTOR_SOCKET"
check_run "without rights" 2 as $first_user --bounding-set=-all "$TRACELET" collector --listen users/sock
check_match "it says what it needs" 'cannot start: .*CAP_BPF and CAP_PERFMON' "$stderr"

# An agent's collector is for the users of its guest, and ends with the agent.
agents=$work_root/agents.sock
"$TRACELET" agent --listen "unix:$work_root/agent" --collector $collector_group --collector-socket "$agents" 2>agent.log &
agent=$!
wait_until "$TRACELET" status --collector --collector-socket "$agents" || note "$(cat agent.log)"
check_run "a user of the guest" 0 as_first --collector require --collector-socket "$agents" --name guests -- true
check_equal "has the agent's collector" collector "$(jq -r 'select(.test == "guests") | .backend' users/out/manifest.jsonl)"
child=$(pgrep -P $agent)
kill $agent && wait $agent
check_equal "the agent ends as always" 0 $?
check_not "and so does its collector" kill -0 "$child"
"$TRACELET" agent --listen "unix:$work_root/agent" --collector $collector_group --collector-socket "$agents" 2>agent.log &
agent=$!
wait_until "$TRACELET" status --collector --collector-socket "$agents" || note "$(cat agent.log)"
child=$(pgrep -P $agent)
kill -KILL $agent && wait $agent 2>/dev/null
wait_until sh -c "! kill -0 $child 2>/dev/null"
check_not "also if the agent is killed" kill -0 "$child"
done_testing
