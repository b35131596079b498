# The content of the trace, queried with SQL through Perfetto's own importer.
. "$(dirname "$0")/lib.sh"
. "$source/tests/cli/helpers/words.sh"
need_bpf
need_importer

# Another program, busy all the time with its own processes; prints a line for each.
cp "$(type -P sleep)" foreigner
(while :; do ./foreigner 0.005; echo; done >"$work_root/rounds") &
foreign=$!

# ---- one tree ----

# The test's own threads, and one of them.
own() {
	echo "(with recursive tree(upid) as (select upid from process where pid = $id_family union
		select process.upid from process join tree on parent_upid = tree.upid) select utid from thread join tree using (upid))"
}
of() { # NAME: the thread
	local id=id_$1
	echo "(select utid from thread where tid = ${!id})"
}
# Some kernels run no BPF program while certain processes are on the CPU (process 1 of the machine on which this was
# seen), so a task that follows them arrives unnoticed. What such a task did until it left is "(events lost)". So
# the questions are those that can be answered anyway: what a task has, or may have had in that time.
hidden="(select utid from thread where name = '(events lost)')"
pseudo="(select utid from thread where name in ('(not this test)', '(events lost)'))"

rm -rf tracelet-out
begin=$(date +%s%N)
run "$TRACELET" run --name tree::story --json story.json -- "$helpers/family"
end=$(date +%s%N)
while read -r name id; do
	declare "id_$name=$id"
done <"$stdout"
trace=$(the_trace tree__story)
check_equal "the status" 5 "$status"
check "tracelet check is content" "$TRACELET" check "$trace"
check "the importer lost and skipped nothing" ask --health "$trace"

own=$(own)
for name in early sleeper burner; do
	id=id_$name
	question "the thread $name belongs to the test's process" "$name|$id_family" "select thread.name, pid
		from thread join process using (upid) where tid = ${!id}"
done
question "an ended thread has begin and end" 1 "select start_ts < end_ts from thread where tid = $id_early"
for name in leaver killed executed; do
	id=id_$name
	question "$name is a child of the test" "$id_family" "select parent.pid from process child
		join process parent on child.parent_upid = parent.upid where child.pid = ${!id}"
done
question "the child that detached itself is there, with its name" detached "select name from thread where tid = $id_detached"
question "its parent is the one in between, whose parent is the test" "$id_family" "select first.pid from process child
	join process middle on child.parent_upid = middle.upid join process first on middle.parent_upid = first.upid
	where child.pid = $id_detached"
question "the test's command line" "$helpers/family" "select cmdline from process where pid = $id_family"
question "that of a program it executed" "sh -c exit 9 family-argument" \
	"select cmdline from process where pid = $id_executed"
question "every process of the test has an end" 0 "select count(*) from process where end_ts is null and upid in
	(select upid from thread where utid in $own)"

instant="from slice join thread_track on track_id = thread_track.id join thread using (utid)"
question "recorded from the first instruction: the exec that began the test" "exec $helpers/family" \
	"select slice.name $instant where tid = $id_family and slice.name glob 'exec *'"
question "the test ran when it began, or came as the first and unseen" 1 "select (select min(ts) from sched_slice where
	utid = $(of family) or (utid not in $pseudo and ts < (select min(ts) $instant where tid = $id_family))) <=
	(select min(ts) $instant where tid = $id_family) or not exists (select 1 from sched_slice where utid not in $pseudo
	and ts < (select min(ts) $instant where tid = $id_family))"
question "and to the end: its exit with its code" "exit 5" \
	"select slice.name $instant where tid = $id_family and slice.name glob 'exit *'"
question "an exec has its file" "exec /bin/sh" "select slice.name $instant where tid = $id_executed and slice.name glob 'exec *'"
question "and its arguments" "sh -c exit 9 family-argument" "select display_value from args join slice using (arg_set_id)
	join thread_track on track_id = thread_track.id join thread using (utid)
	where tid = $id_executed and key glob '*arguments'"
question "an exit has its code" "exit 42" "select slice.name $instant where tid = $id_leaver and slice.name glob 'exit *'"
question "of a program it executed too" "exit 9" "select slice.name $instant where tid = $id_executed and slice.name glob 'exit *'"
question "a death by signal is one" "killed by signal 15" "select slice.name $instant where tid = $id_killed and slice.name glob 'killed *'"
question "and the signal is on the thread that got it" 1 "select count(*) $instant where tid = $id_killed and slice.name = 'signal_generate'"

