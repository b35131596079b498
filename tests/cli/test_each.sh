# `tracelet each`: the cases of real test programs, each traced under its own name.
. "$(dirname "$0")/lib.sh"
need_root

samples=$source/tests/cli/each
unset CI GITHUB_ACTIONS GITHUB_STEP_SUMMARY GITLAB_CI TF_BUILD JENKINS_URL

# ---- the samples, built in parallel ----

build=$work_root/samples
mkdir "$build"
make_sample() { # NAME COMMAND...
	local name=$1
	shift
	"$@" -o "$build/$name" >"$build/$name.log" 2>&1 || rm -f "$build/$name"
}
compiler=$(type -P g++ || type -P clang++ || echo false)
make_sample gtest "$compiler" "$samples/gtest.cc" -lgtest -lgtest_main &
make_sample catch2 "$compiler" "$samples/catch2.cc" -lCatch2WithMain &
make_sample doctest "$compiler" "$samples/doctest.cc" &
make_sample cpputest "$compiler" "$samples/cpputest.cc" -lCppUTest &
make_sample cmocka cc "$samples/cmocka.c" -lcmocka &
make_sample libtest rustc --test "$samples/libtest.rs" &
wait

# have NAME: whether that sample exists; skips if not.
have() {
	[ -x "$build/$1" ] && return
	skip "$1" "its sample cannot be compiled here"
	return 1
}

# result CASE: its result in the table.
result() {
	grep -F -- "$1  " "$stdout" | grep -E ' [0-9]+\.[0-9]{3} s  ' | sed -E 's/ +[0-9]+\.[0-9]+ s  .*//; s/.*  //'
}

# traces PATTERN: the number of traces with such names.
traces() {
	find tracelet-out -name "$1" | wc -l
}

# ---- one framework after the other ----

if have gtest; then
	check_run "gtest: the status is GoogleTest's" 1 "$TRACELET" each --junit out.xml -- "$build/gtest"
	check_equal "a case that passes" passed "$(result Parser.Deep)"
	check_equal "one that fails" "failed: exit status 1" "$(result Parser.Wide)"
	check_equal "one that is skipped" skipped "$(result Parser.Skips)"
	check_equal "one that is disabled" disabled "$(result Parser.DISABLED_Later)"
	check_equal "one that crashes" "killed by signal 6 (Aborted)" "$(result Crash.Aborts | sed 's/, core dumped//')"
	check_equal "a parameter" passed "$(result All/Sizes.Fit/1)"
	check_match "the sum" '^7 cases: 3 passed, 2 failed, 2 skipped; ' "$stdout"
	check_match "what a bad case prints is shown" '^what a bad case prints$' "$stdout"
	check_not "what a good one prints is not" grep -q 'what a good case prints' "$stdout"
	check_lines "nothing on stderr" 0 "$stderr"
	check_equal "a trace for each that was run" 6 "$(traces '*.pb')"
	check_equal "under its name" 1 "$(traces 'Parser.Wide_2*.pb')"
	check_equal "made safe" 1 "$(traces 'All_Sizes.Fit_1_2*.pb')"
	check "all are good" "$TRACELET" check -q tracelet-out/*.pb
	check_equal "the manifest has them all" 6 "$(wc -l <tracelet-out/manifest.jsonl)"
	check_equal "in one run, each with its own id" "1 6" \
		"$(jq -rs '"\(map(.run) | unique | length) \(map(.session) | unique | length)"' tracelet-out/manifest.jsonl)"
	check_equal "its command is the case's" "--gtest_filter=Parser.Wide" \
		"$(jq -r 'select(.test == "Parser.Wide").command[1]' tracelet-out/manifest.jsonl)"
	times=$(grep -E ' (passed|skipped|disabled) ' "$stdout" | sed -nE 's/.* ([0-9]+\.[0-9]{3}) s  .*/\1/p')
	check_equal "behind the failures the slowest is first" "$(sort -rn <<<"$times")" "$times"

	cat >look.py <<-'END'
		import os, sys, xml.etree.ElementTree as xml
		suite = xml.parse(sys.argv[1]).getroot().find("testsuite")
		cases = {(c.get("classname"), c.get("name")): c for c in suite}
		print(suite.get("tests"), suite.get("failures"), suite.get("skipped"), len(cases))
		bad = cases["Parser", "Wide"]
		print(bad.find("failure").get("message"), "what a bad case prints" in bad.find("failure").text)
		print(cases["Parser", "DISABLED_Later"].find("skipped") is not None)
		path = bad.find("system-out").text.strip()
		print(path.startswith("[[ATTACHMENT|/") and os.path.exists(path[13:-2]))
	END
	check_equal "JUnit has it all" "7 2 2 7|failed: exit status 1 True|True|True" \
		"$(python3 look.py out.xml | paste -sd '|')"

	fresh
	check_run "only what is asked for" 0 "$TRACELET" each --filter '^Parser\.(Deep|Skips)$' -- "$build/gtest"
	check_match "two of them" '^2 cases: 1 passed, 0 failed, 1 skipped' "$stdout"
	check_run "a list" 0 "$TRACELET" each --list --filter Parser -- "$build/gtest"
	check_equal "of names" "Parser.Deep Parser.Wide Parser.Skips Parser.DISABLED_Later " "$(tr '\n' ' ' <"$stdout")"
	check_run "with -j 1 --verbose all is shown" 0 "$TRACELET" each -j1 --verbose --filter Deep -- "$build/gtest"
	check_match "also what a good case prints" '^what a good case prints$' "$stdout"
	check_run "options of run are passed on" 0 "$TRACELET" each --output-dir there --keep-spool --name ours \
		--filter Deep -- "$build/gtest"
	check "the folder, the spool and the name" test -e there/ours__Parser.Deep_*.spool
	check_run "--quiet leaves the table out" 0 "$TRACELET" each --quiet --filter Deep -- "$build/gtest"
	check_lines "all of it" 0 "$stdout"
	check_run "--enabled no is the program and nothing else" 1 "$TRACELET" each --enabled no -- "$build/gtest" \
		--gtest_filter=Parser.Wide
	check_match "with its own output" '^\[  FAILED  \] Parser.Wide' "$stdout"

	fresh
	GITHUB_STEP_SUMMARY=$PWD/summary check_run "in GitHub's CI" 1 env GITHUB_ACTIONS=true TF_BUILD=True \
		"$TRACELET" each --attachments auto --keep always --filter Parser -- "$build/gtest"
	check_match "what fails is folded" '^::group::--- Parser.Wide failed: exit status 1 ---$' "$stdout"
	check_match "and in Azure's artifacts are uploaded" '^##vso\[artifact.upload .*\]/.*Parser.Deep_.*\.pb$' "$stdout"
	check_run "no lines for others" 0 "$TRACELET" each --attachments no --filter Deep -- "$build/gtest"
	check_not "at all" grep -q ATTACHMENT "$stdout"
