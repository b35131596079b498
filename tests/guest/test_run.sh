#!/bin/bash
# `tracelet run` on real kernels, Debian's 6.1 and 6.12: the command's exit status, and a trace that both our check and
# Perfetto accept, with scheduling and the process tree in it.
set -uo pipefail
here=$(cd -- "$(dirname -- "$0")" && pwd)
# shellcheck source=tests/guest/expect.sh
. "$here/expect.sh"

tracelet=${TRACELET:-$here/../../build/tracelet}
[ -n "${TRACELET:-}" ] || [ -x "$tracelet" ] || skip 'no build/tracelet: run make first'
tp=$here/../perfetto/tp
"$here/../perfetto/setup" >/dev/null 2>"$work/stderr" || skip "$(cat "$work/stderr")"

answer() { "$tp" "${traces[0]}" "$1"; }

"$tracelet" profile export verbose | sed 's|<Keyword Value="SystemCall"/>|&<Keyword Value="Pool"/>|' >"$work/all.wprp"

# Each source's programs load, and those that this kernel does not have are named in one warning.
all_sources() {
	local missing=' kvm (no host of virtual machines: there is no /dev/kvm)'
	case $package in
	linux-image-cloud-amd64) missing=" ipi (this kernel has no ipi events),$missing" ;;
	esac
	expect 'what is missing' "$missing" "$(sed -n 's/.*not recorded here://p' "$guest/out/all.err")"
	expect 'programs that are refused' 0 "$(grep -c 'does not take' "$guest/out/all.err")"
	for group in raw_syscalls exceptions timer kmem irq_vectors; do
		expect "events of $group" 1 "$("$tracelet" table --csv --group-by group "$guest"/out/all/*.pb kernel-events |
			grep -c "^$group,")"
	done
	"$tp" --health "$guest"/out/all/*.pb
	expect 'exit status of the health check' 0 $?
}

# A host of virtual machines: QEMU emulates what KVM needs on AMD's processors. Each write to a port is an exit.
cc -O1 -static -o "$work/machine" "$here/machine.c" || skip 'no static C library'
with_kvm() { # leaves $kvm, options of boot
	local name folder modules
	kvm=()
	folder=$("$here/kernel" "$package" 2>/dev/null) || return
	modules=$(echo "$(dirname "$folder")/kernel-package-$package"/lib/modules/*/kernel)
	for name in virt/lib/irqbypass arch/x86/kvm/kvm arch/x86/kvm/kvm-amd; do
		[ -e "$modules/$name.ko" ] || return
		kvm+=(--add "$modules/$name.ko=/kvm/$(basename $name).ko")
	done
	kvm+=(--add "$work/machine=/bin/machine")
}
machine_seen() {
	if [ ${#kvm[@]} = 0 ]; then
		echo "$package: no modules of KVM"
		return
	fi
	expect 'what the host of a virtual machine saw' '5 0' "$(xargs <"$guest/out/machine.out")"
	"$tracelet" dump "$guest"/out/machine/*.pb | grep -o 'kvm/kvm_.*' >"$work/kvm"
	expect 'machines, vCPUs, writes to the port, halts' '1 1 5 1' "$(for what in create_vm create_vcpu \
		'exit .* exit_reason=123 isa=2' 'exit .* exit_reason=120 isa=2'; do
		grep -c "kvm_$what " "$work/kvm"
	done | xargs)"
	expect 'as many exits as entries' "$(grep -c kvm_entry "$work/kvm")" "$(grep -c kvm_exit "$work/kvm")"
}

traced_on() { # PACKAGE
	package=$1 guest=$work/$1
	with_kvm
	# Before it, all that a profile can ask for, and KVM.
	"$here/boot" --kernel-package "$package" --output "$guest" --add "$tracelet" --add "$work/all.wprp=/all.wprp" \
		"${kvm[@]}" -- sh -c '
		tracelet run --quiet --profile /all.wprp --output-dir /out/all -- /bin/true 2>/out/all.err
		if [ -d /kvm ]; then
			insmod /kvm/irqbypass.ko && insmod /kvm/kvm.ko && insmod /kvm/kvm-amd.ko
			tracelet run --quiet --profile embedded --output-dir /out/machine -- /bin/machine 5 >/out/machine.out 2>/dev/null
			echo $? >>/out/machine.out
		fi
		tracelet run --output-dir /out --name guest -- sh -c "/bin/sleep 0.2 & /bin/sleep 0.1; wait; exit 3"' \
		>"$work/stdout" 2>"$work/stderr"
	status=$?
	if [ $status -eq 77 ]; then
		cat "$work/stderr"
		return
	fi
	run_on=$((run_on + 1))
	expect 'exit status' 3 $status
	expect 'nothing of ours on standard output' '' "$(cat "$work/stdout")"
	cat "$work/stderr" # seen when the test fails
	all_sources
	machine_seen

	traces=("$guest"/out/guest_*.pb)
	expect 'number of traces' 1 "$(find "$guest/out" -name 'guest_*.pb' | wc -l)"
	expect 'lines in the manifest' 1 "$(wc -l <"$guest/out/manifest.jsonl")"

	"$tracelet" check "${traces[0]}"
	expect 'exit status of check' 0 $?
	"$tp" --health "${traces[0]}"
	expect 'exit status of the health check' 0 $?

	expect 'the sleepers ran on a CPU' 2 "$(answer "
		select count(distinct upid) from sched_slice join thread using (utid) join process using (upid)
		where process.cmdline in ('/bin/sleep 0.1', '/bin/sleep 0.2') and dur > 0")"
	expect 'the sleepers slept' 2 "$(answer "
		select count(distinct utid) from thread_state join thread using (utid) join process using (upid)
		where process.cmdline glob '/bin/sleep*' and state = 'S' and dur > 90000000")"
	expect 'both are children of the shell' '/bin/sleep 0.1|/bin/sleep 0.2' "$(answer "
		select child.cmdline from process child join process parent on child.parent_upid = parent.upid
		where parent.cmdline glob 'sh -c*' order by child.cmdline" | paste -sd '|')"
	expect 'all of the tree has ended' 0 "$(answer "
		select count(*) from process where end_ts is null and (cmdline glob '/bin/sleep*' or cmdline glob 'sh -c*')")"
	expect 'the kernel is named' "$(answer "select str_value from metadata where name = 'system_release'")" \
		"$(sed -n 's/.*"kernel": *"\([^"]*\)".*/\1/p' "$guest/out/manifest.jsonl")"
	expect 'recorded by BPF, nothing missing' 'bpf|0' \
		"$(jq -r '"\(.backend)|\([.lost[], .gaps, .late] | add)"' "$guest/out/manifest.jsonl")"
}

run_on=0
traced_on linux-image-cloud-amd64
traced_on linux-image-6.12-cloud-amd64
[ $run_on -gt 0 ] || skip 'no kernel for the guest'
finish