burner="from sched_slice, (select start_ts, end_ts from thread where tid = $id_burner)"
question "a gap in the summary for each hidden time" "$(jq .gaps story.json)" "select count(*) from sched_slice where utid in $hidden"
question "who was busy for 50 ms ran that long" 1 "select (select sum(dur) from sched_slice where utid = $(of burner)) +
	(select coalesce(sum(min(ts + dur, end_ts) - max(ts, start_ts)), 0) $burner
	where utid in $hidden and ts < end_ts and ts + dur > start_ts) >= 49000000"
question "and not much longer" 1 "select sum(dur) < 100000000 from sched_slice where utid = $(of burner)"
question "and not longer than it lived" 1 "select sum(sched_slice.dur) <= end_ts - start_ts from sched_slice
	join thread using (utid) where tid = $id_burner"
question "who slept was woken by who wrote" 1 "select $(of family) in
	(select waker_utid from thread_state where utid = $(of sleeper) and state = 'R')"
question "every thread of the test ran, but for hidden ones" 1 "select count(*) <= $(jq .gaps story.json) from thread
	where utid in $own and utid not in (select utid from sched_slice where dur > 0)"
question "slices of one CPU do not overlap" 0 "select count(*) from
	(select ts + dur as finish, lead(ts) over (partition by cpu order by ts) as following from sched_slice where dur >= 0)
	where finish > following"

question "time outside has its whole name" "(not this test)" "select name from process where pid = 4194304"
question "tool and version" "$("$TRACELET" --version | cut -d ' ' -f 1,2)" "select str_value from metadata where name = 'trace_attribute.tool'"
question "the test's name" tree__story "select str_value from metadata where name = 'trace_attribute.test'"
question "the command" "$helpers/family" "select str_value from metadata where name = 'trace_attribute.command'"
question "the exit status" 5 "select str_value from metadata where name = 'trace_attribute.exit-status'"
question "the kernel" "$(uname -r)" "select str_value from metadata where name = 'system_release'"
question "wall time, which is right" 1 "select min(clock_value) between $begin and $end from clock_snapshot where clock_name = 'REALTIME'"

question "nothing of foreign processes: no command line" 0 "select count(*) from process where cmdline glob '*foreigner*'"
question "no exec or exit" 0 "select count(*) $instant where utid not in $own"
question "who else ran is a direct neighbour of the test, or ran while the test was ready, or is no one" 1 \
	"select count(*) <= $(jq .gaps story.json) from
	(select utid, ts, dur, lag(utid) over (partition by cpu order by ts) as before from sched_slice) other
	where utid not in $own and utid not in $pseudo and before not in $own and before not in $hidden
	and utid not in (select utid from thread where tid = 0) and not exists (select 1 from thread_state ready
	where ready.utid in $own and ready.state in ('R', 'R+') and ready.ts <= other.ts + other.dur
	and ready.ts + ready.dur >= other.ts)"
answers "$trace"

# ---- two sessions at once ----

fresh
mkfifo one two
marked() { # NAME THIS OTHER: runs until the other one runs, too
	"$TRACELET" run --quiet --name "$1" -- sh -c "$2; $3; for i in 1 2 3 4 5 6 7 8 9 10; do /bin/echo mark-$1; done" >/dev/null
}
marked first 'echo >one' 'read -r line <two' &
marked second 'read -r line <one' 'echo >two'
wait $!
for name in first second; do
	other=$([ $name = first ] && echo second || echo first)
	question "$name has its own marks" 10 "select count(*) from process where cmdline = '/bin/echo mark-$name'"
	question "and none of the other's" 0 "select count(*) from process where cmdline glob '*mark-$other*'"
	question "and one exec for each and the shell" 11 "select count(*) from slice where name glob 'exec *'"
	answers "$(the_trace $name)"
done

# ---- the whole system ----

fresh
interrupts() { # FILE: a copy of /proc/interrupts
	awk '$1 ~ /^[0-9]+:/ {for (i = 2; i <= NF && $i ~ /^[0-9]+$/; i++) sum += $i} END {print sum + 0}' "$1"
}
cat >many.sh <<'END'
cat /proc/interrupts >before
dd if=/dev/zero of=file bs=4096 count=20 oflag=direct,sync 2>/dev/null
sync file
cat /proc/interrupts >after
rounds=$(wc -l <"$1")
until [ $(wc -l <"$1") -gt $((rounds + 3)) ]; do sleep 0.01; done
END
check_run "--scope system" 0 "$TRACELET" run --quiet --scope system --name all -- sh many.sh "$work_root/rounds"
[ "$(interrupts after)" -gt "$(interrupts before)" ] && interrupted=1 || interrupted=0
question "sees a foreign process" 1 "select count(*) > 0 from process where cmdline glob '*foreigner 0.005'"
question "its exit" 1 "select count(*) > 0 from slice join thread_track on track_id = thread_track.id
	join thread using (utid) where thread.name = 'foreigner' and slice.name = 'exit 0'"