fi

fresh
if have catch2; then
	check_run "catch2: the status is the number of failed checks" 2 "$TRACELET" each -- "$build/catch2"
	check_equal "a name with commas and brackets" passed "$(result 'adds, and [more]')"
	check_equal "with a backslash" "failed: exit status 2" "$(result 'fails \ twice')"
	check_equal "with quotes and a tilde" passed "$(result '~not "this"')"
	check_match "hidden ones are left out" '^4 cases: 3 passed, 1 failed, 0 skipped' "$stdout"
fi

fresh
if have doctest; then
	check_run "doctest: the status is doctest's" 1 "$TRACELET" each -- "$build/doctest"
	check_equal "a name with a comma" passed "$(result 'adds, and more')"
	check_equal "with an asterisk" "failed: exit status 1" "$(result 'fails * here')"
	check_match "capitals are distinguished" '^3 cases: 2 passed, 1 failed, 0 skipped' "$stdout"
fi

fresh
if have cpputest; then
	check_run "cpputest: the status is the number of failed cases" 2 "$TRACELET" each -- "$build/cpputest"
	check_equal "a case whose name begins another's" passed "$(result Parser.Deep)"
	check_equal "and the other" passed "$(result Parser.DeepAndWide)"
	check_equal "one that fails" "failed: exit status 1" "$(result Parser.Wide)"
	check_equal "one that is ignored" skipped "$(result Parser.Later)"
	check_equal "one that crashes" "killed by signal 6 (Aborted)" "$(result Crash.Aborts | sed 's/, core dumped//')"
	check_match "the sum" '^5 cases: 2 passed, 2 failed, 1 skipped; ' "$stdout"
	check_equal "each ran alone" "-sg Parser -sn Deep" \
		"$(jq -r 'select(.test == "Parser.Deep").command[1:] | join(" ")' tracelet-out/manifest.jsonl)"
