# Sourced by every tests/cli/test_*.sh: a few words to test the program as users
# run it, told in TAP on stdout.
#
#   . "$(dirname "$0")/lib.sh"
#   need_root
#   run "$TRACELET" run --quiet -- false
#   check_equal "the status is the test's" 1 "$status"
#   check "there is one trace" test -e tracelet-out/false_*.pb
#   done_testing
#
# The working directory is an empty one of the test's own ($work), removed at
# the end; `fresh` moves to another. $TRACELET is the program, as an absolute
# path, $source the top of the source tree. A test that does not reach
# done_testing has failed.

set -u
export LC_ALL=C
unset CI # the tests say themselves when they mean to be in one
source=$(cd "$(dirname "${BASH_SOURCE[0]}")/../.." && pwd)
TRACELET=$(realpath -m "${TRACELET:-$source/build/tracelet}")
export TRACELET

checks_done=0
checks_failed=0
reached_end=no
work_root=$(mktemp -d "${TMPDIR:-/tmp}/tracelet-test.XXXXXX")
work_count=0

# ok STATUS DESCRIPTION: one line of TAP.
ok() {
	checks_done=$((checks_done + 1))
	if [ "$1" = 0 ]; then
		echo "ok $checks_done - $2"
	else
		checks_failed=$((checks_failed + 1))
		echo "not ok $checks_done - $2"
	fi
}

# note TEXT...: a remark in the log, however many lines it has.
note() {
	printf '%s\n' "$*" | sed 's/^/# /'
}

# fresh: an empty working directory.
fresh() {
	work_count=$((work_count + 1))
	work=$work_root/$work_count
	mkdir "$work" && cd "$work" || exit 1
}

# run COMMAND...: leaves $status and the files $stdout and $stderr, outside the
# working directory.
run() {
	stdout=$work_root/stdout stderr=$work_root/stderr
	status=0
	"$@" >"$stdout" 2>"$stderr" || status=$?
}

# check DESCRIPTION COMMAND...: the command succeeds.
check() {
	local description=$1 output result=0
	shift
	output=$("$@" 2>&1) || result=$?
	ok "$result" "$description"
	if [ "$result" != 0 ]; then
		note "status $result from: $*"
		[ -z "$output" ] || note "${output:0:4000}"
	fi
}

# check_not DESCRIPTION COMMAND...: the command fails.
check_not() {
	local description=$1
	shift
	if "$@" >/dev/null 2>&1; then
		ok 1 "$description"
		note "status 0 from: $*"
	else
		ok 0 "$description"
	fi
}

# check_equal DESCRIPTION EXPECTED ACTUAL
check_equal() {
	if [ "$2" = "$3" ]; then
		ok 0 "$1"
	else
		ok 1 "$1"
		note "expected: $2"
		note "     got: $3"
	fi
}

# check_run DESCRIPTION STATUS COMMAND...: like `run`, and the status is as expected.
check_run() {
	local description=$1 expected=$2
	shift 2
	run "$@"
	check_equal "$description" "$expected" "$status"
	if [ "$status" != "$expected" ]; then
		note "from: $*"
		note "$(head -c 4000 "$stderr")"
	fi
}

# check_match DESCRIPTION REGEX FILE: a line of the file matches (grep -E).
check_match() {
	if grep -Eq -e "$2" "$3"; then
		ok 0 "$1"
	else
		ok 1 "$1"
		note "no line matches: $2"
		note "$(head -c 4000 "$3" 2>&1)"
	fi
}

# check_lines DESCRIPTION NUMBER FILE: the file has so many lines.
check_lines() {
	local lines
	lines=$(wc -l <"$3")
	check_equal "$1" "$2" "$lines"
	[ "$lines" = "$2" ] || note "$(head -c 4000 "$3")"
}

# skip DESCRIPTION REASON: instead of a check that cannot be made here.
skip() {
	checks_done=$((checks_done + 1))
	echo "ok $checks_done - $1 # SKIP $2"
}

# skip_all REASON: instead of the whole test; before its first check.
skip_all() {
	echo "1..0 # SKIP $1"
	reached_end=skipped
	exit 0
}

need_root() {
	[ "$(id -u)" = 0 ] || skip_all "this needs root"
}

# is_sanitized: this tracelet is slow, large, and wants its library before all others.
is_sanitized() {
	ldd "$TRACELET" | grep -q libasan
}

# need_command COMMAND...: each is installed.
need_command() {
	local command
	for command in "$@"; do
		command -v "$command" >/dev/null || skip_all "there is no $command here"
	done
}

# done_testing: the last line of every test.
done_testing() {
	reached_end=yes
	[ "$checks_failed" = 0 ]
	exit
}

at_end() {
	local status=$? left
	trap - EXIT
	cd /
	left=$(jobs -p)
	# shellcheck disable=SC2086 # one word for each job
	[ -z "$left" ] || kill $left 2>/dev/null
	rm -rf "$work_root"
	case $reached_end in
	skipped)
		exit 0
		;;
	yes)
		echo "1..$checks_done"
		exit "$status"
		;;
	esac
	ok 1 "the test ended before its end, with status $status"
	echo "1..$checks_done"
	exit 1
}
trap at_end EXIT
trap 'exit 129' HUP
trap 'exit 130' INT
trap 'exit 143' TERM

fresh