question "the test too" 1 "select count(*) from process where cmdline glob 'sh many.sh *'"
question "the time of a CPU has no gaps" 0 "select count(*) from
	(select ts + dur as finish, lead(ts) over (partition by cpu order by ts) as following from sched_slice)
	where following is not null and finish != following"
question "no time belongs to nobody" 0 "select count(*) from thread where name = '(not this test)'"
question "softirqs on tracks of their CPUs" 1 "select count(*) > 0 from slice join track on track_id = track.id
	where track.name glob 'SoftIrq Cpu *' and slice.name in ('TIMER', 'SCHED', 'RCU') and dur > 0"
question "interrupts with their handler's name" "$interrupted" "select count(*) > 0 from slice join track on track_id = track.id
	where track.name glob 'Irq Cpu *' and slice.name glob 'IRQ (*)'"
answers "$(the_trace all)"
kill "$foreign"

# ---- how long ----

fresh
# until_stopped.sh: waits until the spool says that the recording is over.
cat >until_stopped.sh <<'END'
/bin/echo early-mark
until "$TRACELET" info tracelet-out/short_*.spool | grep -q '^recording-stopped'; do :; done
/bin/echo late-mark
exit 6
END
check_run "--duration" 6 timeout 60 "$TRACELET" run --quiet --duration 1 --name short -- sh until_stopped.sh
check_equal "the test ran to its end" "early-mark late-mark" "$(paste -sd ' ' "$stdout")"
question "what was early is there" 1 "select count(*) from process where cmdline = '/bin/echo early-mark'"
question "what was late is not" 0 "select count(*) from process where cmdline glob '*late-mark'"
question "the result is" "6" "select str_value from metadata where name = 'trace_attribute.exit-status'"
answers "$(the_trace short)"

check_run "--wait-tree" 4 "$TRACELET" run --quiet --wait-tree --name whole -- \
	sh -c '(sleep 0.2; setsid sh -c "sleep 0.1 && /bin/echo late-mark" &) & exit 4'
check_equal "waits for the last process" late-mark "$(cat "$stdout")"
check "and records it" grep -q -a late-mark "$(the_trace whole)"

check_run "--wait-tree=0.1 has a limit" 4 "$TRACELET" run --quiet --wait-tree=0.1 --name limited -- \
	sh -c 'sleep 1000 & echo $!; exit 4'
check "then leaves what runs alone" kill "$(cat "$stdout")"
check_lines "and says so in one line" 1 "$stderr"
check_match "that names the option" "still running.*--wait-tree" "$stderr"
check_run "without --wait-tree only the command is waited for" 4 "$TRACELET" run --quiet --name command -- \
	sh -c 'sleep 1000 >/dev/null 2>&1 & echo $!; exit 4'
check "what it left behind runs on" kill "$(cat "$stdout")"
check_lines "and there is nothing to say" 0 "$stderr"

# ---- losses ----

fresh
# The tracer is stopped in the meantime, so a small buffer must overflow.
run "$TRACELET" run --json summary.json --name storm --buffer-size 4K -- sh -c 'tracer=$(pgrep -P $PPID -x tracelet-tracer)
	kill -STOP "$tracer" && "$0" 2000 && kill -CONT "$tracer"' "$helpers/storm"
lost=$(jq '.lost.process // 0' summary.json)
check "a buffer of 4 kB loses events" test "$lost" -gt 0
check_match "the summary lists them by source, and says what to do" "LOST .*[0-9] process.*--buffer-size" "$stderr"
question "they are statistics of the trace" "$(jq '.lost | add // 0' summary.json)" \
	"select sum(value) from stats where name = 'ftrace_cpu_dropped_events_delta'"
question "and visible marks in it" "$lost" \
	"select sum(cast(substr(name, 1, instr(name, ' ')) as int)) from slice where name glob '* process events lost'"
answers "$(the_trace storm)"
check "and the trace is well-formed" "$TRACELET" check "$(the_trace storm)"

done_testing
