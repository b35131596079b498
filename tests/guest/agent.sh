# shellcheck shell=bash
# A guest whose process 1 is tracelet-agent, for tests and bench: sourced, with $here this folder and $work a temporary one.
# `agent_boot NAME [QEMU OPTION…]` sets $address, and $emulator, the process to kill; its console is
# $work/NAME/console_*.log. Put more files for the guest into $work/NAME/root before.

tracelet=${TRACELET:-$here/../../build/tracelet}
agent_program=$(dirname "$tracelet")/tracelet-agent

agent_prepare() { # NAME
	local root=$work/$1/root
	command -v qemu-system-x86_64 >/dev/null || skip 'no qemu-system-x86_64 (Debian package qemu-system-x86)'
	[ -x "$agent_program" ] || skip 'no build/tracelet-agent: run make first'
	kernel=$("$here/kernel" linux-image-cloud-amd64 2>"$work/log") || skip "$(cat "$work/log")"
	mkdir -p "$root/bin" "$root/usr/bin"
	cp "$(command -v busybox)" "$root/bin/busybox"
	for word in sh sleep cat echo seq head wc sha256sum dd kill true grep dmesg; do
		ln -sf busybox "$root/bin/$word"
	done
}

agent_boot() { # NAME [QEMU OPTION…]
	local folder=$work/$1
	shift
	"$tracelet" vm start --kernel "$kernel" --rootfs "$folder/root" --socket "$folder/port" \
		--output-dir "$folder" --name console --qemu "$*" </dev/null >"$folder/address" 2>"$folder/log" &
	emulator=$!
	until [ -s "$folder/address" ] || ! kill -0 $emulator 2>/dev/null; do
		sleep 0.02
	done
	address=$(cat "$folder/address")
}
