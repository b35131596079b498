# Stacks at the events that a profile names: for each event, a program that causes a known number of them, and as
# many stacks through the function that did.
. "$(dirname "$0")/lib.sh"
. "$source/tests/cli/sources.sh"

# through EVENT FUNCTION: the number of stacks at this event through this function, except those of an interrupt in
# between.
through() {
	"$TRACELET" fold --event-filter "$1" "$trace" 2>/dev/null | grep ";$2[; ]" |
		grep -vE ';(asm_sysvec_|asm_common_interrupt|el1h_64_irq|call_on_irq_stack)' | awk '{ sum += $NF } END { print sum + 0 }'
}

# ---- one event after the other ----

fresh() { through page_fault_minor faults; }
profile ProcessThread ' PagefaultDemandZero' >faults.wprp
counted "a stack for each fresh page" 300 fresh faults.wprp faults 300
check_equal "and no other events" page_fault_minor \
	"$("$TRACELET" table --csv --group-by event "$trace" event-stacks | sed 1d | cut -d , -f 1 | xargs)"
check_equal "the table names the function" 300 \
	"$("$TRACELET" table --csv "$trace" event-stacks | sed -n 's/^page_fault_minor,sources,.*,faults,//p')"
check_equal "it is no time on a CPU" 0 "$("$TRACELET" table --csv "$trace" cpu-usage | sed 1d | wc -l)"
check_equal "the manifest counts them" "$("$TRACELET" table --csv --group-by none "$trace" event-stacks | sed 1d | wc -l)" \
	"$(jq .event_stacks out/manifest.jsonl)"
