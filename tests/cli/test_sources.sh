# The sources beyond scheduling: for each, a program that causes a known number of its events, and a
# trace that has exactly those, according to our own tables and Perfetto's importer.
. "$(dirname "$0")/lib.sh"
. "$source/tests/cli/sources.sh"

# of_events FIELDS...: the number of kernel events in the trace with all of these; they are in left.csv.
of_events() {
	local word
	"$TRACELET" table --csv --group-by none "$trace" kernel-events >events.csv
	cp events.csv left.csv
	for word in "$@"; do
		grep -E -- "$word" left.csv >next.csv
		mv next.csv left.csv
	done
	wc -l <left.csv
}

# groups: the groups of kernel events in the trace.
groups() {
	"$TRACELET" table --csv --group-by group "$trace" kernel-events | tail -n +2 | cut -d , -f 1 | sort | xargs
}

# within FROM TO: how many of the addresses on standard input are in this range.
within() {
	local address count=0
	while read -r address; do
		[ $((address >= $1 && address < $2)) = 1 ] && count=$((count + 1))
	done
	echo $count
}

# ---- faults, memory ----

minor_faults() {
	local from to
	read -r from to <"$stdout"
	"$TRACELET" table --csv "$trace" page-faults | grep ,minor, | cut -d , -f 6 | within "$from" "$to"
}
major_faults() { # and whether their number equals the kernel's own count
	local from to counted
	read -r from to counted <"$stdout"
	[ "$("$TRACELET" table --csv "$trace" hard-faults | tail -n +2 | cut -d , -f 5 | within "$from" "$to")" = \
		"$counted" ] && echo same
}
memory_calls() {
	local size
	read -r size <"$stdout"
	"$TRACELET" table --csv "$trace" virtual-alloc | cut -d , -f 4,6 | grep ",$size\$" | sort | uniq -c | xargs
}
profile AllFaults >faults.wprp
counted "a fault for each fresh page" 300 minor_faults faults.wprp faults 300
check_equal "and of the other sources nothing" exceptions "$(groups)"
counted "major faults" same major_faults faults.wprp major 20
profile HardFaults >hard.wprp
counted "and only these" same major_faults hard.wprp major 20
check_equal "of which the minor ones are none" 0 "$(of_events page_fault_minor)"
counted "calls about memory" "50 mmap,503808 50 mprotect,503808 50 munmap,503808" memory_calls memory memory 50
check_equal "memory has faults and calls" "exceptions raw_syscalls" "$(groups)"
check_equal "no calls but those about memory" 0 "$(of_events raw_syscalls 'call=(write|read|close|openat|exit_group)')"

# ---- system calls ----

getppids() { "$TRACELET" table --csv "$trace" system-calls | sed -n 's/^sources,getppid,\([0-9]*\),.*/\1/p'; }
counted "every system call" 1000 getppids system-calls calls 1000
check "the manifest has their number" jq -se 'last | .lost["system-call"] > 0 or .metrics.syscalls >= 1000' out/manifest.jsonl
check_equal "the test's status" 0 "$status"
check_equal "its result" "$("$TRACELET" table --json "$trace" processes | jq '[.[] | select(.name == "sources")][0].parent')" \
	"$("$TRACELET" table --json --group-by none "$trace" system-calls | jq '[.[] | select(.call == "getppid")][0].result')"
check_equal "errors have names" ENOENT "$("$TRACELET" table --json --group-by none "$trace" system-calls |
	jq -r '[.[] | select(.result == -2)][0].error')"
check_equal "and only errors do" 0 "$("$TRACELET" table --json --group-by none "$trace" system-calls |
	jq '[.[] | select(.result >= 0 and (.error // "") != "")] | length')"
check_match "in the events, too" 'raw_syscalls/sys_exit .*ret=-2 error=ENOENT' <("$TRACELET" dump "$trace")
"$TRACELET" dump "$trace" | grep raw_syscalls >before
"$TRACELET" convert "$trace" back.pb
"$TRACELET" dump back.pb | grep raw_syscalls >after
check "and it is the same when the trace is read and written again" cmp before after

# ---- files of system calls ----

cat >files.py <<'END'
import os, socket
name = "a file with a name of more than thirty-two bytes"
file = os.open(name, os.O_RDWR | os.O_CREAT)
os.write(file, b"x" * 1021)
os.dup2(file, 50)
os.write(50, b"x" * 1031)
os.close(file)
pair = os.pipe()  # has the same number
os.write(pair[1], b"x" * 1033)
other = socket.socket()
os.fstat(other.fileno())
try:
    os.stat("/" + "x" * 300)
