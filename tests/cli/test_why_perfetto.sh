# Our critical path against Perfetto's own (its standard library, sched.thread_executing_span): how long each
# thread is on it. Both follow wakers; where they differ by intention, the check says how.
. "$(dirname "$0")/lib.sh"
. "$source/tests/cli/why.sh"
perfetto=$source/tests/perfetto
"$perfetto/setup" >/dev/null 2>&1 || skip_all "Perfetto's importer is not here"

# compare NAME: one line for each thread: its name, and how many hundredths of a percent of the time it is on our path
# and on Perfetto's.
compare() {
	"$perfetto/tp" "$("$TRACELET" artifact "$1")" \
		"include perfetto module sched.thread_executing_span" \
		"create perfetto table ours as
			select slice.ts, slice.dur, cast(substr(string_value, instr(string_value, '(') + 1) as int) as tid
			from slice join track on slice.track_id = track.id join args using (arg_set_id)
			where track.name = 'critical path' and key = 'debug.thread'" \
		"create perfetto table edges as
			select min(ts) as begin, max(ts + dur) as end from ours" \
		"create perfetto table theirs as
			select min(ts + dur, end) - max(ts, begin) as dur, tid
			from _thread_executing_span_critical_path(
				(select utid from thread where tid = (select tid from ours order by ts desc limit 1)),
				trace_start(), trace_dur())
			join thread using (utid) join edges where ts < end and ts + dur > begin" \
		"select (select name from thread where thread.tid = both.tid order by utid desc limit 1),
				cast(10000.0 * sum(ours) / (end - begin) as int), cast(10000.0 * sum(theirs) / (end - begin) as int)
			from (select tid, dur as ours, 0 as theirs from ours union all select tid, 0, dur from theirs) both
			join edges group by tid" >compared.txt
}

# tolerance: in hundredths of a percent. Where the test had to wait for a CPU, the two draw the line
# between one thread's time and another's a little differently.
tolerance() {
	jq -r '([.segments[] | select(.state == "ready") | .ns] | add // 0) as $ready
		| if $ready * 100 < .wall_ns then 100 else 500 end' why.json
}

# within CAUSE: every thread is on both paths for the same time, within that tolerance.
within() {
	record "$1" || return
	compare "$1"
	check_equal "$1: each thread has the same time" yes \
		"$(awk -F'|' -v most="$(tolerance)" '{ d = $2 - $3; if (d > most || d < -most) no = 1; n++ } END { print no || !n ? "no" : "yes" }' compared.txt)"
	note "$(tr '\n' ' ' <compared.txt)"
}

# only_ours CAUSE THREAD WHY: this thread is on our path for nearly all of the time, and hardly on Perfetto's.
only_ours() {
	record "$1" || return
	compare "$1"
	check_equal "$1: $3" yes \
		"$(awk -F'|' -v name="$2" '$1 == name && $2 > 5000 && $3 < 500 { yes = 1 } END { print yes ? "yes" : "no" }' compared.txt)"
	note "$(tr '\n' ' ' <compared.txt) $(jq -c '[.segments[] | {thread, reason, waker}][:3]' why.json)"
}

more=${TRACELET_LONG:+condition join inversion unix spin timeout fsync}
for cause in mutex child pipe $more; do
	within "$cause"
done

# A packet to the own machine wakes its receiver in a softirq, which runs in the system call of the sender.
# Perfetto takes every softirq for the end of a wait for a device.
only_ours tcp peer "Perfetto does not follow a packet to its sender"
[ -z "${TRACELET_LONG:-}" ] || only_ours udp peer "Perfetto does not follow a packet to its sender"

# A parent waits for its child after vfork() in state D. Perfetto follows wakers only from state S.
if record vfork; then
	compare vfork
	check_equal "vfork: Perfetto does not follow a wakeup from state D to the child" "1 1" \
		"$(awk -F'|' '{ ours += $2 > 5000 && $3 < 500; theirs += $2 < 5000 && $3 > 9000 } END { print ours, theirs }' compared.txt)"
fi

# With both CPUs busy.
for ((i = 0; i < $(nproc); i++)); do
	sh -c 'while :; do :; done' &
done
for cause in mutex child sleep; do
	within "$cause"
done
# shellcheck disable=SC2046 # one word for each job
kill $(jobs -p)
wait

done_testing
