# The test does not notice that it is traced: its exit status, its streams, its terminal, its
# signals, everything it inherits.
. "$(dirname "$0")/lib.sh"
. "$source/tests/cli/helpers/words.sh"
need_root

# A CI that runs us under nohup leaves signals ignored; here they must kill.
traced() {
	env --default-signal "$TRACELET" run --quiet -- "$@"
}

# ---- exit status ----

for code in 0 1 2 42 125 126 127 128 130 255; do
	check_run "a test's status $code is passed on" "$code" traced sh -c "exit $code"
done
for signal in HUP INT QUIT KILL SEGV PIPE TERM USR1; do
	number=$(kill -l "$signal")
	check_run "killed by SIG$signal: 128 + $number" $((128 + number)) traced sh -c "ulimit -c 0; kill -$signal \$\$"
done
check_run "a command that is not there: 127" 127 traced no-such-command-here
check_lines "one line says so" 1 "$stderr"
check_match "with the command's name" "no-such-command-here.*not found" "$stderr"
check_run "nor with a path: 127" 127 traced ./no/such/file
touch no-program && chmod -x no-program
check_run "a file that is not executable: 126" 126 traced ./no-program
check_lines "one line says so" 1 "$stderr"
check_match "and why" "no-program.*Permission denied" "$stderr"
check_run "a folder: 126" 126 traced ./
check_run "an empty name: 127" 127 traced ""
fresh
run traced no-such-command-here
check_equal "and a test that was not started leaves nothing" "" "$(ls -A tracelet-out 2>/dev/null)"
printf 'exit 6\n' >script && chmod +x script
check_run "a script without a first line runs as in a shell" 6 traced ./script

# ---- streams ----

check_run "streams" 0 "$TRACELET" run --name streams -- sh -c 'echo out; echo err >&2'
check_equal "nothing of ours on stdout" "out" "$(cat "$stdout")"
check_match "the test's stderr is there" '^err$' "$stderr"
check_match "and then our summary" '^tracelet: streams passed' "$stderr"
check_run "--quiet" 0 traced sh -c 'echo out; echo err >&2'
check_equal "leaves stderr to the test as well" "err" "$(cat "$stderr")"
check_equal "stdin is the test's, all of it" "300000 two three" \
	"$( (head -c 300000 /dev/zero; printf 'two\nthree\n') |
		traced sh -c 'head -c 300000 | wc -c; cat' | paste -sd ' ')"
check_equal "what the test did not read is still there for the next one" "two" \
	"$(printf 'one\ntwo\n' >lines; (traced sh -c 'read -r first'; cat) <lines)"
check "1 GB on stdout is byte-identical" cmp <(yes tracelet | head -c 1000000000) \
	<(traced sh -c 'yes tracelet | head -c 1000000000')
check_run "a test that writes to a closed pipe gets its SIGPIPE" 0 \
	bash -c '"$TRACELET" run --quiet -- yes | head -n 1; [ "${PIPESTATUS[0]}" = 141 ]'
mkfifo pipe
"$TRACELET" run --quiet -- sh -c 'exec >&-; read -r wait <pipe' | { cat >/dev/null; echo >ended; } &
check "a pipe ends when the test closes it, not when it ends" wait_until test -e ended
echo >pipe
wait
check_run "a test whose streams are closed" 3 bash -c '
	"$TRACELET" run -- bash -c "for fd in 0 1 2; do [ ! -e /proc/self/fd/\$fd ] || exit 4; done; exit 3" <&- >&- 2>&-'
check "finds them closed, and is traced" ls tracelet-out/bash_*.pb

# ---- what it inherits ----

# surroundings COMMAND...: what a program sees when this command starts it. A traced program has one
# more variable, which leads to the memory for its marks.
surroundings() {
	env -i A=1 'B=two words' "$@" "$helpers/surroundings" 'an argument' '' '*' >"$work_root/surroundings" 2>/dev/null </dev/null
	grep -v '^environment: TRACELET_MARKS=/proc/' "$work_root/surroundings"
}

# check_same DESCRIPTION COMMAND...: the same whether this command starts it or starts tracelet.
check_same() {
	local description=$1
	shift
	surroundings "$@" >"$work_root/without"
	surroundings "$@" "$TRACELET" run --quiet --output-dir "$work_root/same" -- >"$work_root/with"
	check "$description" diff "$work_root/without" "$work_root/with"
}
check_same "environment, arguments, folder, umask, descriptors, signals, limits, group, session: as without"
check_same "also with other limits and niceness" nice -n 3 prlimit --core=0 --stack=4000000 --nofile=512 --fsize=100000000
check_same "in another folder, with another umask and descriptors" \
	bash -c 'cd / && umask 027 && exec 5</dev/null 9>"$0" && exec "$@"' "$work/file"
check_same "with signals ignored and blocked" \
	env --ignore-signal=PIPE --ignore-signal=INT --ignore-signal=CHLD --block-signal=TERM --block-signal=CHLD
setsid -w sh -c 'ps -o pgid=,sid= $$; exec "$@"' sh "$TRACELET" run --quiet -- sh -c 'ps -o pgid=,sid= $$' >ids
check_equal "in a session of its own" 1 "$(sort -u ids | wc -l)"
check_equal "it finds no child that is not its own" "" "$(traced sh -c 'exec cat /proc/self/task/*/children')"

