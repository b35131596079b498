#!/bin/bash
# Real kernels, Debian's 6.1 and with LONG=1 also 6.12, each in a throw-away guest (in_kernel runs there): a trace that both our
# check and Perfetto accept, with scheduling and the process tree in it; the stack of a crash, through the C library; a wall clock
# that is set back; all sources that a profile can ask for; KVM, on an emulated processor; an agent that is reached by AF_VSOCK.
set -uo pipefail
here=$(cd -- "$(dirname -- "$0")" && pwd)
# shellcheck source=tests/guest/expect.sh
. "$here/expect.sh"
tracelet=${TRACELET:-$here/../../build/tracelet}
build=$(cd -- "$(dirname -- "$tracelet")" && pwd)
need_vm
tp=$here/../perfetto/tp
"$here/../perfetto/setup" >/dev/null 2>"$work/stderr" || skip "$(cat "$work/stderr")"
cd "$work" || exit 1
echo 'in an initramfs' >file

# The user's own initramfs, to which ours is added.
mkdir -p initrd/tracelet-test initrd/bin
cp file initrd/tracelet-test/
cp "$(command -v busybox)" initrd/bin/busybox
ln -s busybox initrd/bin/sh
(cd initrd && find . | busybox cpio -o -H newc -R 0:0 2>/dev/null) >initramfs

# Everything that a profile can ask for.
stacks=$(printf '<Stack Value="%s"/>' CSwitch DiskReadInit DpcEnqueue DpcExecute ExecutiveResource HardFault \
	InterProcessorInterrupt KernelHypercalls KernelQueueEnqueue PagefaultDemandZero PoolAllocation PoolFree ProcessCreate \
	ReadyThread SplitIO SystemCallEnter SystemCallExit TimerOneShot)
"$tracelet" profile export verbose | sed -e 's|<Keyword Value="SystemCall"/>|&<Keyword Value="Pool"/>|' \
	-e "s|<Stack Value=\"SampledProfile\"/>|&$stacks|" >all.wprp

# A host of virtual machines: QEMU emulates what KVM needs on AMD's processors.
kvm=()
with_kvm() { # KERNEL
	local name modules
	modules=$(echo "$(dirname "$1")"/../lib/modules/*/kernel)
	cc -O1 -static -o machine "$here/machine.c" || return
	for name in virt/lib/irqbypass arch/x86/kvm/kvm arch/x86/kvm/kvm-amd; do
		[ -e "$modules/$name.ko" ] || return
	done
	kvm=(--add machine=/usr/bin/machine)
	for name in virt/lib/irqbypass arch/x86/kvm/kvm arch/x86/kvm/kvm-amd; do
		kvm+=(--add "$modules/$name.ko=/kvm/$(basename $name).ko")
	done
}

# Vsock loopback.
vsock=()
with_vsock() { # KERNEL
	local name modules
	modules=$(echo "$(dirname "$1")"/../lib/modules/*/kernel/net/vmw_vsock)
	for name in vsock vmw_vsock_virtio_transport_common vsock_loopback; do
		[ -e "$modules/$name.ko" ] || { vsock=() && return; }
		vsock+=(--add "$modules/$name.ko=/vsock/$name.ko")
	done
}

boot() { # NAME KERNEL OPTION…
	local name=$1 kernel=$2 status=0
	shift 2
	mkdir "$name"
	"$tracelet" vm run --kernel "$kernel" --boot-timeout 300 --output-dir "$name" --name guest --add "$here/in_kernel=/in_kernel" \
		--add "$build/tests/cli/helpers/crashes=/usr/bin/crashes" --add "$tracelet=/usr/bin/tracelet" \
		--add "$build/tests/cli/helpers/heap_server=/usr/bin/heap_server" \
		--add "$(command -v setpriv)=/usr/bin/setpriv" --add "$build/tracelet-stacks=/usr/bin/tracelet-stacks" --add all.wprp=/all.wprp "$@" -- /in_kernel >"$name.tar" 2>"$name.err" </dev/null || status=$?
	echo $status >"$name.status"
}

first=$("$here/kernel" linux-image-cloud-amd64 2>log) || skip "$(cat log)"
second= # another kernel: make test-long
[ -z "${LONG:-}" ] || second=$("$here/kernel" linux-image-6.12-cloud-amd64) || second=
with_kvm "$first"
with_vsock "$first"
# Files that are added one by one, and an initramfs, which only one kernel gets.
files=(--add "$(command -v busybox)=/bin/busybox" --add file=/tracelet-test/file)
own=(--initrd initramfs --append tracelet.test=1)
[ -n "$second" ] || files=("${own[@]}")
boot first "$first" "${kvm[@]}" "${vsock[@]}" "${files[@]}" &
[ -z "$second" ] || boot second "$second" "${own[@]}" &
wait

answer() { "$tp" "$trace" "$1"; }

