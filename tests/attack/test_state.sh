# The files that list the recording sessions: hostile names of folders, planted files, and a folder that
# another user created first.
. "$(dirname "$0")/lib.sh"
need_bpf
export TRACELET_STATE_DIR=$work/state
tracer() { "$TRACELET" status --json | jq '.[0].pid'; }
is_gone() { ! kill -0 "$1" 2>/dev/null; }

# ---- the name of the folder ends the line ----

mkdir -m 700 treasure
for kind in log socket spool; do
	echo "$kind" >treasure/$kind.spool
done
injected=$(printf 'x\nlog = %s\nsocket = %s\nspool = %s\nnote = ' "$work/treasure/log.spool" \
	"$work/treasure/socket.spool" "$work/treasure/spool.spool")
# In a path every line must be a folder; the attacker has created them all.
mkdir -p "$injected"
check_run "an operation begins there" 0 "$TRACELET" start -q --output-dir "$injected" step
pid=$(tracer)
check_equal "its name is its own" step "$("$TRACELET" status --json | jq -r '.[0].name')"
check_equal "and so is its file" "$work/$injected" "$(dirname "$("$TRACELET" status --json | jq -r '.[0].artifact')")"
kill -KILL "$pid"
wait_until is_gone "$pid"
run "$TRACELET" status
check_equal "its tracer is killed: nothing is recording" 1 "$status"
check_equal "what the lines name is still there" "log.spool socket.spool spool.spool" "$(ls treasure | xargs)"
check "the messages hold nothing hostile" python3 "$source/tests/attack/helpers/hostile.py" check text "$stderr"

# ---- a planted file ----

for kind in log socket spool; do
	echo "$kind" >treasure/$kind.spool
done
"$TRACELET" start -q --output-dir out planted
pid=$(tracer)
sed "s|\"name\":|\"log\":\"$work/treasure/log.spool\",\"socket\":\"$work/treasure/socket.spool\",\"name\":|
	s|\"spool\":\"[^\"]*\"|\"spool\":\"$work/treasure/spool.spool\"|" state/planted.session >changed
mv changed state/planted.session
cp state/planted.session state/elsewhere.session
check_equal "a file under another name does not count" 1 "$("$TRACELET" status --json | jq length)"
kill -KILL "$pid"
wait_until is_gone "$pid"
run "$TRACELET" status
check_equal "what it names is still there" "log.spool socket.spool spool.spool" "$(ls treasure | xargs)"
check_not "its own file is not" test -e state/planted.session

# ---- a planted file that names a real recording of another session ----

"$TRACELET" run -q --keep-spool --output-dir kept --name precious -- true
precious=$(echo kept/precious_*.spool)
planted_again() { # SPOOL TRACE: the state of a killed tracer names these
	"$TRACELET" start -q --output-dir out again
	pid=$(tracer)
	jq -c --arg spool "$1" --arg trace "$2" '.spool = $spool | .artifact = $trace' state/again.session >changed
	chmod 600 changed && mv changed state/again.session
	kill -KILL "$pid"
	wait_until is_gone "$pid"
	run "$TRACELET" status
}
planted_again "$work/$precious" "$work/out/again.pb"
check "another session's spool is still there" test -s "$precious"
check_not "and nothing was made of it" test -e out/again.pb
cp "$precious" again_1.spool
chmod 777 .
planted_again "$work/again_1.spool" "$work/again_1.pb"
check "so is one in a folder that others can write to" test -s again_1.spool
rm -f again_1.pb
chmod 755 .
planted_again "$work/again_1.spool" "$work/again_1.pb"
check "its own is recovered" test -s again_1.pb
check_not "and then deleted" test -e again_1.spool

# ---- names that are not UTF-8 ----

odd=$(printf 'gr\366\337e')
"$TRACELET" start -q --output-dir "$odd" latin
run "$TRACELET" stop latin
check "a folder that is not UTF-8 has the trace" sh -c 'test -s "$1"/latin*.pb' sh "$odd"

# ---- the owner of the folder ----

unset TRACELET_STATE_DIR
was_there=$(test -e /run/tracelet && echo yes)
squatted=/tmp/tracelet-0
[ -e $squatted ] || as_attacker mkdir -m 777 $squatted
check_run "root starts, whatever is in /tmp" 0 env -u XDG_RUNTIME_DIR "$TRACELET" start -q --output-dir out root-step
check_run "and stops" 0 env -u XDG_RUNTIME_DIR "$TRACELET" stop root-step
as_attacker rmdir $squatted 2>/dev/null
check_equal "its folder is root's alone" "root 700" "$(stat -c '%U %a' /run/tracelet)"
rm -f /run/tracelet/root-step.*
[ "$was_there" ] || rmdir /run/tracelet

mkdir -m 700 home && chown "$attacker" home
of_user() { as_attacker env -u XDG_RUNTIME_DIR HOME="$work/home" "$TRACELET" "$@"; }
check_run "a user has his own" 1 of_user status
check_equal "in his home" "$attacker 700" "$(stat -c '%U %a' home/.local/state/tracelet)"
chmod 777 home/.local/state/tracelet
check_run "one that others can write to is refused" 2 of_user status
rmdir home/.local/state/tracelet
mkdir theirs
ln -s "$work/theirs" home/.local/state/tracelet
check_run "and so is a link" 2 of_user status
done_testing
