# More heap profiles: children, samples, leaks, windows; and handlers that never return.
. "$(dirname "$0")/lib.sh"
. "$source/tests/cli/heap.sh"

# number FIELD: the sum over all points of profile.json.
number() {
	python3 -c 'import json, sys; print(sum(p[sys.argv[1]] for p in json.load(open("profile.json"))["pps"]))' "$1"
}

# near WANTED GOT PERCENT
near() {
	[ "$2" -ge $(($1 * (100 - $3) / 100)) ] && [ "$2" -le $(($1 * (100 + $3) / 100)) ]
}

# ---- handlers that jump away ----

for way in 500 "300 3" "300 2 own-stack"; do
	rm -rf tracelet-out
	run timeout 120 "$TRACELET" run --heap -- "$TRACELET_HELPERS/heap_jumps" $way
	mv tracelet-out/*.dhat.json profile.json
	check_equal "a program that jumps out of the allocator continues: $way" 0 "$status"
	check_match "to its end" 'all jumps made' "$stdout"
	check "nothing is below zero" test "$(number eb)" -lt 100000000
	check_match "the profile says what it is worth" 'not exact: [0-9]+ times a signal' "$stderr"
done
run timeout 120 "$TRACELET" run --quiet --heap-sample 1K -- "$TRACELET_HELPERS/heap_jumps" 300 2
check_equal "with samples, too" 0 "$status"

# ---- children ----

options=--heap-children
profile sh -c "$heap plain; $heap forks; $TRACELET_HELPERS/heap_static plain; exit 3"
check_equal "the status is the test's" 3 "$status"
check_match "children are summed up" 'heap +and [0-9]+ of child processes' "$stderr"
[ "$(id -u)" != 0 ] || # otherwise there may be no trace that shows it
	check_match "processes that could not be counted are named" 'no heap profiles for 1 child process that did not load .*heap_static' "$stderr"
check_match "the manifest has them" '"kind":"heap-of-child","path":"[^"]*\.[0-9]+\.dhat\.json"' tracelet-out/manifest.jsonl
cat >children.py <<'END'
import glob, json
rows = []
for path in glob.glob("tracelet-out/*.dhat.json"):
    profile = json.load(open(path))
    if profile["cmd"].split()[0].endswith("/heap"):
        rows.append((profile["cmd"].split()[-1], sum(p["tbk"] for p in profile["pps"]), sum(p["tb"] for p in profile["pps"])))
print(*sorted(rows))
END
check_equal "each has its own counts" \
	"('forks', 5, 500) ('forks', 1000, 1024000) ('forks', 1000, 1024000) ('forks', 1000, 1024000) ('forks', 1000, 1024000) ('forks', 1000, 1024000) ('plain', 1000, 10000)" \
	"$(python3 children.py)"

# ---- samples ----

options="--heap-sample 4K"
profile "$heap" samples
check_match "estimates are marked" '"estimatedFromSamplesEvery":4096' profile.json
check_match "which is reported" '^estimated  from samples, one in 4096 bytes on average$' <("$TRACELET" info profile.json)
check "bytes are right on average" near 32000000 "$(sums samples tb)" 8
check "and blocks" near 400000 "$(sums samples tbk)" 8
check "and what is left" near 16000000 "$(sums samples eb)" 8
check "and the peak" near 32000000 "$(sums samples gb)" 8
cat >strict.py <<'END_OF_STRICT'
import ctypes, os, sys
PR_SET_MDWE, PR_MDWE_REFUSE_EXEC_GAIN = 65, 1
ctypes.CDLL(None).prctl(PR_SET_MDWE, PR_MDWE_REFUSE_EXEC_GAIN, 0, 0, 0)  # since Linux 6.3; without it nothing is restricted
os.execv(sys.argv[1], sys.argv[1:])
END_OF_STRICT
profile "$(python3 -c 'import sys; print(sys.executable)')" strict.py "$heap" samples
check_equal "where code may not be written" 0 "$status"
check "samples are the same" near 32000000 "$(sums samples tb)" 8
options="--heap-sample 1K"
profile "$heap" grown
check "blocks that are resized are no likelier than others" near 400000 "$(sums grown tbk)" 8
check "nor their bytes" near 38400000 "$(sums grown tb)" 8
options="--heap-sample 64K"
profile "$heap" plain
check_equal "a program with little is just not met" 0 "$status"

options=--heap-usable
profile "$heap" plain
check_equal "sizes as the allocator has them" "1000 24000" "$(sums plain)"

# ---- leaks ----

options=--heap-leaks
profile "$heap" resized
check_equal "a leak alone is no failure" 0 "$status"
check_match "it is reported" 'leaked: 12 bytes in 1 block, from 1 place' "$stderr"
check_match "with its stack" '^    resized \(heap_ways\.h:[0-9]+\)' "$stderr"
check_match "as a file, too" '^    resized ' tracelet-out/*.leaks.txt
check_match "that the manifest has" '"kind":"leaks"' tracelet-out/manifest.jsonl
options="--fail-on-leak"
profile "$heap" resized
check_equal "or it is one" 4 "$status"
check_match "as reported" 'failed: memory was leaked' "$stderr"
profile "$heap" plain
check_equal "not without a leak" 0 "$status"
check_not "there is no file then" test -e tracelet-out/*.leaks.txt
profile sh -c 'exit 3'
check_equal "the test's own status comes first" 3 "$status"
options="--fail-on-leak --keep failed"
profile "$heap" resized
check "what has failed by a leak is kept" test -e profile.json
profile "$heap" plain killed
check_equal "a killed process had no time to free" 137 "$status"
check_not "so that is no leak" grep -q leaked: "$stderr"
options="--fail-on-leak --heap-suppressions suppressions"
echo 'heap!res*' >suppressions
profile "$heap" resized
check_equal "a suppressed leak does not count" 0 "$status"
printf '# of before\nno_such_function\nleak:esize\n' >suppressions
profile "$heap" resized
check_equal "lines of AddressSanitizer's, too" 0 "$status"
options="$options --verbose"
profile "$heap" resized
check_match "patterns that hide nothing are reported with --verbose" 'suppressions: line 2 hides no leak' "$stderr"
check_not "what does is not" grep -q 'line 3 hides' "$stderr"
options="--fail-on-leak --heap-suppressions suppressions"
echo 'libc*!res*' >suppressions
profile "$heap" resized
check_equal "others are" 4 "$status"
run "$TRACELET" run --heap-suppressions missing -- touch started
check_equal "a file that is not there" 2 "$status"
check_equal "is reported in one line" 1 "$(wc -l <"$stderr")"
check_not "and nothing is run" test -e started
for line in '{' '   fun:malloc' 'heap!' '^a <  < b'; do
	printf 'good\n%s\n' "$line" >wrong
	run "$TRACELET" run --heap-suppressions wrong -- touch started
	check_equal "an invalid line is reported: $line" "2 1" "$status $(grep -c 'wrong: line 2: ' "$stderr")"
done
check_not "and nothing is run then" test -e started
options=--fail-on-leak
profile "$heap" of-libc
check_equal "what libc keeps is not the test's" 0 "$status"

# Blocks that the program can still reach when it ends are no leaks.
cat >reach.c <<'END'
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
struct node {
	struct node *next;
	char text[100];
};
static struct node *list;
static char *volatile global;
static __thread char *volatile own;
static struct node *node(struct node *next) {
	struct node *made = malloc(sizeof(*made));
	made->next = next;
	return made;
}
static void *wait_for_ever(void *barrier) {
	char *volatile held = malloc(10);
	pthread_barrier_wait(barrier);
	for (;;)
		pause();
	return held;
}
int main(int count, char **words) {
	const char *what = words[1];
	static pthread_barrier_t barrier;
	pthread_t thread;
	char *volatile local;
	if (!strcmp(what, "global"))
		global = malloc(10);
	else if (!strcmp(what, "inside"))
		global = (char *)malloc(1000) + 500;
	else if (!strcmp(what, "list"))
		for (int i = 0; i < 1000; i++)
			list = node(list);
	else if (!strcmp(what, "thread-local"))
		own = malloc(10);
	else if (!strcmp(what, "large"))
		list = memset(malloc(4000000), 0, 4000000), list->next = node(NULL);
	else if (!strcmp(what, "stack")) {
		local = malloc(10);
		exit(0);
	} else if (!strcmp(what, "other-thread")) {
		pthread_barrier_init(&barrier, NULL, 2);
		pthread_create(&thread, NULL, wait_for_ever, &barrier);
		pthread_barrier_wait(&barrier);
	} else if (!strcmp(what, "forgotten"))
		global = malloc(10), global = NULL;
	else if (!strcmp(what, "local"))
		local = malloc(10);
	else if (!strcmp(what, "ring")) {
		struct node *one = node(NULL);
		one->next = node(one);
	} else if (!strcmp(what, "forgotten-list")) {
		for (int i = 0; i < 1000; i++)
			list = node(list);
		list = NULL;
	}
	return 0;
}
END
cc -O0 -g -pthread -o reach reach.c
for what in global:10:1 inside:1000:1 list:112000:1000 thread-local:10:1 large:4000112:2 stack:10:1; do
	IFS=: read -r what bytes blocks <<<"$what"
	profile ./reach "$what"
	check_equal "reachable, $what: no failure" 0 "$status"
	check_match "reachable, $what: counted apart" "still reachable: $bytes bytes in $blocks block" "$stderr"
done
profile ./reach other-thread
check_equal "reachable from the stack of another thread" 0 "$status"
for what in forgotten:10:1 local:10:1 ring:224:2 forgotten-list:112000:1000; do
	IFS=: read -r what bytes blocks <<<"$what"
	profile ./reach "$what"
	check_equal "a leak, $what" 4 "$status"
	check_match "a leak, $what: all of it" "leaked: $bytes bytes in $blocks block" "$stderr"
done
check_match "from one place" "from 1 place" "$stderr"
for program in "ls /" "git --version" "python3 -c 1"; do
	# shellcheck disable=SC2086 # words
	profile $program
	check_equal "programs that free nothing at their end: $program" 0 "$status"
done

# ---- while it runs ----

if [ "$(id -u)" = 0 ]; then
	options=--heap
	profile "$heap" plain killed
	check_run "the trace is right" 0 "$TRACELET" check tracelet-out/*.pb
	if "$source/tests/perfetto/setup" >/dev/null 2>&1; then
		check_equal "it shows what is live at the end" "heap: live blocks|1,heap: live bytes|4321" \
			"$("$source/tests/perfetto/tp" tracelet-out/*.pb "select t.name, c.value from counter c join process_counter_track t
				on c.track_id = t.id where c.id in (select max(id) from counter group by track_id) order by t.name" |
				paste -sd,)"
		profile sh -c 'sleep 0.1; exit 0'
		check_equal "the last reading, after the end, is of the same process" 1 \
			"$("$source/tests/perfetto/tp" tracelet-out/*.pb "select count(distinct upid) from process_counter_track
				where name glob 'heap: *'")"
	else
		skip "it shows what is live at the end" "Perfetto's importer cannot be had"
	fi
else
	skip "the trace shows how much is live" "needs root"
fi
done_testing