check_trace() { # NAME
	trace=$(echo "$1"/guest_*.pb)
	"$tracelet" check "$trace"
	expect "$1: exit status of check" 0 $?
	"$tp" --health "$trace"
	expect "$1: exit status of the health check" 0 $?
	expect "$1: the sleepers ran on a CPU" 2 "$(answer "
		select count(distinct upid) from sched_slice join thread using (utid) join process using (upid)
		where process.cmdline in ('/links/sleep 0.1', '/links/sleep 0.2') and dur > 0 and parent_upid =
			(select upid from process where cmdline glob '*/in_kernel')")"
	expect "$1: the sleepers slept" 2 "$(answer "
		select count(distinct utid) from thread_state join thread using (utid) join process child using (upid)
		join process parent on child.parent_upid = parent.upid
		where child.cmdline glob '/links/sleep*' and parent.cmdline glob '*/in_kernel' and state = 'S' and dur > 90000000")"
	expect "$1: all of the tree has ended" 0 "$(answer "
		select count(*) from process where end_ts is null and (cmdline glob '/links/sleep*' or cmdline glob '*/in_kernel')")"
	expect "$1: the kernel is named" "$(answer "select str_value from metadata where name = 'system_release'")" \
		"$(jq -r 'select(.kind == "test").kernel' "$1/manifest.jsonl")"
	expect "$1: recorded by BPF, nothing missing" 'bpf|0' \
		"$(jq -r 'select(.kind == "test") | "\(.backend)|\([.lost[], .gaps] | add)"' "$1/manifest.jsonl")"
	expect "$1: the waits of the sleepers have stacks, in order" 'true 0' \
		"$(jq -r 'select(.kind == "test") | "\(.waits >= 2) \(.late)"' "$1/manifest.jsonl")"
}

check_crash() { # FOLDER
	local line
	line=$(jq -c 'select(.test == "crashed")' "$1/manifest.jsonl")
	expect "$1: exit status of a crash" 134 "$(cat "$1/crashed.status")"
	expect "$1: the crash" 'SIGABRT the-culprit' "$(jq -r '.crashes[0] | "\(.name) \(.thread)"' <<<"$line")"
	expect "$1: its stack" 'abort inner middle in_thread' "$(jq -r '.crashes[0].stack[]' <<<"$line" |
		grep -oE ' (abort|inner|middle|in_thread)\+' | tr -d ' +' | paste -sd ' ')"
}

# What only root's tracer records without it.
check_collected() { # FOLDER
	expect "$1: tests of a user, through a collector" '3 3 3 3' "$(xargs <"$1/theirs/statuses")"
	expect "$1: all of them, nothing lost" 'by-agent collector 0,by-cpu collector 0,by-io+memory collector 0,by-system-calls collector 0' \
		"$(jq -r '"\(.test) \(.backend) \([.lost[]] | add // 0)"' "$1/theirs/manifest.jsonl" | sort | paste -sd ,)"
	expect "$1: the wait has a stack" true "$(jq -s 'map(.waits >= 1) | all' "$1/theirs/manifest.jsonl")"
	for profile in cpu:sample/cpu-clock io+memory:exceptions/page_fault_minor io+memory:raw_syscalls/sys_enter system-calls:raw_syscalls/sys_exit; do
		expect "$1: ${profile#*:} in ${profile%:*}" 1 "$("$tracelet" dump "$1/theirs/by-${profile%:*}"_*.pb | grep -c -m 1 "${profile#*:} ")"
	done
	expect "$1: no program of the collector is refused" 0 "$(grep -c 'in threads\|failed\|cannot' "$1/collector.err")"
}

check_clock() { # FOLDER
	expect "$1: exit status of a test" 4 "$(cat "$1/test.status")"
	for name in operation test; do
		trace=$(echo "$1/${name}"_*.pb)
		"$tracelet" check "$trace"
		expect "$1: check of the $name" 0 $?
		"$tp" --health "$trace"
		expect "$1: health of the $name" 0 $?
	done
	expect "$1: all times are plausible" true \
		"$(jq -s 'map(.wall_seconds > 0 and .wall_seconds < 60) | all' "$1/manifest.jsonl")"
	expect "$1: the test took its time" true \
		"$(jq -s 'map(select(.test == "test"))[0].wall_seconds >= 0.3' "$1/manifest.jsonl")"
	expect "$1: so did its sleepers" 2 "$(answer "
		select count(distinct utid) from thread_state join thread using (utid) join process using (upid)
		where process.cmdline glob '/links/sleep*' and state = 'S' and dur between 90000000 and 5000000000")"
	expect "$1: the trace tells of it" 1 "$(answer "select count(*) from slice where name glob 'wall clock set back by 3*'")"
}

# Each source's programs load, and those that this kernel does not have are named in one warning.
check_sources() { # FOLDER WHAT_ELSE_IS_MISSING
	local missing="$2 kvm (not a host of virtual machines: no /dev/kvm)"
	expect "$1: sources that are missing" "$missing" "$(sed -n 's/.*not recorded here://p' "$1/all.err")"
	expect "$1: programs that are not loaded the quick way" 0 "$(grep -c 'in threads' "$1/all.err")"
	expect "$1: programs that are refused" 0 "$(grep -c 'rejected' "$1/all.err")"
	for group in raw_syscalls exceptions timer kmem irq_vectors; do
		expect "$1: events of $group" 1 "$("$tracelet" table --csv --group-by group "$1"/all_*.pb kernel-events | grep -c "^$group,")"
	done
	"$tracelet" table --csv --group-by event "$1"/all_*.pb event-stacks >"$1/stacks.csv"
	for event in sys_enter_execve sys_exit page_fault_minor kmalloc kmem_cache_free; do
		expect "$1: stacks at $event" 1 "$(grep -c "^$event," "$1/stacks.csv")"
	done
	expect "$1: stacks by name" 1 "$("$tracelet" fold --event-filter sys_enter_execve "$1"/all_*.pb | grep -c ';do_syscall_64')"
	"$tp" --health "$1"/all_*.pb
	expect "$1: health of all sources" 0 $?
}

# Programs that end immediately, in the initramfs, which is in memory.
check_mapped() { # FOLDER
	local id
	id=$(readelf -n "$tracelet" | awk '/Build ID:/ { print $3 }')
	expect "$1: build ids of what is mapped" "2 build_id=$id" "$("$tracelet" dump "$1"/mapped_*.spool |
		sed -nE 's/.*mapping .* file=[^ ]*\/(short|tracelet) //p' | sort | uniq -c | xargs)"
}

# `heap -p` counts what a running process allocates: 1000 blocks, of 10 bytes each.
check_heap() { # FOLDER
	expect "$1: the process was watched to its end" 'done 0' "$(cat "$1/heap.status")"
	expect "$1: every block is counted" 1000 "$("$tracelet" fold --metric blocks "$1/heap.json" |
		awk '/;plain;/ { sum += $NF } END { print sum }')"
	expect "$1: doctor says so" works "$(jq -r '.checks[] | select(.name == "heap -p").verdict' "$1/doctor.json")"
	[ "$(cat "$1/heap.status")" = 'done 0' ] || cat "$1/heap.err"
}