fi

fresh
if have cmocka; then
	check_run "cmocka: the status is the number of failed cases" 1 "$TRACELET" each -- "$build/cmocka"
	check_equal "a case that passes" passed "$(result adds)"
	check_equal "one that fails" "failed: exit status 1" "$(result fails)"
	check_equal "one that is skipped" skipped "$(result skips)"
	check_not "another group is not set up" grep -q 'second group' "$stdout"
	check_equal "three traces" 3 "$(traces '*.pb')"
fi

fresh
if have libtest; then
	check_run "libtest: the status is Rust's" 101 "$TRACELET" each -- "$build/libtest"
	check_equal "a case that passes" passed "$(result parser::deep)"
	check_equal "one that fails" "failed: exit status 101" "$(result parser::wide)"
	check_equal "one that is ignored" disabled "$(result parser::later)"
	check_equal "named as ever" 1 "$(traces 'parser__deep_2*.pb')"
	check_run "its own filter works too" 0 "$TRACELET" each -- "$build/libtest" deep
	check_match "with one case" '^1 case: 1 passed' "$stdout"
	check_run "no case is no failure" 0 "$TRACELET" each -- "$build/libtest" no-such-case
fi

fresh
pytest=$(type -P pytest || type -P pytest-3)
if [ -n "$pytest" ]; then
	mkdir tests
	cp "$samples/test_sample.py" tests
	check_run "pytest: the status is pytest's" 1 "$TRACELET" each -- "$pytest" -p no:cacheprovider -v tests
	check_equal "a case that passes" passed "$(result tests/test_sample.py::TestGroup::test_in)"
	check_equal "one that fails" "failed: exit status 1" "$(result 'tests/test_sample.py::test_size[1]')"
	check_equal "a parameter of any kind" passed "$(result 'tests/test_sample.py::test_size[a/b::c d]')"
	check_equal "one that is skipped" skipped "$(result tests/test_sample.py::TestGroup::test_skipped)"
	check_match "five in all" '^5 cases: 3 passed, 1 failed, 1 skipped' "$stdout"
	touch pytest.ini
	cd tests || exit
	check_run "from a folder below the root, as a module" 0 "$TRACELET" each --filter one -- \
		"$(head -1 "$pytest" | cut -c 3-)" -m pytest -p no:cacheprovider test_sample.py
	check_match "it is found" '^1 case: 1 passed' "$stdout"
	cd .. || exit
else
	skip pytest "there is no pytest here"
fi

fresh
if type -P ctest >/dev/null; then
	mkdir build
	cat >build/CTestTestfile.cmake <<-'END'
		add_test(good "sh" "-c" "mkdir beside && rmdir beside")
		add_test("bad (one)" "sh" "-c" "echo failing; exit 3")
		add_test(off "false")
		set_tests_properties(off PROPERTIES DISABLED TRUE)
		add_test(alone "sh" "-c" "mkdir beside && rmdir beside")
		set_tests_properties(alone PROPERTIES RUN_SERIAL TRUE)
		add_test(skips "sh" "-c" "exit 77")
		set_tests_properties(skips PROPERTIES SKIP_RETURN_CODE 77)
	END
	check_run "ctest: the status is ctest's" 8 "$TRACELET" each -- ctest --test-dir build
	check_equal "a case that passes" passed "$(result good)"
	check_equal "one that fails" "failed: exit status 8" "$(result 'bad (one)')"
	check_equal "one that is disabled" disabled "$(result off)"
	check_equal "one that is skipped" skipped "$(result skips)"
	check_match "what it printed" '^failing$' "$stdout"
else
	skip ctest "there is no ctest here"
fi

fresh
cat >meson.build <<-'END'
	project('sample')
	sh = find_program('sh')
	test('good', sh, args: ['-c', 'test "$WHAT" = "a b"'], env: {'WHAT': 'a b'}, workdir: '/')
	test('bad one', sh, args: ['-c', 'echo failing; exit 3'], suite: 'slow')
	test('meant', sh, args: ['-c', 'exit 1'], should_fail: true, is_parallel: false)
	test('tap', sh, args: ['-c', 'printf "1..1\nnot ok 1 - b\n"'], protocol: 'tap')
