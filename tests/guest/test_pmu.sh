#!/bin/bash
# Counting with a real PMU, that of an emulated arm64 machine in which each instruction takes one nanosecond: known loops
# have exactly the instructions they have. pmu_check.c is the guest's only process, made of the files that count.
set -uo pipefail
here=$(cd -- "$(dirname -- "$0")" && pwd)
# shellcheck source=tests/guest/expect.sh
. "$here/expect.sh"

source=$here/../../src
for program in aarch64-linux-gnu-gcc qemu-system-aarch64 apt-get dpkg-deb busybox; do
	command -v "$program" >/dev/null || skip "no $program"
done

# kernel: Debian's newest 6.1 cloud kernel for arm64, downloaded once. The machine's own lists of packages know only its
# own architecture, and stay as they are.
kernel() {
	local cache=${TRACELET_CACHE:-${XDG_CACHE_HOME:-${HOME:-/tmp}/.cache}/tracelet} state=$work/apt name
	local target=$cache/kernel-arm64
	if [ ! -e "$target" ]; then
		mkdir -p "$cache" "$state/lists/partial" "$state/cache/archives/partial"
		local options=(-q -o APT::Architectures::=amd64 -o APT::Architectures::=arm64 -o Dir::State::lists="$state/lists"
			-o Dir::Cache="$state/cache" -o APT::Sandbox::User="$(id -un)")
		apt-get "${options[@]}" update >"$work/log" 2>&1 || return 1
		name=$(LC_ALL=C apt-cache "${options[@]:1}" depends linux-image-cloud-arm64:arm64 2>>"$work/log" |
			sed -n 's/^ *Depends: \(linux-image-[0-9].*\)/\1/p' | head -n 1)
		(cd "$state" && apt-get "${options[@]}" download "${name:-linux-image-cloud-arm64:arm64}" >>"$work/log" 2>&1 &&
			dpkg-deb -x ./linux-image-*.deb unpacked) || return 1
		cp "$state"/unpacked/boot/vmlinuz-* "$target.$$" && mv "$target.$$" "$target" || return 1
	fi
	echo "$target"
}

kernel=$(kernel) || skip "no arm64 kernel can be downloaded: $(grep -m 1 '^E:' "$work/log")"
aarch64-linux-gnu-gcc -static -O2 -D_GNU_SOURCE -I"$source" "$here/pmu_check.c" "$source"/capture/pmu/{counters,events,sysfs}.c \
	"$source/base/memory.c" -o "$work/init"
expect 'the guest is made' 0 $?
(cd "$work" && mkdir dev && printf '%s\n' dev init | busybox cpio -o -H newc 2>/dev/null) >"$work/initramfs"
# A loaded machine takes minutes for what an idle one does in six seconds.
timeout 300 qemu-system-aarch64 -M virt -cpu max,pmu=on -accel tcg -icount shift=0 -smp 2 -m 512 -nodefaults -display none \
	-no-reboot -serial "file:$work/console" -kernel "$kernel" -initrd "$work/initramfs" \
	-append 'console=ttyAMA0 quiet panic=-1 cryptomgr.notests'
expect 'the guest ends' 0 $?
cat "$work/console"
expect 'nothing fails there' 0 "$(grep -c '^not ok' "$work/console")"
expect 'all is checked' 12 "$(grep -c '^ok' "$work/console")"
finish