check_match "a flame graph of all, by event" '>page_fault_minor</text>' out/*.events.svg
check_match "with the program's functions" '>faults</text>' out/*.events.svg

calls() { echo "$(through sys_enter_mmap memory_calls) $(through sys_enter_munmap memory_calls) $(through sys_enter_mprotect memory_calls)"; }
profile ProcessThread ' VirtualAllocation VirtualFree' >memory.wprp
counted "each mmap and munmap, and no mprotect" "50 50 0" calls memory.wprp memory 50
check_match "with the kernel's half, from the event on" ';do_syscall_64;(syscall_trace_enter|syscall_enter[a-z_]*|trace_syscall_enter) [0-9]+$' \
	<("$TRACELET" fold --event-filter sys_enter_mmap "$trace")
started() { through hrtimer_start 'do_nanosleep;hrtimer_[a-z_]*'; } # and not by the scheduler, which has timers, too
profile ProcessThread ' TimerOneShot' >timer.wprp
counted "each timer that is started" 30 started timer.wprp timers 30
asked() { through kmalloc do_eventfd; }
profile ProcessThread ' PoolAllocation' >pool.wprp
counted "each block of the kernel's heap" 20 asked pool.wprp blocks 20
dd if=/dev/zero of=disk bs=4096 count=25 conv=fsync 2>/dev/null
written() { echo "$(through block_bio_queue writes) $(through sys_enter_pwrite64 writes)"; }
profile ProcessThread ' DiskWriteInit FileWrite' >disk.wprp
counted "each write, at the call and at the disk" "25 25" written disk.wprp writes 25
profile ProcessThread ' DiskReadInit' >disk.wprp
counted "which are no reads" "0 0" written disk.wprp writes 25
queued() { through workqueue_queue_work work; }
profile ProcessThread ' KernelQueueEnqueue' >work.wprp
counted "work that is queued" 15 queued work.wprp work 15
barriers() {
	local sent
	sent=$(($(through ipi_send_cpumask 'interrupts;.*;membarrier_[a-z_]*') + $(through ipi_send_cpu 'interrupts;.*;membarrier_[a-z_]*')))
	echo $((sent >= 10 && sent <= $(cat "$stdout")))
}
profile ProcessThread ' InterProcessorInterrupt' >ipi.wprp
counted "IPIs" 1 barriers ipi.wprp ipis 10
born() { "$TRACELET" table --csv --group-by event "$trace" event-stacks | sed -n s/^task_newtask,//p; }
profile ProcessThread ' ThreadCreate' >thread.wprp
counted "a new thread" 1 born thread.wprp migrations 1
profile ProcessThread ' ProcessCreate' >process.wprp
counted "which is no process" '' born process.wprp migrations 1

# ---- together with samples and waits ----

profile ProcessThread CSwitch SampledProfile ' SampledProfile CSwitch SystemCallEnter RegistryOpenKey RegistrySetValue' >all.wprp
# chains is busy for 150 ms of CPU time, however busy the machine is.
traced all.wprp -- sh -c '"$1" calls 200; sleep 0.02; exec "$2"' sh "$cause" "$TRACELET_HELPERS/chains"
check_match "stacks that Linux has no event for are counted in one warning" 'not recorded here: the stacks of 2 events' "$stderr"
check_equal "which is one" 1 "$(grep -c 'not recorded here' "$stderr")"
check_equal "three pictures" "events.svg off-cpu.svg svg" "$(ls out | sed -n 's/^sh_[0-9_]*\.\(.*svg\)$/\1/p' | sort | xargs)"
check_equal "a flame graph has the samples" "$("$TRACELET" fold --event-filter cpu "$trace" 2>/dev/null | md5sum)" \
	"$("$TRACELET" fold "$trace" 2>/dev/null | md5sum)"
check_equal "each call has a stack" 200 "$(through sys_enter_getppid calls)"
"$TRACELET" table --csv "$trace" event-stacks | sort >before
"$TRACELET" convert "$trace" back.pb
"$TRACELET" table --csv back.pb event-stacks | sort >after
check "they are the same when the trace is read and written again" cmp before after
run "$tp" --health "$trace" "select count(*) from perf_sample s join perf_counter_track t using (perf_session_id)
	join thread using (utid) where t.name = 'sys_enter_getppid' and thread.name = 'sources' and t.cpu = s.cpu"
if [ "$status" = 77 ]; then
	skip "Perfetto's importer" "it cannot be had"
else
	check_equal "Perfetto has them, and no bad statistics" "0 200" "$status $(cat "$stdout")"
fi

# ---- what is reported in advance ----

check_run "what a stack means here" 0 "$TRACELET" profile show memory.wprp
check_match "its events" '^  VirtualAllocation +recorded: sys_enter_mmap, sys_enter_mremap, sys_enter_brk$' "$stdout"
run env TRACELET_TRACEFS=/nowhere "$TRACELET" profile show pool.wprp
check_match "one that this kernel does not have" '^  PoolAllocation +not available: kmalloc, kmem_cache_alloc \(this kernel has no kmem events\)$' "$stdout"
run env TRACELET_TRACEFS=/nowhere "$TRACELET" run -v --output-dir nowhere --profile pool.wprp -- true
check_equal "which costs nothing else" 0 "$status"
check_match "and is reported" 'not recorded here: .*stacks at kmalloc kmem_cache_alloc' "$stderr"

# ---- a kernel that rejects one of the programs: only that program's data is missing ----

# refuses PROGRAM OPTION...: a run with these options on such a kernel.
refuses() {
	rm -rf out
	run env TRACELET_REFUSED="$1" "$TRACELET" run -q --output-dir out "${@:2}" -- sh -c 'for i in 1 2 3 4 5; do sleep 0.01; done; exit 3'
	trace=$(echo out/*.pb)
}
refuses on_sample --profile embedded --off-cpu
check_match "rejected samples are reported" 'rejected the BPF programs for samples; recording the rest' "$stderr"
check_equal "the test runs, with BPF" '3 "bpf"' "$status $(jq .backend out/manifest.jsonl)"
check_match "waits are recorded" '^sh;' <("$TRACELET" fold "$trace")
check_equal "system calls, too" 1 "$("$TRACELET" table --csv --group-by group "$trace" kernel-events | grep -c ^raw_syscalls)"
refuses stack_at_sys_enter --profile memory.wprp --sample
check_match "so are stacks at events" 'rejected the BPF programs for stacks at events; recording the rest' "$stderr"
check_equal "the test runs, with BPF" '3 "bpf"' "$status $(jq .backend out/manifest.jsonl)"
refuses sample_exec --profile cpu
check_match "and all stacks" 'rejected the BPF programs for samples and stacks; recording the rest' "$stderr"
check_equal "the test runs, with BPF" '3 "bpf"' "$status $(jq .backend out/manifest.jsonl)"
refuses on_sys_exit --profile embedded
check_match "and system calls" 'rejected the BPF programs for system calls; recording the rest' "$stderr"
check_equal "of which there are none, but faults, and the signals that sh gets" "exceptions signal" \
	"$("$TRACELET" table --csv --group-by group "$trace" kernel-events | sed 1d | cut -d , -f 1 | xargs)"
refuses on_switch --profile embedded
check_match "without switches there is no BPF" 'recording with perf events instead' "$stderr"
check_equal "and the test runs" '3 "perf"' "$status $(jq .backend out/manifest.jsonl)"

done_testing
