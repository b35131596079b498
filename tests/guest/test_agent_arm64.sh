#!/bin/bash
# The agent for arm64 in an emulated machine of that kind, over its serial line: no modules, no console, noise from the
# kernel before the first frame. It is made by `make agent-arm64`.
set -uo pipefail
here=$(cd -- "$(dirname -- "$0")" && pwd)
# shellcheck source=tests/guest/expect.sh
. "$here/expect.sh"
tracelet=${TRACELET:-$here/../../build/tracelet}
agent=${TRACELET_AGENT_ARM64:-$here/../../build-arm64/tracelet-agent}
kernel=${TRACELET_CACHE:-${XDG_CACHE_HOME:-${HOME:-/tmp}/.cache}/tracelet}/kernel-arm64
[ -x "$agent" ] || skip 'no build-arm64/tracelet-agent: make agent-arm64 makes it'
[ -e "$kernel" ] || skip 'no arm64 kernel: test_pmu.sh downloads it'
command -v qemu-system-aarch64 >/dev/null || skip 'no qemu-system-aarch64'
cd "$work" || exit 1

expect 'the agent is small' yes "$([ "$(stat -c %s "$agent")" -le 6000000 ] && echo yes)"
mkdir -p root/dev root/bin && cp "$agent" root/init && ln -s /init root/bin/tracelet
(cd root && find . | busybox cpio -o -H newc -R 0:0 2>/dev/null) >initramfs
qemu-system-aarch64 -M virt -cpu max -accel tcg -smp 1 -m 512 -nodefaults -display none -no-reboot -kernel "$kernel" \
	-initrd initramfs -append 'earlycon quiet panic=-1 cryptomgr.notests tracelet.listen=serial:/dev/ttyAMA0' \
	-chardev "socket,id=line,path=$work/line,server=on,wait=off" -serial chardev:line </dev/null >log 2>&1 &
emulator=$!
trap 'kill $emulator 2>/dev/null; rm -rf "$work"' EXIT
until [ -S line ] || ! kill -0 $emulator; do sleep 0.05; done
guest() { timeout 200 "$tracelet" guest --compress --patience 150 "unix:$work/line" "$@" </dev/null; }

# The only program there is the agent, which is tracelet, too.
guest run --name arm -- /bin/tracelet --version >out 2>err
expect 'exit status' 0 $?
expect 'its output' "$("$tracelet" --version)" "$(tr -d '\r' <out)"
cat err
trace=$(echo tracelet-out/arm_*.pb)
"$tracelet" check "$trace"
expect 'check' 0 $?
expect 'the machine' aarch64 "$("$tracelet" info "$trace" | sed -n 's/^machine *//p')"
expect 'the backend' bpf "$("$tracelet" info "$trace" | sed -n 's/^backend *//p')"
guest file -o init.copy /init
expect 'a file of megabytes over the line' "$(sha256sum <"$agent")" "$(sha256sum <init.copy)"
guest power-off
wait $emulator
expect 'the guest ends' 0 $?
finish
