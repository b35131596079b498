# `tracelet each` believes the framework's report, not the exit status alone: a case that ends its program in
# the middle, or that ran nothing, has not passed.
. "$(dirname "$0")/lib.sh"
need_root

unset GITHUB_ACTIONS GITHUB_STEP_SUMMARY GITLAB_CI TF_BUILD JENKINS_URL
unfinished="failed: no report from its framework"

# ---- one program for each framework, built in parallel ----

build=$work_root/programs
mkdir "$build"
make_program() { # NAME COMMAND...
	local name=$1
	shift
	"$@" -o "$build/$name" >"$build/$name.log" 2>&1 || rm -f "$build/$name"
}
cat >gtest.cc <<-'END'
	#include <gtest/gtest.h>
	TEST(A, Good) {}
	TEST(A, Exits) { exit(0); }
	TEST(A, Skips) { GTEST_SKIP(); }
END
cat >ignored.cc <<-'END'
	#include <gtest/gtest.h>
	TEST(A, Good) {}
	TEST(A, Bad) { FAIL(); }
	int main(int argc, char **argv) {
		testing::InitGoogleTest(&argc, argv);
		return RUN_ALL_TESTS() * 0;
	}
END
cat >catch2.cc <<-'END'
	#include <catch2/catch_all.hpp>
	TEST_CASE("good") { REQUIRE(true); }
	TEST_CASE("empty") {}
	TEST_CASE("meant", "[!shouldfail]") { REQUIRE(false); }
	TEST_CASE("exits") { exit(0); }
END
sed 's/catch_all/catch/' catch2.cc >catch2_old.cc
cat >doctest.cc <<-'END'
	#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
	#include <doctest/doctest.h>
	TEST_CASE("good") {}
	TEST_CASE("exits") { exit(0); }
END
cat >cpputest.cc <<-'END'
	#include <CppUTest/CommandLineTestRunner.h>
	#include <CppUTest/TestHarness.h>
	TEST_GROUP(A) {};
	TEST(A, Good) { LONGS_EQUAL(2, 1 + 1); }
	TEST(A, Exits) { exit(0); }
	int main(int argc, char **argv) { return CommandLineTestRunner::RunAllTests(argc, argv); }
END
cat >cmocka.c <<-'END'
	#include <setjmp.h>
	#include <stdarg.h>
	#include <stddef.h>
	#include <stdint.h>
	#include <stdlib.h>
	#include <cmocka.h>
	static void good(void **state) {}
	static void exits(void **state) { exit(0); }
	int main(void) {
		const struct CMUnitTest tests[] = {cmocka_unit_test(good), cmocka_unit_test(exits)};
		return cmocka_run_group_tests(tests, NULL, NULL);
	}
END
cat >libtest.rs <<-'END'
	#[test] fn good() {}
	#[test] #[should_panic] fn meant() { panic!() }
	#[test] fn exits() { std::process::exit(0) }
END
mkdir go
printf 'module sample\n' >go/go.mod
cat >go/sample_test.go <<-'END'
	package sample
	import ("os"; "testing")
	func TestGood(t *testing.T) { t.Run("part", func(t *testing.T) { t.Skip() }) }
	func TestSkips(t *testing.T) { t.Skip() }
	func TestExits(t *testing.T) { os.Exit(0) }
END
compiler=$(type -P g++ || type -P clang++ || echo false)
make_program gtest "$compiler" gtest.cc -lgtest -lgtest_main &
make_program ignored "$compiler" ignored.cc -lgtest &
make_program catch2 "$compiler" catch2.cc -lCatch2Main -lCatch2 &
make_program catch2_old "$compiler" catch2_old.cc -lCatch2WithMain &
make_program doctest "$compiler" doctest.cc &
make_program cpputest "$compiler" cpputest.cc -lCppUTest &
make_program cmocka cc cmocka.c -lcmocka &
make_program libtest rustc --test libtest.rs &
(cd go && GOFLAGS=-mod=mod make_program go go test -c) &
wait

# result CASE: its result in the table.
result() {
	grep -E -- "^$1 " "$stdout" | grep -E ' [0-9]+\.[0-9]{3} s  ' | sed -E 's/ +[0-9]+\.[0-9]+ s  .*//; s/.*  //'
}

