#!/bin/sh
# Samples, generic events and counters as Perfetto's importer sees them: test_perfetto_events.c makes the trace.
set -u
here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd)
"$here/setup" >/dev/null || exit $?
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failed=0
program=$(realpath "$1")
cd "$work" && TRACELET_KEEP=$work/trace "$program" >/dev/null || exit 1


cat >"$work/wanted" <<'EOF'
4
3
read
write
write
main|/app.exe
100
3000
4000
2
7
debug.done
debug.file
debug.irp
debug.offset
debug.ratio
debug.size
0
1
2
EOF

"$here/tp" --health "$work/trace" || failed=1
"$here/tp" "$work/trace" \
	'select count(*) from perf_sample' \
	'select count(*) from perf_sample where callsite_id is not null' \
	'select f.name from perf_sample s join stack_profile_callsite c on s.callsite_id = c.id
		join stack_profile_frame f on c.frame_id = f.id order by s.ts' \
	'select distinct f.name, m.name from stack_profile_callsite c join stack_profile_frame f on c.frame_id = f.id
		join stack_profile_mapping m on f.mapping = m.id where c.depth = 0' \
	"select dur from slice where name = 'Read' and dur > 0 order by dur" \
	"select count(*) from slice where name = 'Read' and dur = 0 and category = 'Disk'" \
	"select tid from slice join thread_track t on slice.track_id = t.id join thread using (utid) where slice.name = 'Read'" \
	"select distinct flat_key from args join slice using (arg_set_id) where name = 'Read' order by flat_key" \
	"select value from counter join counter_track t on counter.track_id = t.id where t.name = 'cycles cpu 2' order by ts" \
	>"$work/got" || failed=1
diff -u "$work/wanted" "$work/got" >&2 || failed=1

# Waits: for a device, woken by its interrupt; for a socket, woken in a softirq; for a lock, woken by a task.
cat >"$work/wanted" <<'EOF'
2000|Running|||
3000|D|1||
4000|R|||1
5000|Running|||
6000|S|0|sock_recvmsg|
7000|R|||1
8000|Running|||
9000|D|0||
9500|R|||
9600|Running|||
77
EOF
"$here/tp" --health "$work/trace.waits" || failed=1
"$here/tp" "$work/trace.waits" \
	'select ts, state, io_wait, blocked_function, irq_context from thread_state join thread using (utid)
		where tid = 7 order by ts' \
	'select waker.tid from thread_state s join thread using (utid) join thread waker on s.waker_utid = waker.utid
		where thread.tid = 7 and irq_context is not 1' >"$work/got" || failed=1
diff -u "$work/wanted" "$work/got" >&2 || failed=1
exit $failed
