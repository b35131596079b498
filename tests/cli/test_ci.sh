# What CI systems get to see about artifacts, and what they do not.
. "$(dirname "$0")/lib.sh"
need_root

unset CI GITHUB_ACTIONS GITHUB_STEP_SUMMARY GITLAB_CI CI_PROJECT_DIR TF_BUILD JENKINS_URL NEXTEST_EXECUTION_MODE

# ---- lines on standard output ----

check_run "without a CI" 0 "$TRACELET" run --quiet -- echo hello
check_equal "the test's output is its own" hello "$(cat "$stdout")"
check_run "in a CI too" 0 env CI=true JENKINS_URL=http://x GITLAB_CI=true TF_BUILD=True GITHUB_ACTIONS=true \
	"$TRACELET" run --quiet -- echo hello
check_equal "the test's output is its own" hello "$(cat "$stdout")"

check_run "--attachments yes" 3 "$TRACELET" run --quiet --name asked --attachments yes -- sh -c 'printf hello; exit 3'
check_match "does not touch what the test printed" '^hello$' "$stdout"
line=$(grep ATTACHMENT "$stdout")
check_equal "one line" "[[ATTACHMENT|$(echo "$PWD"/tracelet-out/asked_*.pb)]]" "$line"
check_equal "the last one" "$line" "$(tail -n 1 "$stdout")"
check_run "as a variable" 0 env TRACELET_ATTACHMENTS=yes "$TRACELET" run --quiet -- true
check_match "it is the same" '^\[\[ATTACHMENT\|/.*/true_.*\.pb\]\]$' "$stdout"
check_run "a spool that is kept" 0 "$TRACELET" run --quiet --keep-spool --attachments yes -- true
check_equal "is one too" 2 "$(grep -c ATTACHMENT "$stdout")"

check_run "where a runner makes JUnit of what tests print" 0 env NEXTEST_EXECUTION_MODE=process-per-test \
	JENKINS_URL=http://x "$TRACELET" run --quiet -- true
check_match "and the CI reads that, auto is yes" '^\[\[ATTACHMENT\|/' "$stdout"
check_run "without such a CI" 0 env NEXTEST_EXECUTION_MODE=process-per-test "$TRACELET" run --quiet -- true
check_lines "it is no" 0 "$stdout"
check_run "no is no" 0 env NEXTEST_EXECUTION_MODE=process-per-test JENKINS_URL=http://x TF_BUILD=True \
	GITHUB_STEP_SUMMARY="$PWD/none" "$TRACELET" run --quiet --attachments no -- true
check_lines "nothing on stdout" 0 "$stdout"
check_lines "nothing on stderr" 0 "$stderr"
check_not "no summary" test -e none

check_run "on GitLab" 0 env GITLAB_CI=true CI_PROJECT_DIR="$work_root" "$TRACELET" run --quiet --name lab \
	--attachments yes -- true
check_match "paths begin at the project" "^\[\[ATTACHMENT\|$(basename "$work")/tracelet-out/lab_.*\.pb\]\]$" "$stdout"
check_run "not if they are elsewhere" 0 env GITLAB_CI=true CI_PROJECT_DIR=/no/such "$TRACELET" run --quiet --name lab \
	--attachments yes -- true
check_match "then they are absolute" "^\[\[ATTACHMENT\|/" "$stdout"

# Reading the test's output to its end does not wait for any other process.
check_run "a pipe is closed when everything is written" 0 timeout 60 sh -c '"$0" run --quiet --attachments yes -- true | cat' "$TRACELET"
check_match "with the line in it" ATTACHMENT "$stdout"

# ---- GitHub ----

fresh
export GITHUB_STEP_SUMMARY=$PWD/summary.md
echo "# Ours" >summary.md
"$TRACELET" run --quiet --name 'a|b' -- true 2>err
"$TRACELET" run --quiet --name second -- sh -c 'exit 3' 2>>err
echo "other text" >>summary.md
"$TRACELET" run --quiet --name third -- true 2>>err
check_lines "a summary is silent" 0 err
check_match "what was there stays" '^# Ours$' summary.md
check_equal "one head for rows that follow each other" 2 "$(grep -c '^| test | result |' summary.md)"
check_match "a row shows what passed" '^\| a\\_b \| :white_check_mark: passed \| [0-9.]+ s \| .*a\\_b\\_.*\.pb \([0-9.]+ kB\) \|' summary.md
check_match "and what failed" '^\| second \| :x: failed: exit status 3<br>For .* \|' summary.md
rm summary.md
for i in 1 2 3 4 5 6; do
	"$TRACELET" run --quiet --name "at-once-$i" -- true &
done
wait
check_equal "six at the same time have one head" 1 "$(grep -c '^| test ' summary.md)"
check_equal "and six rows" 6 "$(grep -c '^| at-once-[1-6] .*|<!-- tracelet -->$' summary.md)"
head -c 1048500 /dev/zero | tr '\0' x >summary.md
"$TRACELET" run --quiet -- true
check_equal "a summary does not grow beyond what GitHub takes" 1048500 "$(wc -c <summary.md)"
check_run "one that cannot be written" 0 env GITHUB_STEP_SUMMARY=/no/such/file "$TRACELET" run --quiet -- true
check_match "is a warning" 'warning: GITHUB_STEP_SUMMARY: /no/such/file: cannot be written' "$stderr"
unset GITHUB_STEP_SUMMARY

# ---- Azure ----

