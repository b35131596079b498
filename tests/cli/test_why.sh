# `tracelet why`: what it says, and its options. test_why_causes.sh has the causes.
. "$(dirname "$0")/lib.sh"
need_root
[ "$(uname -m)" = x86_64 ] || skip_all "stacks can be walked only on x86-64"

causes=$TRACELET_HELPERS/causes

# Two threads, each with a lock that the other one wants.
GITHUB_STEP_SUMMARY=$PWD/github.md run_whole "$TRACELET" run --timeout 1 --name deadlock -- "$causes" deadlock
check_equal "deadlock: the time limit ends it" 124 "$status"
check_match "deadlock: the summary has one line about it" '^  why     Deadlock: .* in transfer\(\).* in report\(\)' "$stderr"
check "of at most 200 columns" test "$(grep '^  why ' "$stderr" | wc -m)" -le 201
check_match "deadlock: so has the summary on GitHub" '<br>Deadlock: .* in transfer' github.md
check_match "deadlock: and the manifest" '"explanation":"Deadlock: .* in transfer' tracelet-out/manifest.jsonl
check_equal "with a digest of the time" "true true" \
	"$(jq -r '.time_digest | "\(([.segments[].ns] | add) == .wall_ns) \(.segments[0].ns > 500000000)"' tracelet-out/manifest.jsonl)"
run "$TRACELET" why deadlock
one='causes waits for audit \(0x[0-9a-f]+\) in transfer\(\) \(causes\.c:[0-9]+\), held by holder'
other='holder waits for accounts \(0x[0-9a-f]+\) in report\(\) \(causes\.c:[0-9]+\), held by causes'
check_match "deadlock: both threads, locks and functions are named" "Deadlock: ($one; $other|$other; $one)\." "$stdout"

# The stacks have the locks, by name, and their owners.
stacks=$(ls tracelet-out/deadlock_*.stacks*)
check_match "the first lock and its owner" \
	'thread [0-9]+ "causes" waits for the lock 0x[0-9a-f]+ \(audit\), which is held by thread [0-9]+ "holder"' "$stacks"
check_match "the second lock and its owner" \
	'thread [0-9]+ "holder" waits for the lock 0x[0-9a-f]+ \(accounts\), which is held by thread [0-9]+ "causes"' "$stacks"
check_equal "one deadlock" 1 "$(grep -c '^  deadlock: ' "$stacks")"
mkfifo mute
exec 9<>mute
run "$TRACELET" run --quiet --timeout 1 --name reads -- cat mute
check_match "what a thread reads from" 'waits for descriptor [0-9]+: .*/mute$' "$(ls tracelet-out/reads_*.stacks*)"
exec 9>&-

# Its own peer: a connection to the machine itself on which nobody writes.
cat >mute_peer.c <<'END'
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>
int main(void) {
	struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t size = sizeof(address);
	char byte;
	int listener = socket(AF_INET, SOCK_STREAM, 0), fd = socket(AF_INET, SOCK_STREAM, 0);
	bind(listener, (struct sockaddr *)&address, size);
	listen(listener, 1);
	getsockname(listener, (struct sockaddr *)&address, &size);
	connect(fd, (struct sockaddr *)&address, size);
	accept(listener, 0, 0);
	return (int)read(fd, &byte, 1);
}
END
cc -g -o mute_peer mute_peer.c
run "$TRACELET" run --quiet --timeout 1 -- ./mute_peer
check_match "a socket: its addresses, state and peer" \
	'^  socket:\[[0-9]+\]: TCP 127\.0\.0\.1:[0-9]+ to 127\.0\.0\.1:[0-9]+, established; its peer is mute_peer \([0-9]+\)$' \
	"$(ls tracelet-out/mute_peer_*.stacks*)"

# ---- crashes ----