END
if meson setup build >/dev/null 2>&1; then
	check_run "meson: the status is the number of failed tests" 2 "$TRACELET" each -- meson test -C build
	check_equal "a test that passes, in its folder and environment" passed "$(result good)"
	check_equal "one that fails" "failed: exit status 3" "$(result 'bad one')"
	check_equal "one that is meant to" passed "$(result meant)"
	check_equal "one that says so only in TAP" failed "$(result tap)"
	check_equal "the traces are here" 4 "$(traces '*.pb')"
	check_equal "and only of the test, not of meson" sh \
		"$(jq -r 'select(.test == "good").command[0] | split("/")[-1]' tracelet-out/manifest.jsonl)"
	check_run "of a suite, by name" 1 "$TRACELET" each -- meson test -C build --suite slow 'bad one'
	check_match "only that" '^1 case: 0 passed, 1 failed' "$stdout"
else
	skip meson "meson does not work here"
fi

# ---- programs that report little ----

fresh
cat >tap <<-'END'
	#!/bin/sh
	# A program that prints TAP and has a filter.
	run() {
		[ -z "$filter" ] || [ "$filter" = "$2" ] || return 0
		[ "$1" = ok ] || status=1
		echo "$1 1 - $2"
	}
	filter=$2 status=0
	run ok "first one"
	run "not ok" second
	exit $status
END
chmod +x tap
check_run "tap needs to know how" 2 "$TRACELET" each --framework tap -- ./tap
check_lines "in one line" 1 "$stderr"
check_run "tap, with a filter" 1 "$TRACELET" each --framework tap --select '-t {}' -- ./tap
check_equal "a case that passes" passed "$(result 'first one')"
check_equal "one that fails" "failed: exit status 1" "$(result second)"

cat >go <<-'END'
	#!/bin/sh
	# Behaves like a Go test program.
	case "$*" in
	"-test.list .") printf 'TestGood\nBenchmarkSlow\nExampleThing\n' ;;
	"-test.v -test.run ^TestGood\$") echo "--- PASS: TestGood (0.00s)" ;;
	"-test.v -test.run ^ExampleThing\$") echo "--- SKIP: ExampleThing (0.00s)" ;;
	*) exit 2 ;;
	esac
END
chmod +x go
check_run "go" 0 "$TRACELET" each --framework go -- ./go
check_match "tests and examples" '^2 cases: 1 passed, 0 failed, 1 skipped' "$stdout"

printf '#!/bin/sh\n[ "$1" != --list-tests ] || { echo off; exit; }\necho "test cases: 1 | 1 skipped"; exit 4\n' >catch
chmod +x catch
check_run "a case that Catch2 3 skips has not failed" 0 "$TRACELET" each --framework catch2-3 -- ./catch
check_equal "it is skipped" skipped "$(result off)"

printf '#!/bin/sh\necho all of it "$@"\nexit 7\n' >plain
chmod +x plain
check_run "a program of no known kind is run whole" 7 "$TRACELET" each -- ./plain --list
check_equal "as it is" "all of it --list" "$(cat "$stdout")"
check_match "and one line says so" '^tracelet: warning: ./plain: unknown test framework; running it as a whole' "$stderr"
check_equal "one trace" 1 "$(traces 'plain_2*.pb')"
check_run "so it is with JUnit" 7 "$TRACELET" each --junit whole.xml -- ./plain
check_match "as one case" '<testcase classname="plain" name="plain"' whole.xml
check_run "one that does not list as it should too" 7 "$TRACELET" each --framework ctest -- ./plain
check_match "it says why" 'cannot list its cases with ctest' "$stderr"
check_run "one that is not there" 127 "$TRACELET" each -- ./no-such-program

printf '#!/bin/sh\necho "running 0 tests"; [ "$*" != "--list --format terse" ] || echo "gone: test"\n' >forgetful
chmod +x forgetful
check_run "a case that is not found has not passed" 101 "$TRACELET" each --framework libtest -- ./forgetful
check_equal "and is reported" "not found by its own name" "$(result gone)"

# The progress is shown only on a terminal.
printf '#!/bin/sh\n[ "$*" != "--list --format terse" ] || echo "slow one: test"\n[ "$1" != --exact ] || sleep 0.5\necho "test result: ok. 1 passed"\n' >slow
chmod +x slow
check_run "on a terminal" 0 script -qec "'$TRACELET' each --framework libtest -- ./slow" /dev/null
check_match "there is a line of progress" '0 of 1, 0 failed; running 1: slow one' "$stdout"
check_run "without a reader of the table" 0 bash -c '"$0" each --framework libtest -- ./slow | true; exit ${PIPESTATUS[0]}' \
	"$TRACELET"

