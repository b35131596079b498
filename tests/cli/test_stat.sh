# tracelet stat: counts of the events that every machine has; missing events are reported.
. "$(dirname "$0")/lib.sh"
. "$source/tests/cli/helpers/words.sh"
need_command jq
"$TRACELET" stat -e page-faults:u --json -o - -- true 2>/dev/null |
	jq -e '.core.overall.Systemwide_Overall_Performance_Counters[0].counter_value > 0' >/dev/null ||
	skip_all "nothing can be counted here"

counted() {
	"$TRACELET" stat --quiet -- "$@"
}
# overall FILE NAME: the value of an event in a report.
overall() {
	jq -r --arg name "$2" '.core.overall.Systemwide_Overall_Performance_Counters[] | select(.event_name == $name).counter_value' "$1"
}

# ---- the command runs as without us ----

for code in 0 1 3 42 126 255; do
	check_run "the status $code is passed on" "$code" counted sh -c "exit $code"
done
check_run "killed by SIGTERM: 143" 143 counted sh -c 'kill -TERM $$'
check_run "a command that is not there: 127" 127 counted no-such-command-here
check_lines "one line says so" 1 "$stderr"
touch no-program
check_run "one that is not executable: 126" 126 counted ./no-program
check_run "streams" 0 "$TRACELET" stat -- sh -c 'echo out; echo err >&2'
check_equal "nothing of ours on stdout" out "$(cat "$stdout")"
check_match "the command's stderr is there" '^err$' "$stderr"
check_match "and then the table" '^ +VALUE +EVENT +NOTE +PER SECOND +SHARE$' "$stderr"
check_equal "--quiet leaves stderr to the command" err "$(counted sh -c 'echo err >&2' 2>&1)"
check_equal "stdin is the command's" "two" "$(printf 'one\ntwo\n' >lines; (counted sh -c 'read -r first'; cat) <lines)"
mkfifo pipe
"$TRACELET" stat --quiet -- sh -c 'exec >&-; read -r wait <pipe' | { cat >/dev/null; echo >ended; } &
check "a pipe ends when the command closes it" wait_until test -e ended
echo >pipe
wait
"$TRACELET" stat --quiet -- sh -c 'trap "echo got >signal; exit 9" USR1; echo >ready; while :; do sleep 0.01; done' &
check "the command begins" wait_until test -e ready
kill -USR1 $!
wait $!
check_equal "a signal sent to us reaches it" "9 got" "$? $(cat signal)"
env -i A=1 "$helpers/surroundings" x >found 2>/dev/null </dev/null
cp found without
env -i A=1 "$TRACELET" stat --quiet -- "$helpers/surroundings" x >found 2>/dev/null </dev/null
check "environment, descriptors, signals, limits: as without" diff without found

# ---- what is counted ----

# touches PAGES: touches at least this many pages, in a grandchild.
touches() {
	printf '%s\0' sh -c "sh -c 'head -c $((4096 * $1)) /dev/zero | tail -c $((4096 * $1)) | wc -c >/dev/null'"
}
mapfile -d '' -t few < <(touches 10)
mapfile -d '' -t many < <(touches 5000)
"$TRACELET" stat -e page-faults,task-clock --json -o few.json -- "${few[@]}"
"$TRACELET" stat -e page-faults,task-clock --json -o many.json -- "${many[@]}"
check "children of children are counted too" test "$(overall many.json page-faults)" -gt $(($(overall few.json page-faults) + 2000))
check "task-clock is in nanoseconds" test "$(overall many.json task-clock)" -gt 100000
check "the shape is WindowsPerf's" jq -e '.core | (.Multiplexing == false) and (.cores == [])
	and (.overall.Systemwide_Overall_Performance_Counters | length == 2)
	and (.ts_metric.Telemetry_Solution_Metrics | type == "array")' many.json
check "with the time" jq -e '.Time_elapsed > 0' many.json
check "and that on CPUs" jq -e '.Time_user + .Time_system > 0' many.json
run "$TRACELET" stat -- true
check_match "as in the table" '^  [0-9.]+ s in user code, [0-9.]+ s in the kernel$' "$stderr"

run "$TRACELET" stat -e '{page-faults:u,context-switches},task-clock' -m fault-rate -- true
check_match "a group's events" '^ +[0-9,]+  page-faults:u .* 100.0%$' "$stderr"
check_match "a metric with its unit" '^ +[0-9.e+]+  fault-rate +per second$' "$stderr"

