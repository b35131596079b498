# `tracelet why` names the cause: processes, time, the disk, the CPU. test_why_locks.sh has the locks.
. "$(dirname "$0")/lib.sh"
. "$source/tests/cli/why.sh"

named child "child sleep take_long" "causes child reap"
named vfork "causes sleep spawn"
check_equal "vfork: what waits for it" "causes vfork spawn" "$(largest '.chain[0] | "\(.thread) \(.reason) \(.function)"')"
check_run "vfork: the default profile" 0 "$TRACELET" run --quiet --name parent -- "$causes" vfork
check_match "vfork: has the parent's whole stack" '^causes;_start;.*;main;.*;spawn;[^;]*vfork;' <("$TRACELET" fold tracelet-out/parent_*.pb)
named pipe "peer sleep answer_late" "causes pipe read_answer"
named unix "peer sleep answer_late" "causes socket read_answer"
named tcp "peer sleep answer_late" "causes socket read_answer"
named udp "peer sleep answer_late" "causes socket read_answer"
named epoll "holder sleep raise_event" "causes poll await_event"
named epoll_pipe "peer sleep answer_late" "causes poll await_answer"
check_match "epoll_pipe: what it polled" 'peer slept in answer_late\(\).* For this, causes polled a pipe in await_answer\(\)' <("$TRACELET" why epoll_pipe)
named select_unix "peer sleep answer_late" "causes poll select_answer"
check_match "select_unix: what it polled" 'For this, causes polled a socket in select_answer\(\)' <("$TRACELET" why select_unix)
named eventfd "holder sleep raise_event" "causes eventfd read_event"
named signal "holder sleep send_signal" "causes signal await_signal"
named sleep "causes sleep pause_a_while"
named timeout "causes timeout poll_in_vain"
named spin "causes cpu spin"
named faults "causes page-fault touch_pages"
named io_uring "peer sleep answer_late" "causes io-uring await_ring"

named socket_timeout "causes timeout receive_in_vain"
named semaphore_timeout "causes timeout take_in_vain"
named timerfd "causes sleep await_tick"
named barrier "holder sleep come_late" "causes condition meet"
named flock "holder sleep hold_file" "causes kernel-lock lock_file"
check_match "flock: in words" 'causes waited for a file lock in lock_file' <("$TRACELET" why flock)
named inotify "holder sleep create_file" "causes other await_file"
named accept "holder sleep connect_late" "causes socket accept_client"
named message "holder sleep send_late" "causes other receive"
named stopped "child sleep thaw" "causes stopped freeze"
named spawn "causes sleep pause_a_while" "causes child run_tool"
named pool "pool cpu do_job"

# Some disks and kernels answer so quickly that the work around the wait takes longer.
record fsync && check_equal "fsync: the wait is there" "true" \
	"$(jq '[.segments[] | select(.reason == "fsync" and .function == "sync_file")] | length == 1' why.json)"
dd if=/dev/zero of=large bs=1M count=16 conv=fsync 2>/dev/null
record disk && if [ "$status" = 0 ]; then
	check_equal "disk: the wait is there" "true" \
		"$(jq '[.segments[] | select(.reason == "disk" and .function == "read_file")] | length == 1' why.json)"
else
	skip "disk" "this file system has no direct reads"
fi

# An interpreter's lock: one thread has it for a single long call, the first one looks for it every 5 ms.
cat >lock.py <<'END'
import threading, time
holder = threading.Thread(target=lambda: sum(range(20_000_000)))
holder.start()
time.sleep(0.001)
holder.join()
END
# The interpreter itself: python3 may be a script that looks for it.
python=$(python3 -c 'import sys; print(sys.executable if getattr(sys, "_is_gil_enabled", lambda: True)() else "")')
if [ -n "$python" ]; then
	explain_whole interpreter "$TRACELET" run --quiet --off-cpu --sample --name interpreter -- "$python" lock.py
	note "$("$TRACELET" why interpreter)"
	first=$("$TRACELET" dump --json tracelet-out/interpreter_*.pb | jq -s 'map(select(.event == "exec"))[0].pid')
	# The holder wakes the first thread, unless that has just looked and not found a CPU yet: then its own wait is
	# all there is, until the time limit after which it looks. Without a CPU it does neither.
	check_equal "an interpreter's lock: the time is its holder's, or that of the first thread, which looks for it" true \
		"$(jq --argjson first "$first" '([.segments[] | select(.tid != $first or (.state == "waits" and .reason == "timeout")).ns] | add // 0) >
			0.5 * ([.segments[] | select(.tid != $first or (.state != "ready" and .state != "unknown")).ns] | add)' why.json)"
else
	skip "an interpreter's lock" "no python3 with one here"
fi

# A neighbour that has priority on the same CPU.
taskset -c 0 sh -c 'while :; do :; done' &
neighbour=$!
record hog && check_equal "hog: it had no CPU" "causes ready cpu" \
	"$(jq -r '.segments[0] | "\(.thread) \(.reason) \(.waker.context)"' why.json)"
kill "$neighbour"
wait "$neighbour" 2>/dev/null

done_testing
