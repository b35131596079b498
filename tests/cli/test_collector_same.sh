# Tests that know nothing of the collector give the same results through it: for root, and for an ordinary user,
# who could record little without it. TRACELET_LONG=1 runs more of them.
. "$(dirname "$0")/lib.sh"
. "$source/tests/cli/helpers/words.sh"
. "$source/tests/cli/helpers/collector.sh"
need_bpf
need_command setpriv
is_sanitized && skip_all "another user cannot load a sanitizer's library"
[ "$(uname -m)" = x86_64 ] || skip_all "stacks can be walked only on x86-64"
chmod 755 "$work_root" "$work"
as $first_user test -x "$TRACELET_HELPERS/causes" || skip_all "another user cannot run the helpers"
start_collector
export TRACELET_COLLECTOR_SOCKET TRACELET_THROUGH_COLLECTOR=1
mkdir -m 777 users

of_root="crash cases" of_user="why_causes"
[ -z "${TRACELET_LONG:-}" ] || of_root+=" run_trace why why_causes why_path why_locks mark operations flight" of_user+=" why cases operations"

# through WHO TEST: the test passes, and its sessions were the collector's.
through() {
	local before who=$1 as=()
	[ "$who" = root ] || as=(as $first_user env HOME="$work/users" TMPDIR="$work/users")
	before=$(collector_counter opened)
	"${as[@]}" bash "$source/tests/cli/test_$2.sh" >"$2.tap" 2>&1
	check_equal "$2 passes for $who" 0 $?
	check_not "every check of it" grep -A8 '^not ok' "$2.tap"
	note "$(grep -A8 '^not ok' "$2.tap" | cut -c1-300 | head -40)"
	check_not "and is not skipped" grep '^1\.\.0' "$2.tap"
	check "through the collector" test "$(collector_counter opened)" -gt $((before + 3))
}
for test in $of_root; do
	through root "$test"
done
for test in $of_user; do
	through user "$test"
done
check_equal "nothing was lost" 0 "$(collector_counter lost)"
stop_collector
check_equal "it ends in peace" 0 $?
done_testing