# judge NAME STATUS CASE=RESULT... -- COMMAND: the results of the cases that `each COMMAND` prints.
judge() {
	local name=$1 expected=$2 results=()
	shift 2
	while [ "$1" != -- ]; do
		results+=("$1")
		shift
	done
	shift
	check_run "$name: the status" "$expected" "$TRACELET" each "$@"
	for pair in "${results[@]}"; do
		check_equal "$name: ${pair%%=*}" "${pair#*=}" "$(result "${pair%%=*}")"
	done
}

# judge_program NAME ...: the same, if the program could be built.
judge_program() {
	if [ -x "$build/$1" ]; then
		judge "$@" -- "$build/$1"
	else
		skip "$1" "its program cannot be made here: $(tail -n 1 "$build/$1.log")"
	fi
}

judge_program gtest 1 A.Good=passed A.Skips=skipped "A.Exits=$unfinished"
judge_program ignored 1 A.Good=passed "A.Bad=$unfinished"
judge_program catch2 1 good=passed empty=passed meant=passed "exits=$unfinished"
judge_program catch2_old 1 good=passed empty=passed meant=passed "exits=$unfinished"
judge_program doctest 1 good=passed "exits=$unfinished"
judge_program cpputest 1 A.Good=passed "A.Exits=$unfinished"
judge_program cmocka 1 good=passed "exits=$unfinished"
judge_program libtest 101 good=passed meant=passed "exits=$unfinished"
judge_program go 1 TestGood=passed TestSkips=skipped "TestExits=$unfinished"

# The framework's other output formats.
if [ -x "$build/gtest" ]; then
	judge "gtest in colours" 0 A.Good=passed A.Skips=skipped -- --filter 'Good|Skips' -- "$build/gtest" --gtest_color=yes
	judge "gtest, briefly" 0 A.Good=passed -- --filter Good -- "$build/gtest" --gtest_brief=1
fi
if [ -x "$build/catch2_old" ]; then
	for reporter in compact xml junit; do
		judge "catch2 with the reporter $reporter" 0 good=passed -- --filter good -- "$build/catch2_old" -r "$reporter"
	done
fi
if [ -x "$build/doctest" ]; then
	judge "doctest, briefly" 0 good=passed -- --filter good -- "$build/doctest" --minimal=true
fi
if [ -x "$build/cmocka" ]; then
	for format in TAP SUBUNIT XML; do
		export CMOCKA_MESSAGE_OUTPUT=$format
		judge "cmocka as $format" 1 good=passed "exits=$unfinished" -- -- "$build/cmocka"
	done
	unset CMOCKA_MESSAGE_OUTPUT
fi
if [ -x "$build/libtest" ]; then
	judge "libtest, briefly" 0 good=passed -- --filter good -- "$build/libtest" -q
fi

# ---- runners ----

fresh
pytest=$(type -P pytest || type -P pytest-3)
if [ -n "$pytest" ]; then
	cat >test_a.py <<-'END'
		import os, pytest
		def test_good(): pass
		def test_exits(): os._exit(0)
		def test_skips(): pytest.skip("not today")
		@pytest.mark.xfail
		def test_meant(): assert False
	END
	for quiet in -v -q -qq; do
		judge "pytest $quiet" 1 test_a.py::test_good=passed test_a.py::test_skips=skipped test_a.py::test_meant=passed \
			"test_a.py::test_exits=$unfinished" -- -- "$pytest" -p no:cacheprovider "$quiet" test_a.py
	done
else
	skip pytest "there is no pytest here"
fi

fresh
if type -P bats >/dev/null; then
	mkdir tests
	cat >tests/a.bats <<-'END'
		@test "adds (one) [1+1] a.b*c?" {
			true
		}
		@test "fails (one) [1+1] a|b^c$" {
			false
		}
		@test "issue #12" {
			true
		}
		@test "later" {
			skip "not today"
		}
	END
	judge bats 1 'adds \(one\) \[1\+1\] a.b\*c\?=passed' 'fails \(one\).*=failed: exit status 1' 'issue #12=passed' \
		'later=skipped' -- --framework tap --select '--filter ^{regex}$' -- bats --formatter tap tests
	judge "bats without escapes" 1 'fails \(one\).*=not found by its own name' 'issue #12=passed' \
		-- --framework tap --select '--filter ^{}$' -- bats --formatter tap tests