except OSError:
    pass
os.execvp("dd", ["dd", "if=/dev/zero", "of=/dev/null", "bs=77", "count=1"])
END
calls() { "$TRACELET" table --json --group-by none "$1" system-calls; }
files_of() { # TRACE RESULT CALL: the files of such calls
	calls "$1" | jq -r --arg call "$3" --argjson result "$2" '[.[] | select(.call == $call and .result == $result) | .file // ""] | unique | join(",")'
}
name="a file with a name of more than thirty-two bytes"
traced system-calls -- python3 files.py
check_equal "a path is that of the call" 1 "$(calls "$trace" | jq --arg name "$name" '[.[] | select(.call == "openat" and .file == $name)] | length')"
check_equal "a descriptor is its file" "$name" "$(files_of "$trace" 1021 write)"
check_equal "so is another for the same file" "$name" "$(files_of "$trace" 1031 write)"
check_equal "not when the number means something else" "" "$(files_of "$trace" 1033 write)"
check_equal "a socket" true "$(calls "$trace" | jq '[.[] | select(.call != "socket" and .file == "socket")] | length > 0')"
check_equal "a path that is too long is cut" "/$(printf 'x%.0s' {1..126})" \
	"$(calls "$trace" | jq -r '[.[] | select(.error == "ENAMETOOLONG")][0].file')"
check_equal "the next program's are its own" "/dev/zero,/dev/null" "$(files_of "$trace" 77 read),$(files_of "$trace" 77 write)"
check_match "events have the path, too" 'raw_syscalls/sys_enter .*path="?/dev/zero' <("$TRACELET" dump "$trace")
"$TRACELET" convert "$trace" back.pb
check "all of it is the same when the trace is read and written again" diff <(calls "$trace") <(calls back.pb)

# ---- block devices, files ----

direct_writes() { "$TRACELET" table --csv "$trace" disk-io | grep -c ',sources,Write,.*,4096,[0-9.]*,,[^,]*$'; }
pwrites() { "$TRACELET" table --csv --group-by call "$trace" system-calls | sed -n 's/^pwrite64,\([0-9]*\).*/\1/p'; }
dd if=/dev/zero of=disk bs=4096 count=25 conv=fsync 2>/dev/null
counted "a request for each direct write" 25 direct_writes io writes 25
number=$("$TRACELET" table --json "$trace" disk-io | jq '.[0].disk')
check_equal "with the name of the disk, from when it was recorded" \
	"$(basename "$(readlink "/sys/dev/block/$((number >> 20)):$((number & 0xfffff))")")" \
	"$("$TRACELET" table --json "$trace" disk-io | jq -r '.[0].device')"
counted "and the calls" 25 pwrites io writes 25

# A worker of the kernel issues a flush, for the task that asked for it and for no other.
flushes() { "$TRACELET" table --json "$trace" disk-io | jq -r '[.[] | select(.operation == "Flush") | .process] | unique | join(" ")'; }
save='dd if=/dev/zero of=disk bs=4096 count=1 conv=notrunc,fdatasync 2>/dev/null'
device=$(readlink -f "/sys/dev/block/$((number >> 20)):$((number & 0xfffff))")
if [ "$(cat "$device/queue/write_cache" 2>/dev/null)" = "write back" ]; then
	traced io -- sh -c "$save; $save; $save"
	check_equal "flushes belong to the process that asked for them" dd "$(flushes)"
	mkfifo begun saved
	(
		read -r _ <begun
		eval "$save; $save; $save"
		echo >saved
	) &
	traced io -- sh -c 'echo >begun; read -r line <saved'
	wait
	check_equal "those of others do not" "" "$(flushes)"
else
	skip "flushes belong to the process that asked for them" "this disk needs none"
fi

# ---- timers, work, IPIs, network ----

