# The sources beyond scheduling: for each a program that causes a known number of its events, and a trace
# that has exactly those, as our own tables and Perfetto's importer see it.
. "$(dirname "$0")/lib.sh"
. "$source/tests/cli/sources.sh"

# of_events FIELDS...: how many kernel events of the trace have all of these; they are in left.csv.
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

# groups: which groups of kernel events the trace has.
groups() {
	"$TRACELET" table --csv --group-by group "$trace" kernel-events | tail -n +2 | cut -d , -f 1 | sort | xargs
}

# within FROM TO: how many of the addresses on standard input are in there.
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
major_faults() { # and whether they are as many as the kernel has counted
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
check_equal "the test's status" 0 "$status"
check_equal "its result" "$("$TRACELET" table --json "$trace" processes | jq '[.[] | select(.name == "sources")][0].parent')" \
	"$("$TRACELET" table --json --group-by none "$trace" system-calls | jq '[.[] | select(.call == "getppid")][0].result')"
"$TRACELET" dump "$trace" | grep raw_syscalls >before
"$TRACELET" convert "$trace" back.pb
"$TRACELET" dump back.pb | grep raw_syscalls >after
check "and it is the same when the trace is read and written again" cmp before after

# ---- block devices, files ----

direct_writes() { "$TRACELET" table --csv "$trace" disk-io | grep -c ',sources,Write,.*,4096,[0-9.]*,$'; }
pwrites() { "$TRACELET" table --csv --group-by call "$trace" system-calls | sed -n 's/^pwrite64,\([0-9]*\).*/\1/p'; }
dd if=/dev/zero of=disk bs=4096 count=25 conv=fsync 2>/dev/null
counted "a request for each direct write" 25 direct_writes io writes 25
counted "and the calls" 25 pwrites io writes 25

# ---- timers, work, IPIs, network ----

timers() { # started, fired
	local started
	started=$(of_events sources hrtimer_start function=hrtimer_wakeup)
	echo "$started $(of_events hrtimer_expire_entry "$(sed -n 's/.*\(hrtimer=0x[0-9a-f]*\).*/\1/p' left.csv | sort -u)")"
}
works() { # queued, begun, ended
	echo "$(of_events workqueue_queue_work function=flush_to_ldisc)" \
		"$(of_events workqueue_execute_start function=flush_to_ldisc)" \
		"$(($(of_events workqueue_execute_start) - $(of_events workqueue_execute_end)))"
}
barriers() { of_events ',sources,' ipi_send callsite=membarrier; }
packets() { of_events sources net_dev_xmit name=lo len=1042; }
connections() { of_events inet_sock_set_state "dport=$(cat "$stdout")" newstate=2; }
profile Timer >timer.wprp
counted "timers fire as often as they are started" "30 30" timers timer.wprp timers 30
counted "also while somebody else is on their CPU, or nobody" "30 30" timers timer.wprp distant 30
profile KernelQueue >work.wprp
counted "work for the kernel's workers, which do it to the end" "15 15 0" works work.wprp work 15
profile InterProcessorInterrupt >ipi.wprp
counted "IPIs" 10 barriers ipi.wprp ipis 10
arrived() { # at least so many, and as many ends as beginnings
	local begun
	begun=$(of_events call_function_ _entry)
	echo $((begun >= 10)) $((begun - $(of_events call_function_ _exit)))
}
[ "$(uname -m)" != x86_64 ] || counted "and where they arrive" "1 0" arrived ipi.wprp ipis 10
profile NetworkTrace >network.wprp
counted "packets" 12 packets network.wprp packets 12
counted "connections" 5 connections network.wprp connections 5

# ---- threads, softirqs, memory, locks ----

borrowed() { of_events sched_pi_setprio newprio=97 oldprio=98; }
moved() { of_events sched_migrate_task "pid=$(cat "$stdout") "; }
ticks() { # as many ends as beginnings, at least one for each timer
	local begun
	begun=$(of_events local_timer_entry)
	echo $((begun >= 30)) $((begun - $(of_events local_timer_exit)))
}
raised() { of_events ',sources,' softirq_raise vec=3; }
blocks() { # taken, given back
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
counted "softirqs that are raised" 12 raised DPCQueue.wprp packets 12
of Pool
counted "blocks of the kernel's heap, and who asked" "20 20" blocks Pool.wprp blocks 20
of MemoryInfo
counted "memory that becomes resident" 1 pages MemoryInfo.wprp faults 300
of SynchronizationObjects
counted "calls about locks" 20 wakes SynchronizationObjects.wprp wakes 20
of SplitIO
counted "block I/O as it is asked for" 25 bios SplitIO.wprp writes 25

# ---- all at once, as Perfetto sees it ----

cat >all.sh <<'END'
"$1" faults 100; "$1" memory 10; "$1" calls 200; "$1" timers 10; "$1" work 5; "$1" connections 3; "$1" priorities 4
END
# as_perfetto_sees: leaves $status and $stdout of the queries.
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
for try in 1 2 3; do
	as_perfetto_sees
	[ "$status" = 77 ] || [ "$(xargs <"$stdout")" = "100 200 10 5 1 3 8 1" ] && break
done
check_lines "verbose: nothing is missing" 0 warnings
check_equal "nothing is lost" 0 "$("$TRACELET" table --csv "$trace" lost | tail -n +2 | wc -l)"
if [ "$status" = 77 ]; then
	skip "Perfetto's importer" "it cannot be had"
else
	check_equal "Perfetto: no bad statistics" 0 "$status"
	check_equal "and exactly those events" "100 200 10 5 1 3 8 1" "$(xargs <"$stdout")"
fi

# ---- what is not there ----

run env TRACELET_TRACEFS=/nowhere "$TRACELET" profile show verbose
check_match "a source that this kernel does not have" '^  Timer +not available: .*this kernel has no events of timers' "$stdout"
export TRACELET_TRACEFS=/nowhere
traced verbose -- "$cause" faults 10
unset TRACELET_TRACEFS
check_lines "is named in one warning" 1 "$stderr"
check_match "with the others" 'not recorded here: .*block .*timer \(this kernel has no events of timers\)' "$stderr"
check_equal "the test runs" 0 "$status"
check_equal "and the rest is recorded" exceptions "$(groups)"

# One that the kernel calls so, and is something else: only that source is left out.
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
	check_match "about its source" 'does not take the programs of: ipi;' "$stderr"
	check_equal "the test runs" 0 "$status"
	check_match "and the rest is recorded" 'exceptions.* raw_syscalls' <(groups)
fi

# All programs that this kernel has are loaded the quick way.
run "$TRACELET" run --verbose --output-dir out --profile verbose --call-graph dwarf --off-cpu -- true
check_not "no program wants libbpf to read the kernel's types" grep -q 'in threads' "$stderr"
check_match "programs were loaded" 'on_switch: [0-9]+ runs' "$stderr"

done_testing