# Each write of the machine to a port is an exit.
check_machine() { # FOLDER
	expect "$1: what the host of a virtual machine saw" '5 0' "$(xargs <"$1/machine.out")"
	"$tracelet" dump "$1"/machine_*.pb | grep -o 'kvm/kvm_.*' >exits
	expect "$1: machines, vCPUs, writes to the port, halts" '1 1 5 1' "$(for what in create_vm create_vcpu \
		'exit .* exit_reason=123 isa=2 reason=io' 'exit .* exit_reason=120 isa=2 reason=hlt'; do
		grep -c "kvm_$what " exits
	done | xargs)"
	expect "$1: as many exits as entries" "$(grep -c kvm_entry exits)" "$(grep -c kvm_exit exits)"
	expect "$1: a table of them" 'machine,0,io,5' "$("$tracelet" table --csv "$1"/machine_*.pb kvm-exits |
		grep ,io, | cut -d , -f 1-4)"
	expect "$1: Perfetto has the words" 5 "$("$tp" "$(echo "$1"/machine_*.pb)" "
		select count(*) from ftrace_event join args using (arg_set_id)
		where name = 'kvm_exit' and args.key = 'reason' and string_value = 'io'")"
	expect "$1: a stack at each exit" "$(grep -c kvm_exit exits)" "$("$tracelet" table --csv --group-by event \
		"$1"/machine_*.pb event-stacks | sed -n s/kvm_exit,//p)"
}

check_vsock() { # FOLDER
	cat "$1/agent.err" "$1/vsock.err"
	expect "$1: output and exit status by vsock" 'in an initramfs 5' "$(xargs <"$1/vsock.out")"
	"$tracelet" check "$1"/by-vsock_*.pb
	expect "$1: its trace" 0 $?
	expect "$1: with the guest's clock" 1 "$("$tracelet" info "$1"/by-vsock_*.pb | grep -c '^guest-clock ')"
}

for name in first second; do
	[ -e "$name.status" ] || continue
	cat "$name.err" # shown if the test fails
	expect "$name: killed, as here" 137 "$(cat "$name.status")"
	mkdir "$name.out" && tar x -C "$name.out" -f "$name.tar"
	expect "$name: its output is whole" 0 $?
	expect "$name: a file of the guest" 'in an initramfs' "$(cat "$name.out/read")"
	expect "$name: the user" 0 "$(cat "$name.out/user")"
	check_trace "$name"
	check_crash "$name.out"
	check_collected "$name.out"
	check_heap "$name.out"
	check_mapped "$name.out"
	check_clock "$name.out"
done
check_sources first.out ''
[ -z "$second" ] || check_sources second.out ''
[ ${#kvm[@]} = 0 ] || check_machine first.out
[ ${#vsock[@]} = 0 ] || check_vsock first.out
[ -z "$second" ] || expect 'the kernels are two' 2 "$(jq -r 'select(.kind == "test").kernel' */manifest.jsonl | sort -u | wc -l)"
finish