if [ -r /sys/kernel/tracing/events/sched/sched_process_exec/id ]; then
	"$TRACELET" stat -e sched:sched_process_exec --json -o exec.json -- sh -c 'true; /bin/true; /bin/true; exec /bin/true'
	check_equal "a tracepoint: each exec, from the first on" 4 "$(overall exec.json sched:sched_process_exec)"
else
	skip "a tracepoint" "they cannot be looked up here"
fi
if [ -e /sys/bus/event_source/devices/msr/events/tsc ]; then
	run "$TRACELET" stat -e msr/tsc/,msr/event=0/ -- true
	check_match "an event of a PMU in sysfs" '^ +([0-9]{1,3},)+[0-9]+  msr/tsc/ ' "$stderr"
	check_match "and by its terms" '^ +([0-9]{1,3},)+[0-9]+  msr/event=0/ ' "$stderr"
else
	skip "a PMU in sysfs" "there is none that could be tried"
fi

if ldconfig -p 2>/dev/null | grep -q 'libpfm\.so\.4'; then
	run env LIBPFM_FORCE_PMU=skl "$TRACELET" stat man INST_RETIRED:ANY_P
	check_match "an event of a CPU, by libpfm4's name" 'config 0xc0$' "$stdout"
	check_run "a name that it does not know either" 2 env LIBPFM_FORCE_PMU=skl "$TRACELET" stat -e INST_RETIRED:NONSENSE -- true
else
	skip "libpfm4's names" "it is not installed"
fi

# ---- CPUs, threads, processes, all ----

"$TRACELET" stat --per-core -e task-clock --json -o cores.json -- sh -c 'i=0; while [ $i -lt 20000 ]; do i=$((i + 1)); done'
check_equal "--per-core: each CPU" "$(nproc --all)" "$(jq '.core.cores | length' cores.json)"
check "together they are the whole" jq -e '([.core.cores[].Performance_counter[0].counter_value] | add)
	== .core.overall.Systemwide_Overall_Performance_Counters[0].counter_value' cores.json
check "time on another CPU is no multiplexing" jq -e '.core.Multiplexing == false' cores.json
sleep 60 &
sleeper=$!
check_equal "-c: a CPU that is named twice counts once" true "$("$TRACELET" stat -c 0,0 -e task-clock --json -o - -- \
	taskset -c 0 true 2>/dev/null | jq '.core.overall.Systemwide_Overall_Performance_Counters[0].counter_value < .Time_elapsed * 1.2e9')"
check_run "-c: one that is not there" 2 "$TRACELET" stat -c 8000 -- touch was-run
check_match "is named, with those that are" '^tracelet: -c: no CPU 8000; this machine has 0' "$stderr"
run "$TRACELET" stat -p $sleeper --per-thread -t -n 1 -i 10ms --json
check_equal "-p: its thread" $sleeper "$(jq '.core.threads[0].thread_id' "$stdout")"
"$TRACELET" stat -p $sleeper -e task-clock >/dev/null 2>&1 &
counter=$!
wait_until eval 'ls -l /proc/$counter/fd 2>/dev/null | grep -q perf_event'
kill $sleeper
wait $counter
check_equal "-p ends with the process" 0 $?
check_run "a process that is not there is bad usage" 2 "$TRACELET" stat -p 4194304
check_lines "one line" 1 "$stderr"
if [ "$(id -u)" = 0 ]; then
	check_run "-a without a command: to the last row" 0 "$TRACELET" stat -a -e context-switches -t -n 2 -i 20ms --csv
	check_equal "on stdout" 3 "$(wc -l <"$stdout")"
	check_run "-a with one: until its end" 5 "$TRACELET" stat -a -e context-switches -- sh -c 'exit 5'
else
	skip "-a" "this needs root"
fi
sleep 60 &
sleeper=$!
check_run "nothing to count in a process: it is not waited for" 1 timeout 20 "$TRACELET" stat -p $sleeper -e no_such_pmu/event=1/ --json -o nothing.json
check_match "which is reported" "^tracelet: nothing can be counted: no_such_pmu/event=1/ is not available: this machine has no PMU" "$stderr"
check_lines "in one line" 1 "$stderr"
check_not "and no file is left" test -e nothing.json
kill $sleeper
wait
check_run "nor on the machine" 1 timeout 20 "$TRACELET" stat -a -t -n 1 -i 10ms --csv -e no_such_pmu/event=1/,no_such_pmu/event=2/
check_equal "nothing is printed" "" "$(cat "$stdout")"
check_run "a command keeps its status" 5 "$TRACELET" stat -a -e no_such_pmu/event=1/ -- sh -c 'exit 5'

