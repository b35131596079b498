# Users of the collector against each other and against it: nobody gets an event, a name or a byte of memory of
# a process that does not run with exactly his own rights; nobody can spoil another one's recording.
. "$(dirname "$0")/lib.sh"
. "$source/tests/cli/helpers/collector.sh"
need_bpf
need_command gcc setpriv taskset
is_sanitized && skip_all "a sanitizer's program cannot be given to another user"
start_collector
export TRACELET_COLLECTOR_SOCKET
mkdir -m 777 out out/$first_user out/$second_user
# Where the other user finds them.
cp "$source/tests/attack/helpers/collector_client.py" client.py && chmod 644 client.py
python=$(PATH=/usr/bin:/bin command -v python3) || skip_all "there is no python3 for all users"
client() { "$python" "$work/client.py" "$TRACELET_COLLECTOR_SOCKET" "$@" 2>&1; }
hostile() { as $second_user "$python" "$work/client.py" "$TRACELET_COLLECTOR_SOCKET" "$@" 2>&1 | xargs; }

# trace USER NAME COMMAND...: leaves out/NAME_*.spool.
trace() {
	local user=$1 name=$2
	shift 2
	as "$user" "$TRACELET" run --quiet --collector require --keep-spool --output-dir "$work/out/$user" --name "$name" -- "$@" 2>"$name.err"
}
events() { "$TRACELET" dump --json out/*/"$1"_*.spool; }

# ---- a program with more rights than its user, which keeps a secret on its stack and crashes ----

cat >secret.c <<'END'
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
int main(int argc, char **argv) {
	char secret[28 << 10] = "";
	for (int i = 0; i < (int)sizeof(secret) / 3 - 1; i++) // it is nowhere in the file
		memcpy(secret + 3 * i, (char[]){'c', "abcd"[i % 4], (char)('0' + argc)}, 3);
	if (write(2, "", 0) < 0 || strlen(secret) == 0)
		return 1;
	abort();
}
END
gcc -O0 -o own secret.c
secret=ca2cb2cc2cd2
cp own set-user-id && chmod 4755 set-user-id
cp own set-group-id && chgrp 0 set-group-id && chmod 2755 set-group-id
cp own unreadable && chmod 711 unreadable
cp own capable && { setcap cap_net_raw+ep capable || rm capable; } 2>/dev/null
trace $first_user own sh -c './own word; exit 0'
check "the stack of his own program is in his recording" grep -aq "$secret" out/*/own_*.spool
for program in set-user-id set-group-id unreadable capable; do
	[ -e $program ] || { skip "$program" "files have no capabilities here" && continue; }
	trace $first_user $program sh -c "./$program word; ls /proc/self >/dev/null; exit 0"
	check "$program: there is a recording" test -s "$(echo out/*/${program}_*.spool)"
	check_not "with no byte of its memory" grep -aq "$secret" out/*/${program}_*.spool
	check_not "nor of its arguments" grep -aq "$program.word.\{0,1\}$" <(events $program | jq -r 'select(.event == "exec") | .fields.arguments')
	events $program >events
	check_equal "nor its exec" 0 "$(jq -r 'select(.event == "exec") | .fields.file' events | grep -c "$program")"
	check_not "nor its crash" grep -q '"event":"crash"' events
	check_equal "the recording says that it left" 1 "$(jq -r 'select(.event == "rename") | .fields.name' events | grep -c '^(other user)$')"
	check_match "others go on" '"file":"[^"]*/ls"' events
done

# ---- the stacks of waits and samples, as they come from the socket ----

cat >waits.c <<'END'
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>
int main(int argc, char **argv) {
	volatile char secret[12 << 10];
	for (int i = 0; i < (int)sizeof(secret) / 3; i++) // it is nowhere in the file
		memcpy((char *)secret + 3 * i, (char[]){'c', "abcd"[i % 4], (char)('0' + argc)}, 3);
	for (int i = 0; i < 20; i++)
		usleep(3000);
	clock_t end = clock() + CLOCKS_PER_SEC / 10;
	while (clock() < end)
		;
	return secret[1] != 'a';
}
END
gcc -O0 -o waits waits.c
cp waits waits-set-user-id && chmod 4755 waits-set-user-id
cp waits waits-set-group-id && chgrp 0 waits-set-group-id && chmod 2755 waits-set-group-id
cp waits waits-unreadable && chmod 711 waits-unreadable
cp waits waits-capable && { setcap cap_net_raw+ep waits-capable || rm waits-capable; } 2>/dev/null
stacks_of() { # COMMAND: what comes over the socket while the user runs it, in the file raw
	rm -f out/raw
	hostile open-stacks follow-self run="$work/$1" flush save="$work/out/raw" kernel-addresses
}
check_equal "the stacks of his own program come" "opened followed flushed 0" "$(stacks_of "waits two words")"
check "with its memory" grep -aq "${secret//2/3}" out/raw
check "and the functions of the kernel that wait" grep -aq nanosleep out/raw
check_equal "a crash brings none from the ring, either" "opened followed flushed 0" "$(stacks_of "waits two words; exec $work/own word")"
for program in waits-set-user-id waits-set-group-id waits-unreadable waits-capable; do
	[ -e $program ] || { skip "$program" "files have no capabilities here" && continue; }
	check_equal "$program: no kernel address" "opened followed flushed 0" "$(stacks_of "$program word")"
	check "something came" test -s out/raw
	check_not "with no byte of its memory" grep -aq "$secret" out/raw
done

# An administrator sees whole kernel stacks, but no more memory than others.
admin_stacks_of() {
	rm -f out/raw
	as_admin $second_user "$python" "$work/client.py" "$TRACELET_COLLECTOR_SOCKET" open-stacks follow-self \
		run="$work/$1" flush save="$work/out/raw" kernel-addresses 2>&1 | xargs
}
check_equal "an administrator: no kernel address" "opened followed flushed 0" "$(admin_stacks_of "waits two words")"
check "but the functions on the way" grep -aq do_syscall_64 out/raw
check_equal "a set-user-id program" "opened followed flushed 0" "$(admin_stacks_of "waits-set-user-id word")"
check_not "shows an administrator no byte of its memory" grep -aq "$secret" out/raw

# ---- a change of rights without an exec ----

cat >changes.c <<'END'
#define _GNU_SOURCE
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>
static void say(const char *name) { // a rename is an event
	prctl(PR_SET_NAME, name);
	if (fork() == 0)
		_exit(0);
	wait(NULL);
}
int main(int argc, char **argv) {
	say("before");
	if (strcmp(argv[1], "user") == 0 && setresuid(61002, 61002, 61002))
		return 1;
	if (strcmp(argv[1], "back") == 0 && (seteuid(61002) || usleep(0)))
		return 1;
	if (strcmp(argv[1], "namespace") == 0 && unshare(CLONE_NEWUSER))
		return 77;
	say("after");
	if (strcmp(argv[1], "back") == 0 && seteuid(0))
		return 1;
	say("much-later");
	return 0;
}
END
gcc -o changes changes.c
names() { events "$1" | jq -r 'select(.event == "rename" or .event == "fork") | .fields.name' | grep -x 'before\|after\|much-later\|(other user)' | uniq | xargs; }
# Root without all of root's rights, as in a container: its own processes and no others.
as_less() { setpriv --bounding-set=-all,+setuid,+setgid --inh-caps=-all "$@"; }
for how in user back; do
	as_less "$TRACELET" run --quiet --collector require --keep-spool --output-dir "$work/out/0" --name "$how" -- ./changes $how
	check_equal "a change of the user ($how) without an exec" 0 $?
	check_equal "ends its events for good" "before (other user)" "$(names $how)"
done
trace $first_user namespace ./changes namespace
[ $? = 77 ] && skip "a user namespace" "not allowed here" || check_equal "so does a user namespace" "before (other user)" "$(names namespace)"
"$TRACELET" run --quiet --collector require --keep-spool --output-dir "$work/out/0" --name root -- ./changes user
check_equal "root with all its rights sees it all" "before after much-later" "$(names root)"

# ---- two users on one CPU ----

cp "$(command -v sh)" first-program
cp "$(command -v sh)" second-program
# As much as the ring of a session holds, whenever its client gets a CPU.
echo 'i=0; while [ $i -lt 100 ]; do /bin/true; i=$((i+1)); done' >loop
both() {
	trace $first_user first taskset -c 0 ./first-program loop &
	local one=$!
	trace $second_user second taskset -c 0 ./second-program loop
	wait $one
}
both
for pair in first:second second:first; do
	mine=${pair%:*} other=${pair#*:}
	events $mine >events
	check_match "$mine sees his own" "$mine-program" events
	check_not "no name of $other's" grep -q "$other-program" events
	check_not "nor in the bytes of the recording" grep -aq "$other-program" out/*/${mine}_*.spool
	check_match "others are without a name" '"next_name":"\(another user\)"' events
	check_equal "nothing is lost" "" "$(jq -c 'select(.event == "lost")' events)"
done

# ---- hostile requests ----

sleep 1000 &
roots=$!
setpriv --reuid $first_user --regid $first_user --clear-groups sleep 1000 &
theirs=$!
wait_until grep -q '^Name:.sleep' /proc/$theirs/status
check_equal "an honest one" "opened followed flushed end" "$(hostile open follow-self flush stop)"
check_equal "another user's process" "opened followed not-yours" "$(hostile open follow=$theirs)"
check_equal "root's" "opened followed not-yours" "$(hostile open follow=$roots)"
check_equal "one that has ended" "opened followed gone" "$(hostile open follow-dead)"
check_equal "no process" "opened followed gone" "$(hostile open follow-file)"
check_equal "to be another one" "refused not-yours" "$(hostile open-as=$theirs)"
check_equal "two sessions in one connection" "opened refused malformed closed" "$(hostile open open status)"
check_equal "without a session" "refused malformed refused malformed refused malformed" "$(hostile follow-self again flush again stop)"
check_equal "after its end" "opened end refused malformed" "$(hostile open stop flush)"
check_equal "events that it does not record" "refused sources" "$(hostile open=9223372036854775808)"
check_equal "more samples than it takes" "refused samples" "$(hostile open-samples=5000)"
check_equal "a descriptor too many" "refused malformed" "$(hostile descriptors=1)"
check_equal "253 of them" "refused malformed" "$(hostile descriptors=253)"
check_equal "40 times" "counters" "$(hostile many-descriptors=40 status)"
for size in 1 7 8 39 41 4000; do
	check_equal "$size bytes" "refused $([ $size -ge 8 ] && [ $size -le 41 ] && echo version || echo malformed)" "$(hostile bytes=$size)"
done
check_equal "sizes that do not fit" "refused malformed refused malformed" "$(hostile size=23 again size=4294967295)"
check_equal "another version" "refused version" "$(hostile version=2)"
check_equal "types that do not exist" "refused malformed refused malformed refused malformed" "$(hostile type=0 again type=6 again type=65535)"
no_sessions() { [ "$(collector_counter sessions)" = 0 ]; }
check "the collector is alive" kill -0 "$collector"
descriptors() { ls /proc/"$collector"/fd | wc -l; }
check_equal "nothing of it is left" 0 "$(collector_counter sessions)"
before=$(descriptors)
hostile many-descriptors=20 status >/dev/null
check_equal "no descriptor either" "$before" "$(descriptors)"

# A task belongs to the session that had it first.
trace $first_user taken sh -c 'echo $$ >out/pid; read line <out/gate; ls /' >/dev/null &
tracing=$!
mkfifo -m 666 out/gate
wait_until test -s out/pid
check_equal "nobody takes a task out of another one's session" "opened followed not-yours" "$(hostile open follow="$(cat out/pid)")"
check_equal "not even root" "opened followed nested" "$(client open follow="$(cat out/pid)" | xargs)"
echo go >out/gate
wait $tracing
check_match "its recording is whole" '/ls' <(events taken | jq -r 'select(.event == "exec") | .fields.file')

# ---- clients that do not read, or die ----

mkfifo -m 666 hold
lost=$(collector_counter lost) # the client above did not read, either
as $second_user "$python" client.py "$TRACELET_COLLECTOR_SOCKET" open follow-self busy=60000 stall <hold >stalled.words 2>&1 &
stalled=$!
exec 7>hold # it ends when this is closed
wait_until grep -q stalled stalled.words
check_match "a client that does not read" stalled stalled.words
trace $first_user beside sh -c 'ls /; ls /' >/dev/null
check_equal "harms nobody else" 2 "$(events beside | jq -r 'select(.event == "exec") | .fields.file' | grep -c '/ls$')"
check_equal "who loses nothing" "$lost" "$(collector_counter lost)"
exec 7>&-
wait $stalled
wait_until no_sessions
check "what it did not read is lost, and counted" test "$(collector_counter lost)" -gt $((lost + 1000))
check_equal "one that dies" "opened followed" "$(hostile open follow-self quit)"
wait_until no_sessions
check_equal "leaves no session" 0 "$(collector_counter sessions)"

# ---- quotas ----

check_equal "more sessions than are allowed" "opened: 256 refused quota: 14" "$(hostile sessions=270)"
trace $first_user meanwhile true
check_equal "are no other user's trouble" 0 $?
check_match "whose test is recorded" . <(events meanwhile)

# ---- old bytes ----

# Crashes fill rings with a secret; then the other user's sessions use every place there is.
for i in {1..8}; do
	trace $first_user "fill-$i" sh -c './own word; ./own word; ./own word; exit 0'
done
looking=()
for i in {1..24}; do
	trace $second_user "look-$i" sh -c './own; exit 0' &
	looking+=($!)
done
wait "${looking[@]}"
check_equal "crashes are recorded" 24 "$(ls out/*/look-*.spool | wc -l)"
check_not "without a byte of another user's" grep -aq "$secret" out/*/look-*.spool
check "while there were some" grep -aq "$secret" out/*/fill-1_*.spool
stop_collector
check_equal "it ends in peace" 0 $?
done_testing
