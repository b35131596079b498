# Marks that a test sets itself: all of them arrive, where they belong; and whatever happens to the
# tracer, the test continues.
. "$(dirname "$0")/lib.sh"
. "$source/tests/cli/helpers/words.sh"
need_bpf
need_importer

own="slice where category in ('mark', 'test')"

# ---- the examples, built as a user would ----

build() { # NAME OPTION...
	local name=$1
	shift
	cc -Wall -Wextra -Werror -pedantic -I "$source/include" "$source/examples/$name.c" -o "$name" "$@"
}

# marks NAME: the number of marks in the recording with that name.
marks() {
	"$TRACELET" dump tracelet-out/"$1"_*.spool | grep -c ' mark/mark '
}

check "phases.c is built" build phases -std=c11 -D_DEFAULT_SOURCE
check_run "and traced" 0 "$TRACELET" run -- ./phases
trace=$(the_trace phases)
check "tracelet check is content" "$TRACELET" check "$trace"
question "its phases are slices" "5|5|5|1" "select sum(name glob 'round ?'), sum(name = 'load'), sum(name = 'check'),
	sum(name = 'set up') from $own"
question "each step lies in its round" 10 "select count(*) from slice step join slice round on step.parent_id = round.id
	where round.name glob 'round ?' and step.name in ('load', 'check')"
question "all of them have an end" 0 "select count(*) from $own and dur < 0"
question "they are on the thread that made them" "phases|./phases" "select distinct thread.name, process.name from slice
	join thread_track on track_id = thread_track.id join thread using (utid) join process using (upid)
	where category = 'mark'"
question "the mark is an instant" "0" "select dur from slice where name = 'all rounds are done'"
question "the counter has its values" "4|3|2|1|0" "select group_concat(cast(value as int), '|') from counter
	join process_counter_track track on track_id = track.id where track.name = 'left'"
question "and belongs to the process" "1" "select count(*) from process_counter_track join process using (upid)
	join thread using (upid) where process_counter_track.name = 'left' and thread.name = 'phases'"
answers "$trace"
check_run "an untraced one runs as well" 0 ./phases

fresh
check "the cmocka example is built" build cmocka_phases -std=c99 -lcmocka
check_run "its status is its own" 1 "$TRACELET" run -- ./cmocka_phases
trace=$(the_trace cmocka_phases)
check "tracelet check is content" "$TRACELET" check "$trace"
question "a case for each test, with its result" "test_shallow passed,test_deep failed" "select group_concat(name || ' ' ||
	extract_arg(arg_set_id, 'debug.result')) from (select * from slice where category = 'test' order by ts)"
question "with its phases, also the one that the failure left" "load,parse,parse" "select group_concat(name) from
	(select phase.name from slice phase join slice test on phase.parent_id = test.id where test.category = 'test' order by phase.ts)"
answers "$trace"

fresh
if echo '#include <gtest/gtest.h>' | c++ -E -x c++ - >/dev/null 2>&1; then
	check "the GoogleTest example is built" c++ -std=c++14 -Wall -Wextra -Werror -pedantic -I "$source/include" \
		"$source/examples/gtest_phases.cc" -o gtest_phases -lgtest -pthread
	check_run "its status is its own" 1 "$TRACELET" run -- ./gtest_phases
	trace=$(the_trace gtest_phases)
	check "tracelet check is content" "$TRACELET" check "$trace"
	question "a case for each test, with its result" "Parser.Shallow passed,Parser.Deep failed,Printer.Wide skipped" "select
		group_concat(name || ' ' || extract_arg(arg_set_id, 'debug.result')) from (select * from slice where category = 'test' order by ts)"
	question "inside its suite" "Parser,Parser,Printer" "select group_concat(name) from (select suite.name from slice test
		join slice suite on test.parent_id = suite.id where test.category = 'test' order by test.ts)"
	question "the failure is told" 1 "select count(*) from slice where name glob '*not as deep*'"
	answers "$trace"
else
	skip "the GoogleTest example" "there is no GoogleTest here"
fi

# ---- the header, in every standard ----

fresh
cat >use.c <<'END'
#include <tracelet/mark.h>
void use(void);
void use(void) {
	tl_test_begin("a");
	tl_slice_begin("b");
	tl_counter("c", 1);
	tl_mark("d");
	tl_slice_end();
	tl_test_end(TL_FAILED);
}
END
cp use.c use.cc
strict="-Wall -Wextra -Werror -pedantic -Wconversion -Wshadow"
for compiler in gcc clang; do
	if type -P $compiler >/dev/null; then
		for standard in c99 c11 c17 gnu17; do
			check "$compiler takes the header as $standard" $compiler -std=$standard $strict -Wmissing-prototypes -c \
				-I "$source/include" use.c -o /dev/null
		done
	fi
