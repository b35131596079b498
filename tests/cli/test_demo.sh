# demo/run, which `make run` calls: its table and its exit status.
. "$(dirname "$0")/lib.sh"

check_run "exactly the failing test fails" 0 "$source/demo/run" out
for test in forks sleeps contends reads; do
	check_match "$test passed" "^$test +passed" "$stdout"
done
check_match "fails failed" "^fails +failed, as intended" "$stdout"
check_match "its own line says how" "^not ok - order 3 took [0-9]+ ms" "$stdout"

# Stand-ins for the demo tests, which all do the same.
mkdir good bad
for test in forks sleeps contends reads fails; do
	ln -s "$(type -P true)" "good/$test"
	ln -s "$(type -P false)" "bad/$test"
done
check_run "a failing test that passes is a failure" 1 env TRACELET_DEMO="$work/good" "$source/demo/run" out
check_match "and named" "^fails +unexpected status 0" "$stdout"
check_run "so is one that fails and should not" 1 env TRACELET_DEMO="$work/bad" "$source/demo/run" out
check_match "named as well" "^reads +unexpected status 1" "$stdout"

done_testing
