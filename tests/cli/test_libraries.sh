# The session verbs as a C API and as functions for shell scripts.
. "$(dirname "$0")/lib.sh"
need_root

export TRACELET_STATE_DIR=$PWD/state HOME=$PWD
unset TRACELET_ENABLED
tp=$source/tests/perfetto/tp

# ---- C ----

check_run "a program that uses the C API" 0 "$TRACELET_HELPERS/sessions" traces
check_lines "says nothing on stderr" 0 "$stderr"
path=$(tail -n 1 "$stdout")
check_equal "and gets what the header promises" "active before: 0
stop of none: No such file or directory
a bad scope: Invalid argument
no name: Invalid argument
start: ok
active: 1
current: ok
too short: File name too long
stop: ok
same file: 1
active after: 0
start again: ok
stop all: ok" "$(head -n -1 "$stdout")"
check "the trace is good" "$TRACELET" check "$path"
check_equal "and has what the program did" 1 \
	"$("$tp" "$path" "select count(*) from process where cmdline = 'true child-of-the-caller'")"
check_run "without the program" 0 env TRACELET=./no-such-program "$TRACELET_HELPERS/sessions"
check_match "a start says so" '^start: No such file' "$stdout"

# ---- shell ----

cat >script.sh <<'END'
. "$1"
tracelet_active && echo active too early
tracelet_start steps --output-dir steps || exit
tracelet_active steps || echo not active
tracelet_current steps >current
/bin/true a step of the script
tracelet_mark here
"$TRACELET_HELPERS/marker" 1 >/dev/null
tracelet_stop steps >stopped
[ -z "${TRACELET_MARKS+set}" ] || echo marks left
tracelet_active && echo active too late
true
END
for shell in dash bash busybox; do
	command -v $shell >/dev/null || continue
	[ $shell = busybox ] && shell='busybox sh'
	rm -rf steps
	# shellcheck disable=SC2086 # two words
	check_run "a script of $shell" 0 $shell script.sh "$source/share/tracelet.sh"
	check_lines "has no complaint" 0 "$stdout"
	check_equal "and one trace" "$(cat current)" "$(cut -d ' ' -f 1 stopped)"
	check_equal "of what it did" 1 \
		"$("$tp" "$(cat current)" "select count(*) from process where cmdline = '/bin/true a step of the script'")"
	check_equal "with its mark, and those of a program of its" "here begins ends" \
		"$("$tp" "$(cat current)" "select group_concat(name, ' ') from (select name from slice
			where category = 'mark' and name in ('here', 'begins', 'ends') order by ts)")"
done
rm -rf steps
for words in TRACELET=no-such-program TRACELET_ENABLED=false; do
	check_run "$words: the script works as well" 0 env $words sh -c '. "$1"; tracelet_start a && tracelet_mark b && tracelet_stop a && tracelet_stop_all' \
		sh "$source/share/tracelet.sh"
	check_lines "and is silent" 0 "$stderr"
done
check_not "nothing was recorded" test -e tracelet-out

done_testing