# ---- several programs, one folder of results ----

fresh
mkdir one two
for folder in one two; do
	printf '#!/bin/sh\n[ "$*" != "-test.list ." ] || { echo TestA; exit; }\necho "--- PASS: TestA (0.00s)"\n' >$folder/pkg.test
	chmod +x $folder/pkg.test
	"$TRACELET" each --quiet --framework go --junit results/ -- $folder/pkg.test &
done
wait
check_equal "--junit with a folder: programs of one name have a file each" 2 "$(find results -name 'pkg.test_*.xml' | wc -l)"
check_equal "with their results" 2 "$(grep -l 'tests="1" failures="0"' results/*.xml | wc -l)"
check_run "a folder that exists needs no slash" 0 "$TRACELET" each --quiet --framework go --junit results -- one/pkg.test
check_equal "it has one more" 3 "$(find results -name '*.xml' | wc -l)"

# ---- bad options ----

printf '#!/bin/sh\necho "ok 1 - first one"\n' >tap
chmod +x tap
bad() { # WHAT PATTERN OPTIONS...
	what=$1 pattern=$2
	shift 2
	check_run "$what is refused" 2 "$TRACELET" each "$@" -- ./tap
	check_lines "in one line" 1 "$stderr"
	check_match "that says why" "$pattern" "$stderr"
}
bad "no number" "jobs: 'many' is not a number from 1 to" -j many
bad "none" "jobs: '0' is not a number" --jobs 0
bad "an unknown framework" "unknown framework 'junit5'; known: pytest ctest" --framework junit5
bad "a file that cannot be written" "junit: cannot write /no/such/out.xml" --framework tap --select '-t {}' --junit /no/such/out.xml
bad "a regular expression that is none" "filter: '\('" --framework tap --select '-t {}' --filter '('
bad "a filter that nothing fits" "no case has 'zzz'" --framework tap --select '-t {}' --filter zzz

# ---- several in parallel, and stopping them ----

fresh
mkdir temporary
export TMPDIR=$work/temporary
cat >cases <<-'END'
	#!/bin/bash
	# Cases that wait for each other; --framework libtest.
	case "$*" in
	"--list --format terse") printf '%s: test\n' left right sleeps stubborn never ;;
	--list*) ;;
	"--exact left") touch left; until [ -e right ]; do sleep 0.01; done ;;
	"--exact right") touch right; until [ -e left ]; do sleep 0.01; done ;;
	"--exact sleeps") touch sleeps; exec sleep 1000 ;;
	"--exact stubborn") trap '' INT TERM; touch stubborn; while :; do sleep 0.1; done ;;
	*) touch never ;;
	esac
	echo "test result: ok. 1 passed"
END
chmod +x cases
# until_there FILE: waits for it.
until_there() {
	for ((tries = 0; tries < 2000; tries++)); do
		[ ! -e "$1" ] || return 0
		sleep 0.01
	done
	return 1
}
check_run "two at the same time can wait for each other" 0 timeout 60 \
	"$TRACELET" each -j2 --framework libtest --filter 'left|right' -- ./cases

"$TRACELET" each -j1 --framework libtest --filter 'sleeps|never' --junit stopped.xml -- ./cases >stopped 2>&1 &
check "a case that sleeps" until_there sleeps
kill -TERM $!
status=0
wait $! || status=$?
check_equal "is ended with all by SIGTERM" 143 "$status"
stdout=stopped
check_equal "the table says so" interrupted "$(result sleeps)"
check_equal "of others too" "not run" "$(result never)"
check_not "they were not run" test -e never
check_match "and JUnit" 'name="sleeps"' stopped.xml
check_equal "its trace is kept" 1 "$(traces 'sleeps_2*.pb')"

env --default-signal=INT "$TRACELET" each -j1 --framework libtest --filter stubborn -- ./cases >stopped 2>&1 &
check "a case that ignores Ctrl-C" until_there stubborn
while kill -INT $! 2>/dev/null; do
	sleep 0.05 # two simultaneous signals would be one
done
status=0
wait $! || status=$?
check_equal "is killed by the second one" 130 "$status"
check_match "and the table is printed" '^stubborn +interrupted' stopped
check_equal "no temporary folder stays behind" "" "$(ls temporary)"

done_testing
