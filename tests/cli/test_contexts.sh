# The context of a wakeup: one made by a task is never attributed to an interrupt. An interrupt that was active
# while our programs were attached used to leave a CPU "inside" it forever: in 6 of 80 runs every wakeup on that
# CPU was marked. TRACELET_LONG=1 makes 500 runs.
. "$(dirname "$0")/lib.sh"
. "$source/tests/cli/helpers/words.sh"
need_bpf
need_command python3

cat >loopback.py <<'END'
import socket, threading
server = socket.create_server(("127.0.0.1", 0))
def echo():
    connection, _ = server.accept()
    while data := connection.recv(1):
        connection.sendall(data)
thread = threading.Thread(target=echo)
thread.start()
client = socket.create_connection(server.getsockname())
for _ in range(50):
    client.sendall(b"x")
    client.recv(1)
client.close()
thread.join()
END

# all_marked CONTEXTS COMMAND...: runs it, and counts the CPUs of which all wakeups by the test's own tasks are marked as
# these. A real interrupt may come in between now and then; a CPU that is inside one for good marks all of its wakeups.
all_marked() {
	local contexts=$1 cpu total interrupts
	shift
	rm -rf tracelet-out
	"$TRACELET" run --quiet --name contexts -- "$@"
	"$TRACELET" dump --json tracelet-out/contexts_*.pb |
		jq -r 'select(.event == "waking" and .process != "") | "\(.cpu) \(.fields.context // "task")"' >wakeups
	while read -r cpu total interrupts; do
		seen=$((seen + 1))
		[ "$total" -lt 3 ] || [ "$interrupts" -lt "$total" ] || {
			marked=$((marked + 1))
			note "run $i: all $total wakeups on CPU $cpu are marked"
		}
	done < <(awk -v contexts="$contexts" '{ total[$1]++; if ($2 ~ contexts) interrupts[$1]++ }
		END { for (cpu in total) print cpu, total[cpu], interrupts[cpu] + 0 }' wakeups)
}

runs=${TRACELET_LONG:+500}
runs=${runs:-25}
marked=0 seen=0
for ((i = 0; i < runs; i++)); do # a child that ends wakes its parent
	all_marked 'irq' sh -c 'for i in 1 2 3 4 5 6 7 8; do /bin/true; done'
done
check "there were wakeups" test "$seen" -ge "$runs"
check_equal "in $runs runs no CPU has only wakeups by interrupts" 0 "$marked"
marked=0 seen=0
for ((i = 0; i < runs; i++)); do # the network wakes the receiver in a softirq, rightly
	all_marked 'hardirq' python3 loopback.py
done
check "there were wakeups over the loopback device" test "$seen" -ge "$runs"
check_equal "in $runs runs no CPU has only wakeups by interrupts of a device" 0 "$marked"
done_testing