# ---- each thread of a command ----

"$TRACELET" stat --per-thread -q -e page-faults -- true 2>whether
if [ "$(id -u)" = 0 ] && [ ! -s whether ] && command -v python3 >/dev/null; then
	cat >threads.py <<'END'
import ctypes, mmap, threading
def touch(name, pages):
    ctypes.CDLL(None).prctl(15, name, 0, 0, 0)
    memory = mmap.mmap(-1, pages * 4096)
    for page in range(pages):
        memory[page * 4096] = 1
for name, pages in ((b"few", 100), (b"many", 3000)):
    thread = threading.Thread(target=touch, args=(name, pages))
    thread.start()
    thread.join()
END
	# Small pages, each of which faults separately.
	"$TRACELET" stat --per-thread -e page-faults,no_such_pmu/event=1/ --json -o threads.json -- \
		sh -c 'true; /bin/true; /usr/bin/env python3 threads.py'
	faults() { jq "[.core.threads[] | select(.thread_name == \"$1\").Performance_counter[0].counter_value] | add" threads.json; }
	check "each thread of a command has its own counts" test "$(faults many)" -gt $(($(faults few) + 100))
	check "one that was there for a moment, too" test "$(faults true)" -gt 10
	check "together they are the whole" jq -e '([.core.threads[].Performance_counter[0].counter_value] | add)
		== .core.overall.Systemwide_Overall_Performance_Counters[0].counter_value' threads.json
	check "what is not available is reported" jq -e '.core.overall.Systemwide_Overall_Performance_Counters[1].counter_value == null' threads.json
	check_run "the status is the command's" 9 "$TRACELET" stat --per-thread -e page-faults -- sh -c '/bin/true; exit 9'
	check_match "a row for each" '^  thread [0-9]+ \(true\) +[0-9,]+$' "$stderr"
	check_run "an assertion is on the whole" 3 "$TRACELET" stat -q --per-thread --assert 'page-faults<2' -- true
else
	skip "each thread of a command" "this needs root, BPF and python3"
fi

# ---- timelines ----

"$TRACELET" stat -t -i 50ms -e page-faults --json -o line.json -- sh -c 'sleep 0.12; ls / >/dev/null; sleep 0.1'
check "a timeline has rows" jq -e '(.timeline | length) >= 2 and .count_timeline == (.timeline | length)' line.json
check "whose sum is the whole" jq -e '([.timeline[].core.overall.Systemwide_Overall_Performance_Counters[0].counter_value] | add)
	== .core.overall.Systemwide_Overall_Performance_Counters[0].counter_value' line.json
"$TRACELET" stat -t -n 1 -i 20ms -e page-faults --json -o one.json -- sh -c 'sleep 1; ls / >/dev/null'
check "-n: no more rows, and the whole goes on" jq -e '(.timeline | length) == 1 and
	.timeline[0].core.overall.Systemwide_Overall_Performance_Counters[0].counter_value
	< .core.overall.Systemwide_Overall_Performance_Counters[0].counter_value' one.json
run "$TRACELET" stat -t -i 20ms -e page-faults,cs -- sleep 0.1
check_match "as rows of a table" '^ +SECONDS +page-faults +cs$' "$stderr"
run "$TRACELET" stat --csv -e page-faults -o out.csv -- true
check_equal "CSV has a line of names" "seconds,core,thread,name,value,scaled_value,share,per_second,note" "$(head -n 1 out.csv)"
check_match "and a line for each event" '^[0-9.]+,,,page-faults,[0-9]+,[0-9]+,1\.0000,[0-9.e+]+,$' out.csv

check_equal "no spark line but on a terminal" 0 "$(grep -c '█' "$stderr")"
if command -v python3 >/dev/null; then
	# Touches pages first, and then none; a busy machine may begin late.
	python3 "$source/tests/cli/helpers/terminal.py" -- "$TRACELET" stat -t -i 50ms -e page-faults -- \
		sh -c 'ls -R /usr/include >/dev/null; sleep 0.3' >terminal 2>&1
	check_match "on one there is" '^  page-faults +[^ ]*█[^ ]*▁ +at most [0-9,]+ in a row' terminal
else
	skip "a spark line" "no python3"