check_run "Azure" 0 env TF_BUILD=True "$TRACELET" run --quiet --keep always --name blue -- true
check_match "gets the command to upload" '^##vso\[artifact\.upload containerfolder=tracelet;artifactname=tracelet\]/.*/blue_.*\.pb$' "$stderr"
check_lines "not in the test's output" 0 "$stdout"
check_not "a test that passed has no summary" test -e tracelet-out/tracelet-summary.md
check_run "a test that failed" 3 env TF_BUILD=True "$TRACELET" run --quiet --name red -- sh -c 'sleep 0.1; exit 3'
check_match "has one" '^##vso\[task\.uploadsummary\]/.*/tracelet-out/tracelet-summary\.md$' "$stderr"
check_match "that says why" '^\| red \| :x: failed: exit status 3<br>For .* \|' tracelet-out/tracelet-summary.md

# ---- GitLab ----

check_run "GitLab" 3 env GITLAB_CI=true "$TRACELET" run --quiet --name red -- sh -c 'sleep 0.1; exit 3'
check_match "has a section about a test that failed" 'section_start:[0-9]+:tracelet_why.*why: red$' "$stderr"
check_match "that says why" '^For [0-9.]+ m?s \([0-9]+ %\), ' "$stderr"
check_run "and none about one" 0 env GITLAB_CI=true "$TRACELET" run --quiet --name green -- true
check_lines "that passed" 0 "$stderr"

# ---- run-test ----

fresh
printf '#!/bin/sh\necho "$@"\nexit 5\n' >unit_tests.sh
chmod +x unit_tests.sh
check_run "run-test exits as the test" 5 "$TRACELET" run-test results 0 ./unit_tests.sh -d yes
check_equal "which has its arguments" "-d yes" "$(cat "$stdout")"
check_not "and no trace unless asked" test -e results
check_run "with --trace" 5 "$TRACELET" run-test --trace results 0 ./unit_tests.sh
check "there is one, named without the extension" test -n "$(ls results/unit_tests_2*.pb)"
check_run "elsewhere, if wanted" 5 "$TRACELET" run-test --trace --trace-dir other --quiet results 0 ./unit_tests.sh
check "there it is" test -n "$(ls other/unit_tests_2*.pb)"
if "$TRACELET" run --help | grep -q -e --timeout; then
	check_run "a test that takes too long is ended" 124 timeout 60 "$TRACELET" run-test --trace results 1 sleep 1000
	check_run "also when it is not traced" 124 timeout 60 "$TRACELET" run-test results 1 sleep 1000
else
	skip "a test that takes too long is ended" "there is no time limit yet"
fi
check_run "two words are too few" 2 "$TRACELET" run-test results 5
check_run "a limit is a number" 2 "$TRACELET" run-test results soon true
check_lines "as one line says" 1 "$stderr"
check_match "in words" "'soon' is not a time limit" "$stderr"

check_run "TRACELET_ENABLED=1 traces" 5 env TRACELET_ENABLED=1 "$TRACELET" run-test by-variable 0 ./unit_tests.sh
check "without --trace" test -n "$(ls by-variable/unit_tests_2*.pb)"
check_run "TRACELET_ENABLED=0 does not" 5 env TRACELET_ENABLED=0 "$TRACELET" run-test --trace not-by-variable 0 ./unit_tests.sh
check_not "even with --trace" test -e not-by-variable

# ---- the named form ----

named() { # DESCRIPTION OUTPUT WORDS...
	local description=$1 expected=$2
	shift 2
	check_run "$description" 5 "$TRACELET" run-test "$@"
	check_equal "$description: the arguments" "$expected" "$(cat "$stdout")"
}
named "named parameters" "-d yes" -OutputFolder named -Timeout 60 -TestCommand ./unit_tests.sh -TestArguments -d yes
check_not "trace nothing unless asked" test -e named
named "in any order, with -EnableTracing" "-d yes" -EnableTracing -TestCommand ./unit_tests.sh -TestArguments -d yes \
	-Timeout 60 -OutputFolder named
check "there is a trace" test -n "$(ls named/unit_tests_2*.pb)"
named "-TraceOutputDirectory and -TracingType" "a" -OutputFolder unused -Timeout 0 -TestCommand ./unit_tests.sh -EnableTracing \
	-TraceOutputDirectory traces -TracingType memory -TestArguments a
check "the trace is there" test -n "$(ls traces/unit_tests_2*.pb)"
check_not "and not in the other folder" test -e unused
named "capitals do not matter, nor a colon" "a b" -outputfolder named2 -TIMEOUT:60 -testcommand ./unit_tests.sh \
	-enabletracing:true -testarguments a b
check "it is traced" test -n "$(ls named2/unit_tests_2*.pb)"
named "a switch that is false" "" -OutputFolder named3 -Timeout 60 -TestCommand ./unit_tests.sh '-EnableTracing:$false'
check_not "traces nothing" test -e named3
named "one word with several arguments" "-d yes" -OutputFolder named -Timeout 60 -TestCommand ./unit_tests.sh -TestArguments "-d yes"
named "other options" "x" -OutputFolder named4 -Timeout 60 -EnableTracing --name=other -TestCommand ./unit_tests.sh -TestArguments x
check "are run's" test -n "$(ls named4/other_2*.pb)"
named "in the positional form they are the test's" "-Timeout 3" results 60 ./unit_tests.sh -Timeout 3
check_run "a parameter that is missing" 2 "$TRACELET" run-test -OutputFolder named -Timeout 60
check_match "is named" "run-test: -TestCommand is missing" "$stderr"
check_run "a parameter without its value" 2 "$TRACELET" run-test -OutputFolder named -TestCommand true -Timeout
check_match "is named, too" "run-test: -Timeout needs a value" "$stderr"
check_run "a type that there is not" 2 "$TRACELET" run-test -OutputFolder o -Timeout 1 -TestCommand true -EnableTracing -TracingType tape
check_lines "is one line" 1 "$stderr"

done_testing