timers() { # started, fired
	local started
	started=$(of_events sources hrtimer_start function=hrtimer_wakeup)
	echo "$started $(of_events hrtimer_expire_entry "$(sed -n 's/.*\(hrtimer=0x[0-9a-f]*\).*/\1/p' left.csv | sort -u)")"
}
works() { # queued, begun, ended
	local begun
	begun=$(of_events workqueue_execute_start function=flush_to_ldisc)
	cp left.csv begun.csv
	echo "$(of_events workqueue_queue_work function=flush_to_ldisc) $begun" \
		"$(of_events workqueue_execute_end "$(sed -n 's/.*\(work=0x[0-9a-f]*\).*/\1/p' begun.csv | sort -u)")"
}
barriers() { # the certain ones, and no more than there were in total
	local sent
	sent=$(of_events ',sources,' ipi_send callsite=membarrier)
	echo $((sent >= 10 && sent <= $(cat "$stdout")))
}
packets() { of_events sources net_dev_xmit name=lo len=1042; }
connections() { of_events inet_sock_set_state "dport=$(cat "$stdout")" newstate=SYN_SENT oldstate=CLOSE; }
profile Timer >timer.wprp
counted "timers fire as often as they are started" "30 30" timers timer.wprp timers 30
counted_distant "also while somebody else is on their CPU" "30 30" timers timer.wprp distant 30
profile KernelQueue >work.wprp
counted "work for the kernel's workers, which do it to the end" "15 15 15" works work.wprp work 15
profile InterProcessorInterrupt >ipi.wprp
counted "IPIs" 1 barriers ipi.wprp ipis 10
arrived() { # at least this many, and as many ends as beginnings
	local begun
	begun=$(of_events call_function_ _entry)
	echo $((begun >= 10)) $((begun - $(of_events call_function_ _exit)))
}
[ "$(uname -m)" != x86_64 ] || counted "and where they arrive" "1 0" arrived ipi.wprp ipis 10
profile NetworkTrace >network.wprp
counted "packets" 12 packets network.wprp packets 12
counted "connections" 5 connections network.wprp connections 5

# ---- signals ----

own_signals() { of_events signal_generate 'sig=10 ' "pid=$(cat "$stdout") " 'sender=sources$'; }
profile ProcessThread >signals.wprp
counted "signals that the test sends itself" 20 own_signals signals.wprp signals 20

# A process outside the test kills it.
mkfifo about
cat >waiting.sh <<'END'
echo $$ >about
while :; do sleep 1; done
END
{
	read -r victim <about
	env kill -TERM "$victim" # the program, not the shell's own
} &
traced default -- bash waiting.sh
wait
check_equal "a test that was killed" 143 "$status"
check_equal "the trace names the sender" 1 "$(of_events signal_generate 'sig=15 ' 'sender=kill$')"
run "$tp" --health "$trace" "select t.name from slice s join thread_track k on k.id = s.track_id join thread t using (utid)
	join args a using (arg_set_id) where s.name = 'signal_generate' and a.int_value = 15"
check_equal "and Perfetto shows it on the thread that got it" "0 bash" "$status $(cat "$stdout")"

# ---- threads, softirqs, memory, locks ----

borrowed() { of_events sched_pi_setprio newprio=97 oldprio=98; }
moved() { of_events sched_migrate_task "pid=$(cat "$stdout") "; }
ticks() { # as many ends as beginnings, one for each timer, unless the kernel's own threads ran
	local begun
	begun=$(of_events local_timer_entry)
	echo $((begun >= 15)) $((begun - $(of_events local_timer_exit)))
}
raised() { # for each packet, unless the CPU is handling other packets at that moment; a network card's interrupts add to it
	echo $(($(of_events ',sources,' softirq_raise vec=3) >= 6))
}
blocks() { # allocated, freed
	echo "$(of_events kmem,kmalloc call_site=do_eventfd) $(of_events kmem,kfree call_site=eventfd)"
}
pages() { of_events rss_stat member=1 | awk '{ print ($1 >= 300) }'; }
wakes() { of_events sys_enter call=futex arg1=0x1; }
bios() { of_events ',sources,' block_bio_queue nr_sector=8 rwbs=W; }
# of KEYWORD: its profile.
of() { profile "$1" >"$1.wprp"; }
of ThreadPriority
counted "priorities that are lent" 10 borrowed ThreadPriority.wprp priorities 10
of IdealProcessor
counted "threads that move to another CPU" 10 moved IdealProcessor.wprp migrations 10
of ClockInterrupt
[ "$(uname -m)" != x86_64 ] || counted "interrupts of the clock" "1 0" ticks ClockInterrupt.wprp timers 30
of DPCQueue
counted "softirqs that are raised" 1 raised DPCQueue.wprp packets 12
of Pool
counted "blocks of the kernel's heap, and who asked" "20 20" blocks Pool.wprp blocks 20
of MemoryInfo
counted "memory that becomes resident" 1 pages MemoryInfo.wprp faults 300
of SynchronizationObjects
counted "calls about locks" 20 wakes SynchronizationObjects.wprp wakes 20
of SplitIO
counted "block I/O as it is asked for" 25 bios SplitIO.wprp writes 25

