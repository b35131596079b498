# The sources beyond scheduling: for each a program that causes a known number of its events, and a trace
# that has exactly those, as our own tables and Perfetto's importer see it.
. "$(dirname "$0")/lib.sh"
need_root
need_command jq
tp=$source/tests/perfetto/tp
cause=$TRACELET_HELPERS/sources

# profile KEYWORD...: a file with these and nothing else.
profile() {
	echo '<WindowsPerformanceRecorder Version="1.0"><Profiles><SystemCollector Id="SC" Name="NT Kernel Logger"/>'
	echo '<SystemProvider Id="SP"><Keywords>'
	printf '<Keyword Value="%s"/>\n' "$@"
	echo '</Keywords></SystemProvider>'
	echo '<Profile Id="P.Verbose.File" Name="P" DetailLevel="Verbose" LoggingMode="File">'
	echo '<Collectors><SystemCollectorId Value="SC"><SystemProviderId Value="SP"/></SystemCollectorId>'
	echo '</Collectors></Profile></Profiles></WindowsPerformanceRecorder>'
}

# traced PROFILE COMMAND...: leaves $trace, what the command printed in $stdout, and $status.
traced() {
	rm -rf out
	run "$TRACELET" run --quiet --output-dir out --profile "$@"
	trace=$(echo out/*.pb)
}

# of_events FIELDS...: how many kernel events of the trace have all of these.
of_events() {
	local words=$1 word
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

profile AllFaults >faults.wprp
traced faults.wprp -- "$cause" faults 300
read -r from to <"$stdout"
check_equal "a fault for each fresh page" 300 \
	"$("$TRACELET" table --csv "$trace" page-faults | grep ,minor, | cut -d , -f 6 | within "$from" "$to")"
check_equal "and of the other sources nothing" exceptions "$(groups)"
traced faults.wprp -- "$cause" major 20
read -r from to count <"$stdout"
check_equal "major faults, as many as the kernel counts" "$count" \
	"$("$TRACELET" table --csv "$trace" hard-faults | tail -n +2 | cut -d , -f 5 | within "$from" "$to")"

traced memory -- "$cause" memory 50
read -r size <"$stdout"
"$TRACELET" table --csv "$trace" virtual-alloc | cut -d , -f 4,6 | sort | uniq -c >calls
for call in mmap mprotect munmap; do
	check_match "50 of $call" "^ +50 $call,$size\$" calls
done
check_equal "memory has faults and calls" "exceptions raw_syscalls" "$(groups)"
check_equal "no calls but those about memory" 0 "$(of_events raw_syscalls 'call=(write|read|close|openat|exit_group)')"

# ---- system calls ----

traced system-calls -- "$cause" calls 1000
check_equal "the test's status" 0 "$status"
check_equal "every system call" 1000 \
	"$("$TRACELET" table --csv "$trace" system-calls | grep '^sources,getppid,' | cut -d , -f 3)"
check_equal "its result" "$("$TRACELET" table --json --group-by none "$trace" system-calls |
	jq '[.[] | select(.call == "getppid")][0].result')" \
	"$("$TRACELET" table --json "$trace" processes | jq '[.[] | select(.name == "sources")][0].parent')"
"$TRACELET" dump "$trace" | grep raw_syscalls >before
"$TRACELET" convert "$trace" back.pb
"$TRACELET" dump back.pb | grep raw_syscalls >after
check "and it is the same when the trace is read and written again" cmp before after

# ---- block devices, files ----

traced io -- "$cause" writes 25
if [ "$status" = 77 ]; then
	skip "requests of disks" "$(cat "$stderr")"
else
	check_equal "a request for each direct write" 25 \
		"$("$TRACELET" table --csv "$trace" disk-io | grep -c ',sources,Write,.*,4096,[0-9.]*,$')"
	check_equal "and the calls" 25 \
		"$("$TRACELET" table --csv --group-by call "$trace" system-calls | sed -n 's/^pwrite64,\([0-9]*\).*/\1/p')"
fi

# ---- timers, work, IPIs, network ----

profile Timer >timer.wprp
traced timer.wprp -- "$cause" timers 30
check_equal "timers" 30 "$(of_events sources hrtimer_start function=hrtimer_wakeup)"
timer=$(sed -n 's/.*\(hrtimer=0x[0-9a-f]*\).*/\1/p' left.csv | sort -u)
check_equal "fire as often" 30 "$(of_events hrtimer_expire_entry "$timer" function=hrtimer_wakeup)"

profile KernelQueue >work.wprp
traced work.wprp -- "$cause" work 15
check_equal "work for the kernel's workers" 15 "$(of_events workqueue_queue_work function=flush_to_ldisc)"
check_equal "which do it" 15 "$(of_events workqueue_execute_start function=flush_to_ldisc)"
check_equal "to the end" "$(of_events workqueue_execute_start)" "$(of_events workqueue_execute_end)"

profile InterProcessorInterrupt >ipi.wprp
traced ipi.wprp -- "$cause" ipis 10
if [ "$status" = 77 ]; then
	skip "IPIs" "$(cat "$stderr")"
else
	check_equal "IPIs" 10 "$(of_events ',sources,' ipi_send 'callback=ipi_mb')"
fi

profile NetworkTrace >network.wprp
traced network.wprp -- "$cause" packets 12
check_equal "packets" 12 "$(of_events sources net_dev_xmit name=lo 'len=1042')"
traced network.wprp -- "$cause" connections 5
read -r port <"$stdout"
check_equal "connections" 5 "$(of_events inet_sock_set_state "dport=$port" newstate=2)"

# ---- all at once, as Perfetto sees it ----

cat >all.sh <<'END'
"$1" faults 100; "$1" memory 10; "$1" calls 200; "$1" timers 10; "$1" work 5; "$1" connections 3
END
traced verbose -- sh all.sh "$cause"
check_lines "verbose: nothing is missing" 0 "$stderr"
check_equal "nothing is lost" 0 "$("$TRACELET" table --csv "$trace" lost | tail -n +2 | wc -l)"
{ read -r from to; read -r size; read -r port; } <"$stdout"
run "$tp" --health "$trace" \
	"select count(*) from ftrace_event e join args a using (arg_set_id) where e.name = 'page_fault_minor'
		and a.key = 'address' and a.int_value >= $((from)) and a.int_value < $((to))" \
	"select count(*) from slice where name = 'sys_getppid' and dur >= 0" \
	"select count(*) from slice s where name = 'sys_munmap' and dur >= 0 and $size in
		(select int_value from args a where a.arg_set_id = s.arg_set_id)" \
	"select count(*) from slice where name = 'flush_to_ldisc'" \
	"select count(*) >= 10 from slice s join track t on t.id = s.track_id
		where t.name like 'Hrtimer Cpu %' and s.name = 'hrtimer_wakeup'" \
	"select count(*) from ftrace_event e join args a using (arg_set_id) join args b using (arg_set_id)
		where e.name = 'inet_sock_set_state' and a.key = 'dport' and a.int_value = $port
		and b.key = 'newstate' and b.int_value = 2"
if [ "$status" = 77 ]; then
	skip "Perfetto's importer" "it cannot be had"
else
	check_equal "Perfetto: no bad statistics" 0 "$status"
	check_equal "and exactly those events" "100 200 10 5 1 3" "$(xargs <"$stdout")"
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

done_testing
