#!/bin/bash
# Who may command an agent over vsock: its host (CID 2), or whoever has the token, which an agent that the kernel starts
# gets from the kernel's command line. The clients are in the guest itself: to the agent they are CID 1, not its host.
# A host's own way, vhost_vsock, is not tested: the machines that run the tests rarely have it.
set -uo pipefail
here=$(cd -- "$(dirname -- "$0")" && pwd)
# shellcheck source=tests/guest/expect.sh
. "$here/expect.sh"
tracelet=${TRACELET:-$here/../../build/tracelet}
need_vm
kernel=$("$here/kernel" linux-image-cloud-amd64 2>"$work/log") || skip "$(cat "$work/log")"
cd "$work" || exit 1

# Loaded in the order of their names.
modules=$(dirname "$kernel")/../lib/modules
added=()
for module in 1:vsock 2:vmw_vsock_virtio_transport_common 3:vsock_loopback; do
	file=$(find "$modules" -name "${module#*:}.ko" | head -n 1)
	[ -n "$file" ] || skip "the kernel has no module ${module#*:}"
	added+=(--add "$file=/modules/9${module/:/-}.ko")
done
(umask 077 && head -c 32 /dev/urandom >token && head -c 32 /dev/urandom >other)
cat >ask <<'END'
#!/bin/sh
# Each line of output: what was tried, and the exit status.
agent=/tracelet/tracelet-agent
tried() {
	what=$1
	shift
	$agent guest --patience 5 "$@" shell sh -c 'exit 7' >/dev/null 2>>/errors
	echo "$what $?"
}
tried "no token" vsock:1
tried "another token" --token-file /other vsock:1
tried "the token" --token-file /token vsock:1
$agent --listen vsock:3000 --listen unix:/open 2>/errors-of-agent &
until tried up unix:/open | busybox grep -q 7; do busybox sleep 0.1; done
tried "an agent without a token, from elsewhere than its host" vsock:1:3000
busybox cat /errors >&2
END
chmod +x ask
timeout --kill-after=5 300 "$tracelet" vm run --quiet --kernel "$kernel" --boot-timeout 200 --append 'tracelet.listen=port:tracelet,vsock: tracelet.token-file=/token' \
	--add token=/token --add other=/other --add "$(command -v busybox)=/bin/busybox" "${added[@]}" -- ./ask >out 2>err
expect 'exit of the test' 0 $?
expect 'who may' 'no token 125
another token 125
the token 7
an agent without a token, from elsewhere than its host 125' "$(cat out)"
[ $failures = 0 ] || cat err >&2
finish