else
	skip bats "there is no bats here"
fi

fresh
cat >tap <<-'END'
	#!/bin/sh
	# A program that prints TAP; status 0 whatever happens.
	case "$*" in
	"") printf '1..6\nok 1 - good\nok 2 - empty\nok 3 - silent\nok 4 - skips\nnot ok 5 - bad\nnot ok 6 - known\n' ;;
	good) printf '1..1\nok 1 - good\n' ;;
	empty) echo 1..0 ;;
	silent) ;;
	skips) printf '1..1\nok 1 - skips # SKIP not today\n' ;;
	bad) printf '1..1\nnot ok 1 - bad\n' ;;
	known) printf '1..1\nnot ok 1 - known # TODO later\n' ;;
	esac
END
chmod +x tap
judge tap 1 good=passed "empty=not found by its own name" "silent=$unfinished" skips=skipped \
	"bad=failed: its framework says so" known=passed -- --framework tap --select '{}' -- ./tap
check_match "a case that ran nothing has not passed" '^6 cases: 2 passed, 3 failed, 1 skipped' "$stdout"

printf '#!/bin/sh\necho "1..0 # skip: no network"\n' >nothing
printf '#!/bin/sh\necho hello\n' >silent
chmod +x nothing silent
check_run "a program without cases passes nothing" 0 "$TRACELET" each --output-dir none --framework tap --select '{}' -- ./nothing
check_match "it says so" ': no cases found$' "$stderr"
check_not "and leaves nothing" test -e none
check_run "one that does not list its cases runs as a whole" 0 "$TRACELET" each --quiet --framework tap --select '{}' -- ./silent
check_match "because it printed no list" 'cannot list its cases with tap \(it printed no list\)' "$stderr"

# recorded CASE: its result in the manifest, and how many traces were kept.
recorded() {
	jq -r --arg name "$1" 'select(.name == $name) | "\(.result), \([.artifacts[] | select(.kind == "perfetto")] | length)"' kept/manifest.jsonl
}
check_run "the manifest has the same verdicts" 1 "$TRACELET" each --once --keep failed --output-dir kept --junit kept.xml \
	--framework tap --select '{}' -- ./tap
check_equal "a case that passed" "passed, 0" "$(recorded good)"
check_equal "a case without a report failed, and its trace is kept" "$unfinished, 1" "$(recorded silent)"
check_equal "so is that of a case that ran nothing" "not found by its own name, 1" "$(recorded empty)"
check_equal "and that of one that reports a failure" "failed: its framework says so, 1" "$(recorded bad)"
check_equal "a skipped case" "skipped, 0" "$(recorded skips)"
check_equal "its exit status is still its own" 0 "$(jq 'select(.name == "silent").exit' kept/manifest.jsonl)"
check_equal "JUnit agrees" "3 failed, 1 skipped" "$(grep -c '<failure' kept.xml) failed, $(grep -c '<skipped' kept.xml) skipped"
check_equal "the trace agrees" "$unfinished" \
	"$("$TRACELET" info "$(jq -r 'select(.name == "silent").artifacts[0].path' kept/manifest.jsonl)" | sed -n 's/^result  *//p')"
if [ -x "$build/catch2" ] || [ -x "$build/gtest" ]; then
	program=$build/gtest
	[ -x "$program" ] || program=$build/catch2
	"$TRACELET" each --once --keep failed --output-dir kept --filter '[Ee]xits' -- "$program" >/dev/null 2>&1
	check_equal "a case that ends its program" "$unfinished, 1" "$(recorded A.Exits)$(recorded exits)"
fi

fresh
if type -P ctest >/dev/null; then
	mkdir build
	printf 'add_test(good "true")\nadd_test(skips "sh" "-c" "exit 77")\nset_tests_properties(skips PROPERTIES SKIP_RETURN_CODE 77)\n' \
		>build/CTestTestfile.cmake
	judge ctest 0 good=passed skips=skipped -- -- ctest --test-dir build
else
	skip ctest "there is no ctest here"