cat >crash.c <<'END'
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <unistd.h>
static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_barrier_t both;
__attribute__((noinline)) void write_log(void) { pthread_mutex_lock(&mutex); }
static void *logger(void *unused) {
	pthread_setname_np(pthread_self(), "logger");
	pthread_barrier_wait(&both);
	write_log();
	return unused;
}
__attribute__((noinline)) int parse(volatile int *input) {
	usleep(200000);
	return *input + 1;
}
int main(void) {
	pthread_t thread;
	pthread_mutex_lock(&mutex);
	pthread_barrier_init(&both, 0, 2);
	pthread_create(&thread, 0, logger, 0);
	pthread_barrier_wait(&both);
	return parse(0);
}
END
cc -g -O1 -pthread -o crash crash.c
# On some machines a crash wakes a task whose switches are hidden; that may take the end of the logger's wait with it.
for again in 1 2 3 4 5 6 7 8; do
	run "$TRACELET" run -- ./crash
	"$TRACELET" why crash >crash.txt
	! grep -q 'When it crashed' crash.txt && hidden || break
done
check_match "a crash: the summary has function, line and signal" \
	'^  why     crash crashed in parse\(\) \(crash.c:16\), called by main\(\) \(crash.c:24\): SIGSEGV, address 0x0 is not mapped; for ' "$stderr"
check_match "a crash: what the other thread did" 'When it crashed, logger waited for a mutex in write_log\(\)' crash.txt

# ---- source lines ----

# The line is that of the call, in an inlined function, too; a profile has one frame for each function.
cat >lines.c <<'END'
#include <time.h>
static const struct timespec nap = {.tv_nsec = 50000000}, short_nap = {.tv_nsec = 5000000};
static inline __attribute__((always_inline)) void inner(void) {
	__asm__ volatile("" ::: "memory");
	nanosleep(&nap, 0);
	__asm__ volatile("" ::: "memory");
}
__attribute__((noinline)) static void outer(void) {
	__asm__ volatile("" ::: "memory");
	inner();
	__asm__ volatile("" ::: "memory");
	nanosleep(&short_nap, 0);
	__asm__ volatile("" ::: "memory");
}
__attribute__((noinline)) static void twice(void) {
	nanosleep(&short_nap, 0);
	nanosleep(&nap, 0);
	__asm__ volatile("" ::: "memory");
}
int main(void) {
	outer();
	twice();
	return 0;
}
END
cc -g -O2 -o lines lines.c
run_whole "$TRACELET" run --quiet -- ./lines
"$TRACELET" why --json lines >lines.json
# line_of FUNCTION: the source of the place where it sleeps.
line_of() {
	jq -r --arg function "$1" '[.segments[] | select(.function == $function and .reason == "sleep")][0] |
		"\(.file | sub(".*/"; "")):\(.line)"' lines.json
}
check_equal "the line of the call that waits" "lines.c:12" "$(line_of outer)"
check_equal "in an inlined function" "lines.c:5" "$(line_of inner)"
check_equal "of several calls, that of the longest wait" "lines.c:17" "$(line_of twice)"
check_equal "a profile of waits has one function, with the line of its beginning" "twice:lines.c:15" \
	"$("$TRACELET" fold --srcline --event-filter off-cpu "$(ls tracelet-out/lines_*.pb | tail -n 1)" | grep -o 'twice:lines.c:[0-9]*' | sort -u)"

# The same for a spool, whose addresses are named when it is read: here from a program that was moved.
cp lines moved
run_whole "$TRACELET" run --quiet --keep-spool -- ./moved
spool=$(ls -t tracelet-out/moved_*.spool | head -n 1)
mkdir -p "root$PWD"
mv moved "root$PWD/moved"
# The C library, too: a stack is walked through it.
ldd lines | grep -o '/[^ ]*' | xargs realpath | xargs cp --parents --target-directory root
named() {
	"$TRACELET" why --json "$@" "$spool" | jq '[.segments[] | select(.function == "outer" and .line == 12 and .reason == "sleep")] | length'
}
check_equal "a program that is gone has no names" 0 "$(named)"
check_equal "--symfs says where it is now" 1 "$(named --symfs root)"
check_run "--symfs wants a directory" 2 "$TRACELET" why --symfs "" "$spool"
check_run "--vmlinux is taken, too" 0 "$TRACELET" why --vmlinux lines --buildid-dir root --symbol-path root "$spool"

# ---- which waits have stacks ----