done
for compiler in g++ clang++; do
	if type -P $compiler >/dev/null; then
		for standard in c++11 c++17 c++20; do
			check "$compiler takes the header as $standard" $compiler -std=$standard $strict -c -I "$source/include" use.cc -o /dev/null
		done
	fi
done
check "switched off, it is empty" gcc -std=c99 $strict -DTL_MARK_DISABLED -c -I "$source/include" use.c -o off.o
check_not "with nothing of it left" eval 'nm off.o | grep tl_mark_'
if type -P x86_64-w64-mingw32-gcc >/dev/null; then
	check "on Windows as well" x86_64-w64-mingw32-gcc -std=c99 $strict -c -I "$source/include" use.c -o /dev/null
fi
cat >main.c <<'END'
#include <tracelet/mark.h>
void use(void);
int main(void) {
	tl_mark("from the program");
	use();
	return 0;
}
END
check "two files of a program and a library include it" eval 'cc -fPIC -shared -I "$source/include" use.c -o libuse.so &&
	cc -I "$source/include" main.c -L. -luse -Wl,-rpath,"$PWD" -o both'
check_run "and are traced" 0 "$TRACELET" run -- ./both
question "with the marks of both, on one track" "5|1" "select count(*), count(distinct track_id) from
	(select track_id from $own union all select counter.track_id - counter.track_id + (select min(track_id) from $own) from counter
	join process_counter_track track on counter.track_id = track.id where track.name = 'c')"
answers "$(the_trace both)"

# ---- eight threads and a child ----

fresh
each=2000
check_run "marks from 8 threads and a child" 7 "$TRACELET" run --json summary.json -- "$helpers/marker" $each
trace=$(the_trace marker)
check_equal "none is lost" 0 "$(jq '.lost.marker // 0' summary.json)"
check "tracelet check is content" "$TRACELET" check "$trace"
check "the importer lost and skipped nothing" ask --health "$trace"
read -r _ pid _ child <"$stdout"
question "all slices, of 9 threads" "$((9 * each))|9" "select count(*), count(distinct track_id) from slice where name = 'step'"
question "all instants, each in its slice" $((9 * each)) "select count(*) from slice mark join slice step on mark.parent_id = step.id
	where mark.name = 'inside' and step.name = 'step'"
question "each step in its thread's own slice" 9 "select count(distinct worker.name) from slice step
	join slice worker on step.parent_id = worker.id where worker.name glob 'worker ?'"
question "the child's are the child's" "$each" "select count(*) from slice join thread_track on track_id = thread_track.id
	join thread using (utid) where slice.name = 'step' and tid = $child"
question "two processes have the counter" "2|$((9 * each))" "select count(distinct upid), count(*) from counter
	join process_counter_track track on track_id = track.id where track.name = 'done'"
question "the child's counts up without a gap" "$each|0|$((each - 1))" "select count(*), min(value), max(value) from counter
	join process_counter_track track on track_id = track.id join process using (upid) where track.name = 'done' and pid = $child"
question "begin and end are of the first thread" "$pid" "select distinct tid from slice join thread_track on track_id = thread_track.id
	join thread using (utid) where slice.name in ('begins', 'ends')"
question "slices of a mark run while their thread does" 0 "select count(*) from slice step join thread_track on step.track_id = thread_track.id
	join thread using (utid) where step.name = 'step' and (step.ts < thread.start_ts or step.ts + step.dur > thread.end_ts)"
answers "$trace"

# ---- the tracer is killed ----