# ---- signals to tracelet ----

# The reporter writes a line to this pipe for each signal.
mkfifo reports
"$TRACELET" run --quiet -- "$helpers/reports" 9 >reports &
tracelet=$!
exec 7<reports
read -r -t 30 line <&7
check_equal "the reporter is ready" ready "$line"
for signal in INT TERM HUP QUIT USR1 USR2 WINCH; do
	kill -s "$signal" "$tracelet"
	read -r -t 30 line <&7
	check_equal "SIG$signal reaches the test" "signal $(kill -l "$signal")" "$line"
done
reporter=$(pgrep -P "$tracelet" -x reports)
state() {
	sed 's/.*) \(.\).*/\1/' "/proc/$1/stat"
}
state_is() {
	[ "$(state "$1")" = "$2" ]
}
kill -s TSTP "$tracelet"
read -r -t 30 line <&7
check_equal "SIGTSTP reaches the test" "signal 20" "$line"
check "which stops" wait_until state_is "$reporter" T
kill -s CONT "$tracelet"
read -r -t 30 line <&7
check_equal "SIGCONT reaches the test, which goes on" "signal 18" "$line"
wait "$tracelet"
check_equal "no signal came twice, and the status is the test's" 49 "$?"
exec 7<&-

"$TRACELET" run --quiet -- sleep 1000 &
tracelet=$!
wait_until pgrep -P "$tracelet" -x sleep
kill -TERM "$tracelet"
wait "$tracelet"
check_equal "a test that SIGTERM ends: 143" 143 "$?"
check "and its trace is there" ls tracelet-out/sleep_*.pb

# ---- a terminal ----

terminal() {
	"$scripts/terminal.py" "$@"
}
need_terminal=$(terminal -- true 2>&1) || skip "a terminal" "$need_terminal"
check_run "the test has the terminal" 0 terminal -- "$TRACELET" run --quiet -- \
	sh -c '[ -t 0 ] && [ -t 1 ] && [ -t 2 ] && : </dev/tty'
check_run "Ctrl-C" 130 terminal expect=ready 'send=\x03' -- env NO_COLOR=1 "$TRACELET" run -- sh -c 'echo ready; exec sleep 1000'
check_match "the summary is not lost" "sh killed by signal 2" "$stdout"
check_run "Ctrl-\\" 131 terminal expect=ready 'send=\x1c' -- "$TRACELET" run --quiet -- \
	sh -c 'ulimit -c 0; echo ready; exec sleep 1000'
check_run "a test that handles Ctrl-C sees it once and goes on" 42 terminal expect=ready 'send=\x03' 'expect=signal 2' \
	'send=\x1c' 'expect=signal 3' -- "$TRACELET" run --quiet -- "$helpers/reports" 2
check_run "what is typed arrives" 0 terminal expect=ready 'send=word\n' 'expect=got word' -- "$TRACELET" run --quiet -- \
	sh -c 'echo ready; read -r line; echo got $line'

shell() { # STEP...: a shell with job control
	terminal 'expect=PROMPT ' "$@" -- env PS1='PROMPT ' NO_COLOR=1 TRACELET="$TRACELET" HELPERS="$helpers" bash --norc --noprofile --noediting -i
}
check_run "Ctrl-Z stops the job, fg continues it" 7 shell \
	'send="$TRACELET" run --quiet -- sh -c '\''echo begun; read -r line; echo got $line; exit 7'\''\n' \
	'expect=\nbegun' 'send=\x1a' 'expect=Stopped' 'expect=PROMPT ' 'send=jobs\n' 'expect=Stopped' 'expect=PROMPT ' \
	'send=fg\n' 'expect=run' 'send=hello\n' 'expect=\ngot hello' 'expect=PROMPT ' 'send=exit $?\n'
check_run "in the background and then with fg it gets the terminal" 8 shell \
	'send="$TRACELET" run --quiet -- sh -c '\''read -r line; echo got $line; exit 8'\'' &\n' \
	'expect=PROMPT ' 'send=fg\n' 'expect=run' 'send=hello\n' 'expect=\ngot hello' 'expect=PROMPT ' 'send=exit $?\n'
check_run "after Ctrl-Z and fg the test sees one SIGCONT, and then Ctrl-C" 43 shell \
	'send="$TRACELET" run --quiet -- "$HELPERS/reports" 3\n' 'expect=\nready' 'send=\x1a' 'expect=signal 20' 'expect=Stopped' \
	'expect=PROMPT ' 'send=fg\n' 'expect=signal 18' 'send=\x03' 'expect=signal 2\r' 'expect=PROMPT ' 'send=exit $?\n'
check_run "a job that is stopped goes on in the background with bg" 9 shell \
	'send="$TRACELET" run --quiet -- sh -c '\''echo begun; read -r line <pipe; echo got $line; exit 9'\''\n' \
	'expect=\nbegun' 'send=\x1a' 'expect=Stopped' 'expect=PROMPT ' 'send=bg\n' 'expect=PROMPT ' 'send=echo hello >pipe\n' \
	'expect=got hello' 'send=wait %%\n' 'expect=PROMPT ' 'send=exit $?\n'

done_testing
