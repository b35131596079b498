# shellcheck shell=bash
# A guest whose process 1 is tracelet-agent, for tests and bench: sourced, with $here this folder and $work a
# temporary one. `agent_boot NAME [QEMU OPTION…]` leaves $address and the emulator's $emulator; its console is
# $work/NAME/console. More files for the guest are put into $work/NAME/root before.

agent_program=${TRACELET_AGENT:-$here/../../build/tracelet-agent}

agent_prepare() { # NAME
	local root=$work/$1/root
	command -v qemu-system-x86_64 >/dev/null || skip 'no qemu-system-x86_64 (Debian package qemu-system-x86)'
	[ -x "$agent_program" ] || skip 'no build/tracelet-agent: run make first'
	kernel=$("$here/kernel" linux-image-cloud-amd64 2>"$work/log") || skip "$(cat "$work/log")"
	[ -x "$work/tsc_khz" ] || cc -O2 -o "$work/tsc_khz" "$here/tsc_khz.c"
	mkdir -p "$root/bin" "$root/dev" "$root/usr/bin"
	cp "$agent_program" "$root/init"
	cp -r "$kernel/modules" "$root/modules"
	cp "$(command -v busybox)" "$root/bin/busybox"
	for word in sh sleep cat echo seq head wc sha256sum dd kill true grep dmesg; do
		ln -sf busybox "$root/bin/$word"
	done
}

agent_boot() { # NAME [QEMU OPTION…]
	local folder=$work/$1 options
	shift
	(cd "$folder/root" && find . | busybox cpio -o -H newc -R 0:0) >"$folder/initramfs" 2>/dev/null
	options="console=ttyS0 quiet panic=-1 cryptomgr.notests tsc=reliable tsc_early_khz=$("$work/tsc_khz")"
	address=unix:$folder/port
	qemu-system-x86_64 -accel tcg -M q35 -cpu max -smp 1 -m 512 -nodefaults -display none -no-reboot \
		-serial "file:$folder/console" -kernel "$kernel/vmlinux" -initrd "$folder/initramfs" -append "$options" \
		-device virtio-serial-pci -chardev "socket,id=port,path=$folder/port,server=on,wait=off" \
		-device virtserialport,chardev=port,name=tracelet "$@" </dev/null >"$folder/log" 2>&1 &
	emulator=$!
	for _ in $(seq 500); do
		[ -S "$folder/port" ] && return
		sleep 0.02
	done
}