fresh
mkfifo go
"$TRACELET" run -- "$helpers/marker" 100000 wait <go >out 2>said &
waiter=$!
exec 3>go
wait_until grep -q ready out
tracer=$(pgrep -P $waiter -x tracelet-tracer)
kill -KILL "$tracer"
wait_until eval '! kill -0 '"$tracer"' 2>/dev/null || [ "$(cut -d " " -f 3 /proc/'"$tracer"'/stat)" = Z ]'
echo go >&3
exec 3>&-
wait $waiter
check_equal "the test goes on without its tracer, to its own status" 7 $?
check_match "the tracer's death is reported" "the tracer died" said
spool=$(ls tracelet-out/*.spool)
check "what was recorded can be converted" "$TRACELET" convert "$spool" left.pb
check "tracelet check is content" "$TRACELET" check left.pb

# ---- a script's marks ----

fresh
export TRACELET_STATE_DIR=$PWD/state # ignore other users' sessions
check_run "outside a session there is nothing to mark" 1 env -u TRACELET_MARKS "$TRACELET" mark phase
check_lines "which is one line" 1 "$stderr"
check_match "that says it" "no session is recording" "$stderr"
check_run "an ended session does not count either" 1 env TRACELET_MARKS=/proc/1/fd/999:1 "$TRACELET" mark phase
check_run "a mark without a text is bad usage" 2 "$TRACELET" mark
check_run "a script marks its phases" 0 "$TRACELET" run --name script -- sh -c '
	"$TRACELET" mark first phase && "$TRACELET" mark -- --second && setsid "$TRACELET" mark third'
trace=$(the_trace script)
question "they are on the track of the test as a whole, in order" "first phase,--second,third|Test" "select group_concat(name), track from
	(select slice.name, track.name as track from slice join track on track_id = track.id where category = 'mark' order by ts)"
answers "$trace"
check "tracelet check is content" "$TRACELET" check "$trace"
check_run "a session in a session has its own marks" 0 "$TRACELET" run --keep-spool --name outer -- sh -c '
	"$TRACELET" mark out && "$TRACELET" run --keep-spool --name inner -- "$TRACELET" mark in'
check_equal "one is the outer's, one the inner's" "1 1" "$(marks outer) $(marks inner)"

# ---- where less can be recorded ----

fresh
unset TRACELET_STATE_DIR
chmod 777 "$work_root" .
ordinary() {
	setpriv --reuid=65534 --regid=65534 --clear-groups "$@"
}
check_run "an ordinary user's test marks too" 7 ordinary "$TRACELET" run --keep-spool --name perf -- "$helpers/marker" 10
check_equal "all of it" $((9 * (2 + 4 * 10) + 2)) "$(marks perf)"
check "tracelet check is content" "$TRACELET" check "$(the_trace perf)"
check_run "and where nothing else can be recorded" 7 ordinary "$TRACELET" run --scope system --keep-spool --name alone -- \
	"$helpers/marker" 10
check_match "which is reported" "not recorded: everything but the test's own marks" "$stderr"
check "tracelet check is content" "$TRACELET" check "$(the_trace alone)"
check_equal "all of it" $((9 * (2 + 4 * 10) + 2)) "$(marks alone)"
cp "$TRACELET" able
if setcap cap_bpf,cap_perfmon,cap_sys_admin+ep able 2>/dev/null; then
	check_run "a tracelet with capabilities of its own takes them too" 7 ordinary ./able run --keep-spool --name able -- "$helpers/marker" 10
	check_equal "all of it" $((9 * (2 + 4 * 10) + 2)) "$(marks able)"
	# Only this copy's: others on this machine may be recording, too.
	check "and leaves no process" wait_until eval '! ls -l /proc/[0-9]*/exe 2>/dev/null | grep -qF -- "-> $PWD/able"'
else
	skip "a tracelet with capabilities of its own" "files cannot have any here"
fi
rm -rf tracelet-out
check_run "a test without marks leaves nothing there" 0 ordinary "$TRACELET" run --scope system -- true
check_not "no folder" test -e tracelet-out
check_run "and --strict does not run it" 125 ordinary "$TRACELET" run --strict --scope system -- touch ran
check_not "at all" test -e ran

# ---- in a separate PID namespace ----

fresh
if unshare -pf --mount-proc true 2>/dev/null; then
	# Its process ids mean other processes here, so it cannot even find the tracer unless /proc is still ours.
	check_run "a test in another PID namespace" 7 "$TRACELET" run --keep-spool --name space -- unshare -pf "$helpers/marker" 5
	check_equal "its marks are kept" $((9 * (2 + 4 * 5) + 2)) "$(marks space)"
	question "as instants of the test, for who it was cannot be known" 45 "select count(*) from slice join track on track_id = track.id
		where slice.name = 'inside' and track.name = 'Test'"
	answers "$(the_trace space)"
	check "tracelet check is content" "$TRACELET" check "$(the_trace space)"
	check_run "with a /proc of its own it runs without" 7 "$TRACELET" run --name proc -- unshare -pf --mount-proc "$helpers/marker" 5
	check "and is traced" "$TRACELET" check "$(the_trace proc)"
else
	skip "a test in another PID namespace" "there are none here"
fi

done_testing