fi

fresh
cat >meson.build <<-'END'
	project('sample')
	sh = find_program('sh')
	test('good', sh, args: ['-c', 'true'])
	test('skips', sh, args: ['-c', 'exit 77'])
	test('nothing', sh, args: ['-c', 'echo "1..0 # SKIP no"'], protocol: 'tap')
END
if meson setup build >/dev/null 2>&1; then
	judge meson 0 good=passed skips=skipped nothing=skipped -- -- meson test -C build
	judge "meson, quietly" 0 good=passed -- --filter good -- meson test -C build -q
else
	skip meson "meson does not work here"
fi

# ---- counting ----

fresh
if [ -x "$build/gtest" ]; then
	check_run "stat has the same verdicts" 1 "$TRACELET" stat --per-test -e page-faults --json -o cases.json -- "$build/gtest"
	check_equal "in its JSON" "A.Good passed, A.Exits $unfinished, A.Skips skipped" "$(jq -r '[.tests[] | "\(.test) \(.result)"] | join(", ")' cases.json)"
	check_match "the case's output is shown" '^\[  PASSED  \] 1 test' "$stdout"
	check_run "and in its table" 1 "$TRACELET" stat --per-test -e page-faults -- "$build/gtest"
	check_match "a case that ends its program" "  A.Exits \($unfinished\)\$" "$stderr"
	check_match "a skipped case" '  A.Skips \(skipped\)$' "$stderr"
	check_match "a case that passed" '  A.Good$' "$stderr"
else
	skip "stat --per-test" "there is no program to count"
fi

# ---- a program with its own printer ----

fresh
cat >own <<-'END'
	#!/bin/sh
	[ "$*" != --gtest_list_tests ] || printf 'A.\n  Good\n  Exits\n'
	[ "$*" != --gtest_filter=A.Good ] || echo "all 1 fine"
END
chmod +x own
judge "a printer of its own" 1 "A.Good=$unfinished" -- --framework gtest -- ./own
judge "described with --passed-text" 1 A.Good=passed "A.Exits=$unfinished" -- --framework gtest --passed-text 'all {n} fine' -- ./own
judge "an empty --passed-text" 0 A.Good=passed A.Exits=passed -- --framework gtest --passed-text '' -- ./own

# ---- a program that replaces tracelet while its cases run ----

# A case runs in a fork of `each`: executing the program again would cost more than a short case.
fresh
cp "$(realpath "$TRACELET")" copy
cat >replaces <<-'END'
	#!/bin/sh
	[ "$*" != --gtest_list_tests ] || printf 'A.\n  First\n  Second\n  Third\n'
	case $* in --gtest_filter=*) rm -f copy && echo "all 1 fine" ;; esac
END
chmod +x replaces
check_run "cases go on when the program's file is gone" 0 ./copy each -j 1 --framework gtest --passed-text 'all {n} fine' -- ./replaces
check_match "all of them" '^3 cases: 3 passed, 0 failed, 0 skipped; ' "$stdout"
check_lines "in silence" 0 "$stderr"
check_equal "each with its trace" 3 "$(find tracelet-out -name '*.pb' | wc -l)"

# ---- the work tree is looked at once, before the first case ----

fresh
git init -q . && echo text >known && git add known
git -c user.name=name -c user.email=mail -c commit.gpgsign=false commit -q -m first
cat >changes <<-'END'
	#!/bin/sh
	[ "$*" != --gtest_list_tests ] || printf 'A.\n  First\n  Second\n'
	case $* in --gtest_filter=*) echo "more text" >>known && echo "all 1 fine" ;; esac
END
chmod +x changes
check_run "cases that change the work tree" 0 "$TRACELET" each -j 1 --framework gtest --passed-text 'all {n} fine' -- ./changes
check_equal "were run with that of the commit" "false false" "$(jq -r '.source.dirty // false' tracelet-out/manifest.jsonl | xargs)"
check_run "the next time" 0 "$TRACELET" each -j 1 --framework gtest --passed-text 'all {n} fine' -- ./changes
check_equal "they are not" "true true" "$(jq -r '.source.dirty // false' tracelet-out/manifest.jsonl | tail -2 | xargs)"

done_testing
