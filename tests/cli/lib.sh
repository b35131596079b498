# Sourced by every tests/cli/test_*.sh: functions to test the program as users
# run it. Results are TAP on stdout.
#
#   . "$(dirname "$0")/lib.sh"
#   need_root
#   run "$TRACELET" run --quiet -- false
#   check_equal "the status is the test's" 1 "$status"
#   check "there is one trace" test -e tracelet-out/false_*.pb
#   done_testing
# The working directory is empty and the test's own ($work), removed at
# the end; `fresh` moves to another. $TRACELET is the program, as an absolute
# path, $source the top of the source tree. A test that does not reach
# done_testing has failed.

set -u
export LC_ALL=C
unset CI # tests set it themselves if they need it
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

# note TEXT...: a remark in the log, of any number of lines.
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

# hidden: the kernel did not report a switch of the last recording, so that what a thread did is not known. That is
# its fault, not the program's; the program says so.
hidden() {
	[ "$(jq -s '(last | .gaps // 0) + (map(select(.kind != "case")) | last | .gaps // 0)' tracelet-out/manifest.jsonl)" != 0 ]
}

# explain_whole TEST COMMAND...: run_whole, and the answer of `why` in why.json; again, up to four times, if a wakeup is
# hidden, too (one from an interrupt, while a process ran whose events this kernel does not show): a wait on the path has
# ended, and nothing woke it. Not for tests that end in a wait. Only the last one stays in tracelet-out.
explain_whole() {
	local test=$1 again
	shift
	for again in 1 2 3 4; do
		run_whole "$@"
		"$TRACELET" why --json "$test" >why.json || note "why fails for $test"
		[ "$(jq '[.segments[] | select(.state == "waits" and .waker == null)] | length' why.json)" != 0 ] || break
		note "a wakeup is hidden: $*" >&2
		[ $again = 4 ] || put_back
	done
}

# put_back: tracelet-out is as it was before the last run_whole.
put_back() {
	rm -rf tracelet-out
	[ ! -e "$work_root/before" ] || cp -a "$work_root/before" tracelet-out
}

# run_whole COMMAND...: like `run`, for a recording; again, up to eight times, if a switch of it is hidden. Only the
# last one stays in tracelet-out.
run_whole() {
	local again before=$work_root/before
	rm -rf "$before"
	[ ! -e tracelet-out ] || cp -a tracelet-out "$before"
	for again in 1 2 3 4 5 6 7 8; do
		run "$@"
		hidden && [ $again != 8 ] || break
		note "a switch is hidden, again: $*" >&2
		put_back
	done
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

# check_lines DESCRIPTION NUMBER FILE: the file has this many lines.
check_lines() {
	local lines
	lines=$(wc -l <"$3")
	check_equal "$1" "$2" "$lines"
	[ "$lines" = "$2" ] || note "$(head -c 4000 "$3")"
}

# skip DESCRIPTION REASON: in place of a check that is not possible here.
skip() {
	checks_done=$((checks_done + 1))
	echo "ok $checks_done - $1 # SKIP $2"
}

# skip_all REASON: in place of the whole test; before its first check.
skip_all() {
	echo "1..0 # SKIP $1"
	reached_end=skipped
	exit 0
}

# Where a collector records (test_collector_same.sh), ordinary users can do what else only root can.
need_root() {
	[ "$(id -u)" = 0 ] || [ -n "${TRACELET_THROUGH_COLLECTOR:-}" ] || skip_all "this needs root"
}

# is_sanitized: this tracelet is slow and large, and its library must be loaded before all others.
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

# done_testing: the last line of every test. Whatever the program wrote into manifests has the form that is
# documented.
done_testing() {
	local manifests
	mapfile -d '' manifests < <(find "$work_root" -name manifest.jsonl -type f -size +0 -print0 2>/dev/null)
	[ ${#manifests[@]} = 0 ] || ! command -v python3 >/dev/null ||
		check "the manifests match their schema" python3 "$source/tests/cli/helpers/check_manifests.py" \
			"$source/share/manifest.schema.json" "${manifests[@]}"
	reached_end=yes
	[ "$checks_failed" = 0 ]
	exit
}

at_end() {
	local status=$? left
	trap - EXIT
	[ $BASHPID = $$ ] || exit $status # a child that was killed before its command began
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