fi

# ---- names of files ----

check_run "words in a name" 0 "$TRACELET" stat --csv -e page-faults -o 'named-{class}-{timestamp}.csv' -- true
check_equal "are filled in" 1 "$(ls | grep -cE '^named-all-[0-9]{4}(_[0-9]{2}){5}\.csv$')"
check_run "{core}" 0 "$TRACELET" stat --per-core --csv -t -i 20ms -e page-faults -o 'of-{class}-{core}.csv' -- sleep 0.05
check_equal "a file for each core" "$(nproc --all)" "$(ls | grep -c '^of-core-[0-9]*\.csv$')"
check_equal "has rows of that core" 0 "$(sed 1d of-core-0.csv | cut -d , -f 2 | sort -u)"
check_run "{core} without --per-core is bad usage" 2 "$TRACELET" stat --csv -o 'of-{core}.csv' -- touch was-run

# ---- user-defined metrics ----

cat >own.ini <<'END'
[family]
match = *
name = mine
[event pages]
code = page-faults
description = Pages.
[metric pages-twice]
formula = 2 * pages
unit = pages
description = To see that it is calculated.
END
"$TRACELET" stat --metric-file own.ini -e pages -m pages-twice --json -o own.json -- true
check "a formula of one's own over a name of one's own" jq -e '(.core.ts_metric.Telemetry_Solution_Metrics[0].value | tonumber)
	== 2 * .core.overall.Systemwide_Overall_Performance_Counters[0].counter_value' own.json
check_run "and an assertion on it" 3 "$TRACELET" stat -q --metric-file own.ini --assert 'pages-twice<2' -- true
printf '[metric bad]\nformula = 1 +\n' >bad.ini
check_run "a file that is wrong" 2 "$TRACELET" stat --metric-file bad.ini -- touch was-run
check_match "is reported with its line" '^tracelet: bad.ini:2: ' "$stderr"
check_run "one that is not there" 2 "$TRACELET" stat --metric-file no-such.ini -- touch was-run
check_lines "one line" 1 "$stderr"

# ---- each case of a test program ----

if cc -o cases "$source/tests/cli/each/cmocka.c" -lcmocka 2>/dev/null && [ -e "$(dirname "$TRACELET")/libtracelet-cmocka.so" ]; then
	"$TRACELET" each --list -- ./cases 2>/dev/null >listed
	run "$TRACELET" stat --per-test -e page-faults --json -o cases.json -- ./cases
	check "a case that fails makes it fail" test "$status" -ne 0
	check_equal "each case" "$(grep -c . listed)" "$(jq '.tests | length' cases.json)"
	check "with its own counts" jq -e 'all(.tests[]; .core.overall.Systemwide_Overall_Performance_Counters[0].counter_value > 10)' cases.json
	check "and its status" jq -e 'any(.tests[]; .exit_status == 0) and any(.tests[]; .exit_status != 0)' cases.json
	run "$TRACELET" stat --per-test -e page-faults -- ./cases
	check_match "a row for each" "^ +[0-9.]+ +[0-9,]+  $(jq -r '[.tests[] | select(.exit_status == 0)][0].test' cases.json)\$" "$stderr"
	run "$TRACELET" stat --per-test --csv -e page-faults -o cases.csv -- ./cases
	check_equal "in CSV the first column" "test,seconds,core,thread,name,value,scaled_value,share,per_second,note" "$(head -n 1 cases.csv)"
	run "$TRACELET" stat --per-test -q -e page-faults --assert 'page-faults<2' -- ./cases
	check_match "an assertion names the case" "^tracelet: $(jq -r '.tests[0].test' cases.json): --assert 'page-faults<2' failed: it compares " "$stderr"
	jq '.tests |= map(.core.overall.Systemwide_Overall_Performance_Counters[0].counter_value = 1)' cases.json >less.json
	run "$TRACELET" stat --per-test -q -e page-faults --baseline less.json -- ./cases
	check_match "so does a baseline" "^tracelet: $(jq -r '.tests[0].test' cases.json): page-faults: [0-9,]+, baseline 1 " "$stderr"
else
	skip "cases of a test program" "its sample cannot be compiled here"
fi
check_run "a program whose cases are not known" 2 "$TRACELET" stat --per-test -- true
check_lines "one line" 1 "$stderr"

# ---- missing events ----


