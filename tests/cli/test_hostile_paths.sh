# Others choose the paths in recordings, in /proc/PID/maps and in a process's memory. A FIFO or a device at
# such a path is never opened: opening it could block forever, or act on a device.
. "$(dirname "$0")/lib.sh"
. "$source/tests/cli/helpers/words.sh"
need_command python3 gcc jq

# bait PATH: a FIFO with a writer that waits until the other end is opened.
bait() {
	mkfifo "$1"
	(: >"$1") &
	writer=$!
	wait_until is_untouched || note "the writer does not wait"
}

# is_untouched: the writer sleeps in its open().
is_untouched() {
	grep -q '^State:.S' "/proc/$writer/status"
}

# check_untouched DESCRIPTION: also ends the writer.
check_untouched() {
	check "$1" is_untouched
	kill "$writer" 2>/dev/null
	wait "$writer" 2>/dev/null
}

# ---- recordings ----

# recording MODULE: a perf.data with one sample in it.
recording() {
	python3 "$source/tests/cli/perf_data.py" "$1" 400000 401000
}

bait "$PWD/module"
recording "$PWD/module" >fifo.data
check_run "a recording whose module is a FIFO" 0 timeout 20 "$TRACELET" fold fifo.data
check_equal "has its samples" 'a;[module] 1000' "$(cat "$stdout")"
check_untouched "and the FIFO is not opened"

bait "$PWD/jit-5.dump"
recording "$PWD/jit-5.dump" >jit.data
check_run "or one whose compiled code is in a FIFO" 0 timeout 20 "$TRACELET" fold jit.data
check_untouched "which is not opened either"

bait "$PWD/prog.debug"
echo 'int main(void) { return 0; }' >prog.c
gcc -no-pie -o prog prog.c && cp prog other.debug && strip prog && mv prog.debug fifo && mv other.debug prog.debug &&
	objcopy --add-gnu-debuglink=prog.debug prog && rm prog.debug && mv fifo prog.debug
recording "$PWD/prog" >debug.data
check_run "or one whose debug file is a FIFO" 0 timeout 20 "$TRACELET" fold debug.data
check_untouched "which is not opened either"

recording /dev/full >device.data
check_run "a recording that names a device" 0 "$TRACELET" fold device.data
check_equal "has its samples" 'a;[full] 1000' "$(cat "$stdout")"
if command -v strace >/dev/null && strace -o strace.out true 2>/dev/null; then
	strace -f -e trace=open,openat -o strace.out "$TRACELET" fold device.data >/dev/null
	check_equal "and the device is not opened" '' "$(grep /dev/full strace.out | grep -v O_PATH)"
else
	skip "and the device is not opened" "there is no strace"
fi

# ---- processes ----

# hostile WORDS...: the helper in the background, $pid, when it is ready.
hostile() {
	"$helpers/hostile" "$@" >ready &
	pid=$!
	wait_until test -s ready || note "the helper does not start"
}

[ "$(id -u)" = 0 ] || { skip "processes" "this needs root"; done_testing; }

if [ "$(uname -m)" = x86_64 ]; then
	bait "$PWD/area"
	TRACELET_HEAP=/proc/$$/cwd/area sleep 600 &
	pid=$!
	run timeout 20 "$TRACELET" heap --duration 0.1s -o /dev/null -p $pid
	check_equal "a process that names a FIFO as its heap's file: no hanging" no \
		"$([ "$status" = 124 ] && echo yes || echo no)"
	check_untouched "and the FIFO is not opened"
	kill $pid
	wait $pid 2>/dev/null

	# Libraries are searched for at the paths that the process sees.
	gcc -shared -fPIC -o library.so prog.c
	mkfifo fifo
	LD_PRELOAD=$PWD/library.so hostile after "$PWD/fifo" "$PWD/library.so"
	run timeout 20 "$TRACELET" heap --duration 0.1s -o /dev/null -p "$pid"
	check_equal "a process with a FIFO over its library is watched" 0 "$status"
	kill "$pid"
	wait "$pid" 2>/dev/null
fi

need_stacks=$("$TRACELET" doctor --json | jq -r .recording)
if [ "$need_stacks" = full ]; then
	mkfifo named
	run "$TRACELET" run --name crashed --json crash.json -- "$helpers/hostile" crash "$PWD/named"
	check_match "a process that names a FIFO as its module, and crashes, has a stack" 'crash_as' crash.json
else
	skip "a process that names a FIFO as its module, and crashes, has a stack" "BPF does not work here"
fi

# A library for the process is a FIFO for us.
gcc -shared -fPIC -o real.so prog.c
mkfifo seen.so
run "$TRACELET" run --name hung --timeout 1s -- "$helpers/hostile" before "$PWD/real.so" "$PWD/seen.so"
check_match "a process that hangs with a library that is a FIFO for us has a stack" ' main\+0x' tracelet-out/hung*.stacks.txt

done_testing
