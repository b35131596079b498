# A process that `heap -p` is to watch has any files that it likes. The tracer, often root, does not read them: a
# process without rights does, and if it fails the tracer says so and ends.
. "$(dirname "$0")/lib.sh"
[ "$(uname -m)" = x86_64 ] || skip_all "stacks can be walked only on x86-64"
need_root
need_command python3
fields() { grep -E "^($1)" "$2" | tr -s '\t ' ' ' | xargs; }

# Reading this program's symbols takes many minutes: there is time to look.
python3 "$source/tests/attack/helpers/slow_elf.py" "$(command -v sleep)" >slow
chmod 755 slow
as_attacker sh -c 'echo $$; exec ./slow 1000' >hostile &
until hostile=$(cat hostile) && [ "$(cat "/proc/$hostile/comm" 2>/dev/null)" = slow ]; do sleep 0.01; done

# attach: returns once a process, $reader, has mapped the hostile file. $tracer is ours.
attach() {
	"$TRACELET" heap -p "$hostile" -o profile.json 2>messages &
	tracer=$!
	reader=
	while [ -z "$reader" ] && kill -0 "$tracer" 2>/dev/null; do
		reader=$(grep -l "$work/slow" /proc/[0-9]*/maps 2>/dev/null | grep -v "/$hostile/" | cut -d/ -f3)
	done
}

attach
check_equal "a process of its own reads the file" "tracelet-reader" "$(tr '\0' ' ' <"/proc/$reader/cmdline" | xargs)"
if [ "$reader" = "$tracer" ]; then
	kill -KILL "$tracer" "$hostile"
	done_testing
fi
check_not "the tracer does not" grep -q "$work/slow" "/proc/$tracer/maps"
check_equal "it is the tracer's child" "$tracer" "$(awk '$1 == "PPid:" { print $2 }' "/proc/$reader/status")"
check_equal "without capabilities, with a filter" "CapPrm: 0000000000000000 CapEff: 0000000000000000 NoNewPrivs: 1 Seccomp: 2" \
	"$(fields 'CapPrm|CapEff|NoNewPrivs|Seccomp:' "/proc/$reader/status")"
check_equal "it is nobody, in no group" "Uid: 65534 65534 65534 65534 Gid: 65534 65534 65534 65534 Groups:" \
	"$(fields 'Uid|Gid|Groups' "/proc/$reader/status")"
kill -SEGV "$reader"
wait "$tracer"
check_equal "it crashes: the tracer ends" 2 $?
check_lines "with one line" 1 messages
# A sanitizer takes the signal and exits.
check_match "which says so" \
	"$hostile: no heap profile: $work/slow: the reader process (died: Segmentation fault|gave up, perhaps for lack of memory)" messages

attach
kill -TERM "$tracer"
wait "$tracer"
check_equal "the tracer can be ended meanwhile" 2 $?
check_match "and says so" "$work/slow: interrupted" messages
check_not "so is the reader" kill -0 "$reader" 2>/dev/null

attach
kill -KILL "$tracer"
while grep -q "$work/slow" "/proc/$reader/maps" 2>/dev/null; do sleep 0.05; done # or the test hangs
check_not "the tracer is killed: the reader ends, too" grep -q "$work/slow" "/proc/$reader/maps"

check_not "nothing was written" test -e profile.json
check "the process goes on" kill -0 "$hostile"
kill "$hostile"
done_testing