# waits OPTION...: how many waits of a program that sleeps once have a stack.
waits() {
	run_whole "$TRACELET" run --quiet "$@" --name sleep -- sleep 1.5
	tail -n 1 tracelet-out/manifest.jsonl | jq '.waits // 0'
}
check_equal "a wait that is as long as it has to be" 1 "$(waits --waits=1s)"
run_whole "$TRACELET" run --quiet --name long -- sleep 0.5
check_equal "is named without any option" "sleep" "$("$TRACELET" why --json long | jq -r '.segments[0].reason')"
check_equal "a shorter one has no stack" 0 "$(waits --waits=10s)"
check_equal "none has one, if so wanted" 0 "$(waits --waits=no)"
check "all have one" test "$(waits --waits)" -ge 1
check_equal "only --off-cpu draws them" "" "$(ls tracelet-out | grep svg)"
run_whole "$TRACELET" run --quiet --off-cpu --name drawn -- "$causes" mutex
check "in a flame graph" ls tracelet-out/drawn_*.off-cpu.svg
check_equal "and why needs nothing else" "holder sleep hold_mutex" \
	"$("$TRACELET" why --json drawn | jq -r '.segments[0] | "\(.thread) \(.reason) \(.function)"')"

# Code without unwind information, which uses the frame pointer for something else.
cat >lost.c <<'END'
#include <time.h>
struct timespec nap = {.tv_nsec = 3000000};
__attribute__((naked)) void lost(void) {
	__asm__("push $1\n push %rbp\n xor %ebp, %ebp\n mov $35, %eax\n lea nap(%rip), %rdi\n xor %esi, %esi\n"
		"syscall\n pop %rbp\n pop %rax\n ret\n");
}
int main(void) { for (int i = 0; i < 40; i++) lost(); return 0; }
END
cc -O1 -fno-asynchronous-unwind-tables -fno-unwind-tables -o lost lost.c
run "$TRACELET" run --quiet -- ./lost
check_equal "no warning about stacks that were not asked for" "" "$(cat "$stderr")"

# The last wait of a process that is killed ends with its death.
run_whole "$TRACELET" run --quiet --timeout 0.5 --grace 0 --name killed -- sh -c 'trap "" TERM; exec "$0" deadlock' "$causes"
check_match "the last waits of a test that is killed" 'in (transfer|report)\(\).* in (transfer|report)\(\)' <("$TRACELET" why killed)

# ---- the words ----

run_whole "$TRACELET" run --name mutex -- "$causes" mutex
check_not "a test that passes needs no explanation" grep -q -e '^  why ' -e '"explanation"' "$stderr"
check_equal "but has a digest" "mutex 1" \
	"$(jq -r 'select(.test == "mutex") | "\(.test) \([.time_digest.segments[] | select(.function == "hold_mutex" and .reason == "sleep")] | length)"' tracelet-out/manifest.jsonl)"
check "of at most 4 kB" test "$(jq -c 'select(.test == "mutex").time_digest' tracelet-out/manifest.jsonl | wc -c)" -le 4096
run "$TRACELET" why mutex
check_match "the result, then the largest piece" '^mutex passed; it took [0-9.]+ m?s\. For [0-9.]+ .s \([0-9]+ %\), (holder|causes) ' "$stdout"
check_match "then a table" '^ +[0-9.]+ % +[0-9.]+ ms +holder +waits +sleep +hold_mutex\(\)' "$stdout"
check "at most five sentences" test "$(head -n 1 "$stdout" | grep -o '[a-z)]\. ' | wc -l)" -lt 5
run "$TRACELET" why --thread holder --json mutex
check_equal "of one thread" "holder" "$(jq -r '.segments[0].thread' "$stdout")"
run "$TRACELET" why --to 1ns mutex
check_equal "no time is an error" 2 "$status"
check_equal "of one line" 1 "$(wc -l <"$stderr")"
check_run "a thread that is not there is an error" 2 "$TRACELET" why --thread nobody mutex
check_run "a test that is not there is an error" 2 "$TRACELET" why nothing
check_match "and says where it looked" 'neither a file nor a test with a trace in tracelet-out' "$stderr"
check_run "so is a file that is none" 2 "$TRACELET" why "$causes"

# ---- recordings of perf ----

