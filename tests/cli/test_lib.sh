# The functions of lib.sh themselves: failures must show as failures.
. "$(dirname "$0")/lib.sh"

lib=$source/tests/cli/lib.sh

# small BODY: a test with this body, run on its own.
small() {
	printf '. %q\n%s\n' "$lib" "$1" >small.sh
	run bash small.sh
}

small 'check "yes" true; done_testing'
check_equal "a check that succeeds gives status 0" 0 "$status"
check_match "and ok" '^ok 1 - yes$' "$stdout"
check_match "and the plan" '^1\.\.1$' "$stdout"

small 'check "no" sh -c "echo because; exit 3"; check "yes" true; done_testing'
check_equal "one failed check makes the test fail" 1 "$status"
check_match "it shows as not ok" '^not ok 1 - no$' "$stdout"
check_match "with the output of the command" '^# because$' "$stdout"
check_match "and what comes after it still runs" '^ok 2 - yes$' "$stdout"

small 'check_equal "same" a b; check_not "fails" true; check_run "status" 3 true; echo x >f
check_match "found" y f; check_lines "two" 2 f; done_testing'
check_equal "every kind of check can fail" 5 "$(grep -c '^not ok' "$stdout")"

small 'check_equal "same" a a; check_not "fails" false; check_run "status" 3 sh -c "exit 3"; echo x >f
check_match "found" x f; check_lines "one" 1 f; done_testing'
check_equal "and every kind can succeed" 5 "$(grep -c '^ok' "$stdout")"

small 'check "yes" true; exit 0'
check_equal "a test that leaves early has failed" 1 "$status"

small 'check "yes" true; kill -TERM $$; done_testing'
check_equal "so has one that is killed" 1 "$status"

small 'skip "this" "no such thing here"; done_testing'
check_match "a skipped check says why" '^ok 1 - this # SKIP no such thing here$' "$stdout"

small 'skip_all "not here"'
check_equal "a skipped test is no failure" 0 "$status"
check_match "and says why" '^1\.\.0 # SKIP not here$' "$stdout"

small 'pwd; touch file; fresh; pwd; check "empty" test -z "$(ls -A)"; done_testing'
check_match "fresh moves to an empty directory" '^ok 1' "$stdout"
check "nothing of a test stays behind" sh -c '! ls -d $(grep ^/ "$1") 2>/dev/null' sh "$stdout"

done_testing
