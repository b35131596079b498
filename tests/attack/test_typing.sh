# A test that runs as another user on root's terminal cannot type there: what it puts into the terminal's input would be read
# by root's shell after the test. Otherwise it keeps its terminal and its rights.
. "$(dirname "$0")/lib.sh"
need_root
need_command cc python3
cc -O2 -o typist "$source/tests/attack/helpers/typist.c" || exit 1
chmod 755 typist
out=$work/out
on_terminal() { python3 "$source/tests/attack/helpers/terminal.py" "$@" | tr -d '\r'; }
as_nobody() { on_terminal "$TRACELET" run --quiet --user nobody --output-dir "$out" "$@"; }

# Root may type, whatever the kernel is told: what follows would see it.
check_not "the attack works for who has the right" grep -q 'typed 0' <(on_terminal ./typist)
check_equal "no way to type is left" "taken 0 typed 0, status 0" "$(as_nobody -- ./typist | xargs)"
check_equal "nor for a test that is not traced" "taken 0 typed 0, status 0" \
	"$(as_nobody --enabled no -- ./typist | xargs)"
check_equal "nor without stdin" "taken 0 typed 0, status 0" "$(as_nobody -- sh -c './typist </dev/null' | xargs)"

# What must stay.
check_equal "the test has its terminal" "yes typed 0, status 5" \
	"$(as_nobody -- sh -c 'stty size >/dev/null && [ -t 0 ] && : </dev/tty && echo yes; exit 5' | xargs)"
check_equal "set-user-id programs may still gain rights" "NoNewPrivs: 0 Seccomp: 2 typed 0, status 0" \
	"$(as_nobody -- grep -E '^(NoNewPrivs|Seccomp):' /proc/self/status | xargs)"
check_equal "its own test may type" "$(on_terminal ./typist | xargs)" \
	"$(on_terminal "$TRACELET" run --quiet --output-dir "$work/own" -- ./typist | xargs)"
check_equal "without a terminal there is no filter" "Seccomp: 0" \
	"$(setsid "$TRACELET" run --quiet --user nobody --output-dir "$out" -- grep ^Seccomp: /proc/self/status </dev/null 2>/dev/null | xargs)"
done_testing