# Of the whole machine, where the same test may run elsewhere: a program with a name of its own.
cp "$causes" "sleeper$$"
if perf record -q -m 16M -a -g -e sched:sched_switch,sched:sched_waking,sched:sched_process_exec -o sched.data -- \
	"./sleeper$$" sleep 2>/dev/null; then
	"$TRACELET" why --json --thread "sleeper$$" sched.data 2>/dev/null >why.json
	check_equal "a recording of perf: the sleep, until a timer interrupts any task" "sleeper$$ sleep null" \
		"$(jq -r '[.segments[] | select(.state == "waits")][0] | "\(.thread) \(.reason) \(.waker.thread)"' why.json)"
	check_equal "the command of perf is the test" "sleeper$$ true" "$("$TRACELET" why --json sched.data 2>/dev/null |
		jq -r '"\(.segments[0].process) \(([.segments[].ns] | add) == .wall_ns)"')"
	perf sched record -o plain.data -- "./sleeper$$" sleep >/dev/null 2>&1
	check_equal "without stacks a wait has no reason" "sleeper$$ waits unknown" "$("$TRACELET" why --json plain.data 2>/dev/null |
		jq -r '[.segments[] | select(.state == "waits")][0] | "\(.thread) \(.state) \(.reason)"')"
else
	skip "a recording of perf" "perf cannot record sched events here"
fi

# ---- recordings of Windows ----

"$(dirname "$TRACELET")/tests/etl/make_etl" made.etl
"$TRACELET" why --json --thread 44 made.etl >why.json
check_equal "CSwitch and ReadyThread: the thread that made it ready is on the path" "48 runs 44" \
	"$(jq -r '[.segments[] | select(.chain != [] and .state == "runs")][0] | "\(.tid) \(.state) \(.chain[0].tid)"' why.json)"
check_equal "and the segments are the whole time" true "$(jq '([.segments[].ns] | add) == .wall_ns' why.json)"

# ---- the last passing run ----

fresh
cat >slow.c <<'END'
#include <time.h>
#include <unistd.h>
__attribute__((noinline)) void settle(int ms) { nanosleep(&(struct timespec){.tv_nsec = ms * 1000000l}, 0); }
int main(void) { int slow = !access("slow", F_OK); settle(slow ? 400 : 20); return slow; }
END
cc -g -o slow_test slow.c
run_whole "$TRACELET" run --quiet -- ./slow_test
touch slow
run_whole "$TRACELET" run --quiet -- ./slow_test
check_equal "a failing run" 1 "$status"
"$TRACELET" why --json slow_test >why.json
check_equal "what grew since the last passing run" "settle sleep true" \
	"$(jq -r '.difference.segments[0] | "\(.function) \(.reason) \(.ns > 300000000)"' why.json)"
check_match "in words" 'The last passing run took .*; there, slow_test spent .* \(sleep in settle\) and here 4' \
	<("$TRACELET" why slow_test)
differs='The last passing run took [0-9.]+ ms; there, slow_test spent [0-9.]+ ms \(sleep in settle\) and here 4[0-9.]+ ms\.'
check_match "the same in the manifest" "$differs" <(jq -r 'select(.explanation).explanation' tracelet-out/manifest.jsonl)
printf '<testsuite><testcase name="slow_test"><failure/></testcase></testsuite>\n' >slow.xml
check_run "the JUnit file" 0 "$TRACELET" junit slow.xml
check_match "and in JUnit files" "$differs" slow.xml
check_run "a page" 0 "$TRACELET" report -o slow.html slow_test
check_match "and on pages" "$differs" <(sed 's/<[^>]*>//g' slow.html)
check_equal "a run can be compared with itself" "0" \
	"$("$TRACELET" why --json --baseline slow_test@0 slow_test | jq '.difference.segments | length')"
check_equal "and with the one before" "1" \
	"$("$TRACELET" why --json --baseline slow_test@1 slow_test | jq '.difference.segments | length')"

# CI keeps no traces of tests that pass; the digest is enough.
fresh
cp "$work_root"/*/slow_test .
run_whole env CI=true GITHUB_STEP_SUMMARY= "$TRACELET" run --quiet -- ./slow_test
check_equal "in CI a passing run leaves no trace" "0" "$(find tracelet-out -name '*.pb' | wc -l)"
touch slow
run_whole env CI=true GITHUB_STEP_SUMMARY= "$TRACELET" run --quiet -- ./slow_test
check_equal "and yet it is known what grew" "settle sleep" \
	"$("$TRACELET" why --json slow_test | jq -r '.difference.segments[0] | "\(.function) \(.reason)"')"

done_testing
