# A set-user-id program that sets marks, or that root has linked with the heap library, must not open files
# that its caller's environment names.
. "$(dirname "$0")/lib.sh"
need_root
need_command cc python3

cat >program.c <<'END'
#include "tracelet/mark.h"
#include <stdio.h>
#include <unistd.h>
int main(void) {
	tl_mark("hello");
	printf("%d\n", (int)geteuid());
	return 0;
}
END
cc -I "$source/include" -o program program.c
chmod 4755 program
[ "$(as_attacker ./program)" = 0 ] || skip_all "set-user-id programs have no effect here"
echo secret >target
chmod 600 target

# opened VARIABLE VALUE COMMAND...: how often the target is opened while it runs.
cat >opened.py <<'END'
import ctypes, os, subprocess, sys
libc, IN_OPEN = ctypes.CDLL(None), 0x20
watch = libc.inotify_init1(os.O_NONBLOCK)
assert libc.inotify_add_watch(watch, b"target", IN_OPEN) >= 0
subprocess.run(sys.argv[1:], check=True, stdout=subprocess.DEVNULL)
try:
    print(len(os.read(watch, 4096)) // 16)
except BlockingIOError:
    print(0)
END
opened() { python3 opened.py setpriv --reuid nobody --regid nogroup --clear-groups "$@"; }
check_equal "the watch sees the target being opened" 1 "$(python3 opened.py cat target)"
check_equal "marks" 0 "$(opened env TRACELET_MARKS="/proc/self/root$work/target:1" ./program)"

# The dynamic linker preloads into set-user-id programs only what root allows; root may also link it.
library=$(dirname "$TRACELET")/libtracelet-heap.so
if [ -e "$library" ]; then
	cc -I "$source/include" -o counted program.c -Wl,--no-as-needed "$library" -Wl,-rpath,"$(dirname "$library")"
	chmod 4755 counted
	check_equal "heap" 0 "$(opened env TRACELET_HEAP="$work/target" ./counted)"
	chmod 755 counted && chmod 666 target
	check_not "which other programs do open" test "$(opened env TRACELET_HEAP="$work/target" ./counted)" = 0
fi

# Names as the tracer makes them: the attacker's process has the target open, but may not open it again.
setpriv --reuid nobody --regid nogroup --clear-groups sleep 1000 9<>target >/dev/null 2>&1 &
holder=$!
wait_until grep -q '^Name:.sleep' /proc/$holder/status
held=/proc/$holder/fd/9:1
chmod 755 program
check_equal "the watch sees a program that does" 1 "$(python3 opened.py env TRACELET_MARKS=$held ./program)"
# Others are not opened by any program: variables also reach those that root starts.
for name in "/proc/self/root$work/target" "/proc/$holder/cwd/target" "/proc/$holder/fd/../cwd/target" "/proc/$holder/../..$work/target"; do
	check_equal "marks that are no descriptor" 0 "$(python3 opened.py env TRACELET_MARKS="$name:1" ./program)"
done

# Rights of a user, of a group, or single ones.
chmod 660 target
more_rights() { # DESCRIPTION: of program and counted
	check_equal "$1: marks" 0 "$(opened env TRACELET_MARKS=$held ./program)"
	[ ! -e counted ] || check_equal "$1: heap" 0 "$(opened env TRACELET_HEAP="$work/target" ./counted)"
}
with_mode() {
	chmod "$1" program
	[ ! -e counted ] || chmod "$1" counted
}
with_mode 4755
more_rights "a set-user-id program"
with_mode 2755
more_rights "a set-group-id program"
with_mode 755
if setcap cap_dac_override+ep program 2>/dev/null; then
	[ ! -e counted ] || setcap cap_dac_override+ep counted
	more_rights "a program with a capability"
	setcap -r program
else
	skip "a program with a capability" "files cannot have any here"
fi
kill $holder

# Tracelet itself, with the capabilities that doctor advises: its callers do not say what the kernel is like. An offset in
# a tracepoint's format is where BPF programs read.
cp "$TRACELET" able
if setcap cap_bpf,cap_perfmon+ep able 2>/dev/null; then
	mkdir -p tracefs/kmem/kmalloc
	known() { setpriv --reuid nobody --regid nogroup --clear-groups "$@" ./able profile show verbose; }
	known env >kernels
	known env TRACELET_TRACEFS="$work/tracefs" >callers
	check "formats of the caller's are not the kernel's" cmp kernels callers
else
	skip "tracelet with capabilities" "files cannot have any here"
fi

# Other programs can still set marks.
chmod 755 program
check_run "an ordinary program" 0 "$TRACELET" run --quiet -- ./program
"$TRACELET" dump "$(the_trace program)" >dumped
check_match "makes its mark" hello dumped
done_testing