# ---- all at once, in Perfetto ----

cat >all.sh <<'END'
"$1" faults 100; "$1" memory 10; "$1" calls 200; "$1" timers 10; "$1" work 5; "$1" connections 3; "$1" priorities 4
END
# as_perfetto_sees: sets $status and $stdout of the queries.
as_perfetto_sees() {
	local from to size port
	traced verbose -- sh all.sh "$cause"
	{ read -r from to; read -r size; read -r port; } <"$stdout"
	cp "$stderr" warnings
	run "$tp" --health "$trace" \
		"select count(*) from ftrace_event e join args a using (arg_set_id) where e.name = 'page_fault_minor'
			and a.key = 'address' and a.int_value >= $((from)) and a.int_value < $((to))" \
		"select count(*) from slice s join thread_track k on k.id = s.track_id join thread t using (utid)
			where s.name = 'sys_getppid' and s.dur >= 0 and t.name = 'sources'" \
		"select count(*) from slice s where name = 'sys_munmap' and dur >= 0 and $size in
			(select int_value from args a where a.arg_set_id = s.arg_set_id)" \
		"select count(*) from slice where name = 'flush_to_ldisc'" \
		"select count(*) >= 10 from slice s join track t on t.id = s.track_id
			where t.name like 'Hrtimer Cpu %' and s.name = 'hrtimer_wakeup'" \
		"select count(*) from ftrace_event e join args a using (arg_set_id) join args b using (arg_set_id)
			where e.name = 'inet_sock_set_state' and a.key = 'dport' and a.int_value = $port
			and b.key = 'newstate' and b.int_value = 2" \
		"select count(*) from ftrace_event where name = 'sched_pi_setprio'" \
		"select max(c.value) >= 409600 from counter c join process_counter_track t on t.id = c.track_id
			where t.name = 'mem.rss.anon'"
}
as_perfetto_sees
check_lines "verbose: nothing is missing" 0 warnings
check_equal "nothing is lost" 0 "$("$TRACELET" table --csv "$trace" lost | tail -n +2 | wc -l)"
if [ "$status" = 77 ]; then
	skip "Perfetto's importer" "it cannot be had"
else
	check_equal "Perfetto: no bad statistics" 0 "$status"
	check_equal "and exactly those events" "100 200 10 5 1 3 8 1" "$(xargs <"$stdout")"
fi

# ---- missing sources ----

run env TRACELET_TRACEFS=/nowhere "$TRACELET" profile show verbose
check_match "a source that this kernel does not have" '^  Timer +not available: .*this kernel has no timer events' "$stdout"
export TRACELET_TRACEFS=/nowhere
traced verbose -- "$cause" faults 10
unset TRACELET_TRACEFS
check_lines "is named in one warning" 1 "$stderr"
check_match "with the others" 'not recorded here: .*block .*timer \(this kernel has no timer events\)' "$stderr"
check_equal "the test runs" 0 "$status"
check_equal "and the rest is recorded" exceptions "$(groups)"

# A tracepoint with the right name and another meaning: only that source is left out.
mkdir -p kernel/ipi/ipi_raise
for group in /sys/kernel/tracing/events/*/; do
	ln -s "$group" kernel/ 2>/dev/null
done
ln -s /sys/kernel/tracing/events/ipi/ipi_send_cpu kernel/ipi/
export TRACELET_TRACEFS=$PWD/kernel
traced verbose -- "$cause" faults 10
unset TRACELET_TRACEFS
if [ "$(uname -m)" = x86_64 ] && [ -d /sys/kernel/tracing/events ]; then
	check_lines "a program that the kernel refuses is one warning" 1 "$stderr"
	check_match "about its source" 'rejected the BPF programs for ipi;' "$stderr"
	check_equal "the test runs" 0 "$status"
	check_match "and the rest is recorded" 'exceptions.* raw_syscalls' <(groups)
fi

# All programs for this kernel are loaded the fast way.
run "$TRACELET" run --verbose --output-dir out --profile verbose --call-graph dwarf --off-cpu -- true
check_not "no program wants libbpf to read the kernel's types" grep -q 'in threads' "$stderr"
check_match "programs were loaded" 'on_switch: [0-9]+ runs' "$stderr"

done_testing