check_run "an event of a PMU that is not there does not fail" 0 "$TRACELET" stat -e no_such_pmu/event=1/,page-faults -- true
check_match "and is reported" "^ +-  no_such_pmu/event=1/ +not available: this machine has no PMU 'no_such_pmu'" "$stderr"
run "$TRACELET" stat -e instructions -m ipc --json -o hardware.json -- true
check_equal "hardware events: the status is the command's" 0 "$status"
if "$TRACELET" stat man instructions | grep -q 'available  yes'; then
	check "they are counted" test "$(overall hardware.json instructions)" -gt 1000
else
	check "or are reported as not available" jq -e '.core.overall.Systemwide_Overall_Performance_Counters[0]
		| .counter_value == null and (.event_note | startswith("not available: "))' hardware.json
	check_run "an assertion on them fails" 3 "$TRACELET" stat --quiet --assert 'ipc>1' -- true
	check_match "and says why" "^tracelet: --assert 'ipc>1' failed: [a-z-]+ is not available: ." "$stderr"
	check_run "one for machines that have them does not" 0 "$TRACELET" stat --quiet --assert-if-available 'ipc>1' -- true
	check_match "which is reported" "'ipc>1' not checked: instructions is not available" "$stderr"
fi

if [ "$(id -u)" = 0 ] && command -v setpriv >/dev/null && [ "$(cat /proc/sys/kernel/perf_event_paranoid)" = 2 ]; then
	chmod 755 "$work_root" "$work"
	cp "$TRACELET" ./tracelet
	run setpriv --reuid=65534 --regid=65534 --clear-groups --inh-caps=-all --bounding-set=-all ./tracelet stat -e page-faults,cs -- true
	check_equal "an ordinary user: the status is the command's" 0 "$status"
	check_match "it says that the kernel is left out" '^tracelet: counted .*user code only' "$stderr"
	check_match "what programs do is counted" '^ +[1-9][0-9,]*  page-faults ' "$stderr"
	check_match "switches are not shown as 0" '^ +-  cs +not available: not permitted' "$stderr"
else
	skip "an ordinary user" "this needs root, and a kernel that lets users count"
fi
if [ -e /dev/full ]; then
	check_run "a report that cannot be written: the status is still the command's" 0 "$TRACELET" stat -o /dev/full -- true
	check_lines "and it is reported" 1 "$stderr"
fi

# ---- checks ----

check_run "an assertion that holds" 0 "$TRACELET" stat -q --assert 'page-faults>0' --assert 'page-faults<1e9' -- true
check_lines "is silent" 0 "$stderr"
check_run "one that does not: 3" 3 "$TRACELET" stat -q --assert 'page-faults<2' --assert 'page-faults>0' -- true
check_lines "one line" 1 "$stderr"
check_match "with the value" "'page-faults<2' failed: it compares [0-9]+ with 2" "$stderr"
check_run "on a metric" 3 "$TRACELET" stat -q --assert 'fault-rate<0.5' -- true
check_run "the command's own failure comes first" 7 "$TRACELET" stat -q --assert 'page-faults<2' -- sh -c 'exit 7'
for bad in 'page-faults' 'page-faults<' 'nonsense<1' '<1'; do
	check_run "--assert '$bad' is bad usage" 2 "$TRACELET" stat --assert "$bad" -- touch was-run
	check_lines "one line" 1 "$stderr"
done
check_run "few against few" 0 "$TRACELET" stat -q --baseline few.json --tolerance 1000 -- "${few[@]}"
check_run "a baseline that is exceeded: 3" 3 "$TRACELET" stat -q -e page-faults --baseline few.json --tolerance 50% -- "${many[@]}"
check_match "with the difference" '^tracelet: page-faults: [0-9,]+, baseline [0-9,]+ \(\+[0-9.]+%, tolerance 50%\)$' "$stderr"
check_run "less than the baseline is no failure" 0 "$TRACELET" stat -q -e page-faults --baseline many.json --tolerance 2% -- "${few[@]}"
check_match "but is reported" 'page-faults: .*\(-[0-9.]+%' "$stderr"
echo '{"core":1}' >bad.json
for file in bad.json no-such-file lines; do
	check_run "an invalid baseline ($file)" 2 "$TRACELET" stat --baseline $file -- touch was-run
	check_lines "one line" 1 "$stderr"
done

# ---- bad usage ----

while read -r words; do
	# shellcheck disable=SC2086
	check_run "stat $words: bad usage" 2 "$TRACELET" stat $words
	check_lines "nothing on stdout" 0 "$stdout"
done <<'END'

-e nonsense -- touch was-run
-e {page-faults -- touch was-run
-m nonsense -- touch was-run
-c x -- touch was-run
-i x -t -- touch was-run
-n 0 -t -- touch was-run
-n 3 -- touch was-run
-p 1 -a -- touch was-run
--per-thread -a -- touch was-run
--per-thread -t -- touch was-run
-i 1s -- touch was-run
--tolerance 2% -- touch was-run
-e page-faults:x -- touch was-run
-e sched:no_such_point -- touch was-run
list no-such-event-at-all
list a b
man
detect x
--per-test -a
--per-test -t -- touch was-run
--tolerance x -- touch was-run
-o no/such/folder/file -- touch was-run
man nonsense
END
check_not "and the command was not run" test -e was-run

check_run "a name that is nearly right" 2 "$TRACELET" stat -e page-fault:u -- true
check_match "is reported" "'page-fault' \\(did you mean 'page-faults'\\?\\)" "$stderr"
check_run "of a metric, too" 2 "$TRACELET" stat -m ipx -- true
check_match "is reported" "'ipx' \\(did you mean 'ipc'\\?\\)" "$stderr"
run "$TRACELET" stat -e page-faults:x -- true
check_match "an invalid modifier" 'only :u ' "$stderr"

# ---- the list of events ----

check_run "list" 0 "$TRACELET" stat list
check_match "events" '^page-faults +software +yes ' "$stdout"
check_match "metrics" '^ipc +metric +(yes|no) ' "$stdout"
check_run "list TEXT" 0 "$TRACELET" stat list fault
check_equal "has only what that is part of" 0 "$(sed 1d "$stdout" | grep -civ fault)"
check_match "as page-faults" '^page-faults ' "$stdout"
check_run "detect" 0 "$TRACELET" stat detect
check_match "the PMUs" '^software +1 +[1-9]' "$stdout"
check_run "man of an event" 0 "$TRACELET" stat man page-faults
check_match "is it available" '^  available  yes$' "$stdout"
check_run "man of a metric" 0 "$TRACELET" stat man ipc
check_match "has its formula" '^  formula    instructions / cycles$' "$stdout"
printf '#!/bin/sh\nexit 6\n' >list
chmod +x list
check_run "behind -- it is a command" 6 env PATH=".:$PATH" "$TRACELET" stat -q -- list

# ---- the manifest ----

noted() { jq -c "$1" tracelet-out/manifest.jsonl; }
fresh
check_run "the status is the command's, with a line in the manifest" 3 "$TRACELET" stat -q -e page-faults --name counted --run r1 -- sh -c 'exit 3'
check_equal "which has what was counted, and how it ended" '["stat","counted","counted","r1","failed",3,true,true,[]]' \
	"$(noted '[.kind, .test, .name, .run, .status, .exit, .metrics["page-faults"] > 10, .metrics.cpu_user_ns + .metrics.cpu_system_ns > 0, .artifacts]')"
for i in 1 2 3; do run "$TRACELET" stat -q -e page-faults -- true; done
run "$TRACELET" history --json --metric page-faults true
check_equal "the history has it" '["...",true]' "$(jq -c '.series[0].commits[0] | [.outcomes, .["page-faults"] > 10]' "$stdout")"
run "$TRACELET" stat -q --output-dir elsewhere -- true
check_lines "--output-dir says where" 1 elsewhere/manifest.jsonl
run env TRACELET_ENABLED=no "$TRACELET" stat -q --output-dir none -- true
check_not "nothing is written where tracing is disabled" test -e none
run "$TRACELET" stat -p $$ -t -n 1 -i 1ms -e page-faults --output-dir none
check_not "nor for a process that was only watched" test -e none
run env TRACELET_OUTPUT_DIR=/proc/none "$TRACELET" stat -q -- true
check_equal "a directory that cannot be written to is no error" "0 0" "$status $(wc -l <"$stderr")"
if [ -e ../1/cases ]; then
	run "$TRACELET" stat --per-test -q -e page-faults --output-dir cases -- ../1/cases
	check_equal "each case has a line, in the suite of its program" '["stat","cases",true]' \
		"$(jq -c '[.kind, .suite, (.name | length > 0)]' cases/manifest.jsonl | sort -u)"
	check_equal "and its own verdict" "failed passed skipped" "$(jq -r .status cases/manifest.jsonl | sort -u | xargs)"
fi

done_testing
