# `tracelet each` runs failed cases once more, alone, and the whole program, and says what differs. Its
# table is short, and has the stacks of crashes.
. "$(dirname "$0")/lib.sh"
need_root

unset GITHUB_ACTIONS GITHUB_STEP_SUMMARY GITLAB_CI TF_BUILD JENKINS_URL

# result CASE: what the table says about it.
result() {
	grep -E -- "^$1 " "$stdout" | grep -E ' [0-9]+\.[0-9]{3} s  ' | sed -E 's/ +[0-9]+\.[0-9]+ s  .*//; s/.*  //'
}

# ---- cases that share something ----

cat >shared <<-'END'
	#!/bin/bash
	# Two cases that fail if they meet, one that fails always; --framework libtest.
	echo "$*" >>calls
	case "$*" in
	"--list --format terse") printf '%s: test\n' left right bad ;;
	--list*) exit ;;
	"--exact left" | "--exact right")
		# The first time, each waits for the other.
		if [ ! -e met ]; then
			touch "${2}_is_here"
			until [ -e left_is_here ] && [ -e right_is_here ]; do sleep 0.01; done
			exit 1
		fi ;;
	"--exact bad") until [ -e left_is_here ] && [ -e right_is_here ]; do sleep 0.01; done; touch met; exit 3 ;;
	*) exit 101 ;;
	esac
	echo "test result: ok. 1 passed"
END
chmod +x shared
check_run "cases that fail beside others are still failures" 101 \
	timeout 100 "$TRACELET" each -j3 --framework libtest --junit out.xml -- ./shared
check_equal "one of them" "failed: exit status 1; fails only beside other cases" "$(result left)"
check_equal "the other" "failed: exit status 1; fails only beside other cases" "$(result right)"
check_equal "one that fails alone, too" "failed: exit status 3" "$(result bad)"
check_match "JUnit has the words" 'message="failed: exit status 1; fails only beside other cases"' out.xml
check_equal "each failed case was run twice" "2 --exact bad|2 --exact left|2 --exact right" \
	"$(grep exact calls | sort | uniq -c | sed 's/^ *//' | paste -sd '|')"
check_equal "the program as a whole once" 1 "$(grep -cx '' calls)"
check_equal "the second runs leave no trace" 3 "$(wc -l <tracelet-out/manifest.jsonl)"

rm -f met *_is_here calls
check_run "--once runs nothing again" 101 timeout 100 "$TRACELET" each --once -j3 --framework libtest -- ./shared
check_equal "so there is no more to say" "failed: exit status 1" "$(result left)"
check_equal "and no call" 3 "$(grep -c exact calls)"

# ---- cases that need those before them ----

fresh
cat >chain <<-'END'
	#!/bin/sh
	# The second case needs what the first one made; --framework libtest.
	case "$*" in
	"--list --format terse") printf 'first: test\nsecond: test\n' ;;
	--list*) exit ;;
	"--exact first") ;;
	"--exact second") exit 101 ;;
	esac
	echo "test result: ok. 1 passed"
END
chmod +x chain
check_run "a case that needs an earlier one is a failure" 101 "$TRACELET" each --framework libtest -- ./chain
check_equal "and it says why" "failed: exit status 101; passes in the whole program" "$(result second)"
check_match "one line is about it" '^\./chain as a whole passes: 1 case depends on cases that run before it' "$stdout"

# ---- in CI: the trace of a case whose exit status looked good ----

fresh
printf '#!/bin/sh\n[ "$*" != --gtest_list_tests ] || printf "A.\\n  Exits\\n"\n' >exits
chmod +x exits
CI=true check_run "a case without a report" 1 "$TRACELET" each --framework gtest -- ./exits
check_equal "has a trace even where only failures keep one" 1 "$(find tracelet-out -name 'A.Exits_*.pb' | wc -l)"

# ---- the table ----

fresh
cat >many <<-'END'
	#!/bin/bash
	if [ "$1" = --list ]; then
		[ "$*" != "--list --format terse" ] || printf 'case_%d: test\n' {1..30}
		exit
	fi
	[ "$2" != case_7 ] || exit 101
	[ "$2" != case_9 ] || sleep 1
	echo "test result: ok. 1 passed"
END
chmod +x many
check_run "many cases" 101 "$TRACELET" each --framework libtest --once --junit many.xml -- ./many
rows=$(grep -cE '^case_[0-9]+ ' "$stdout")
check_equal "the table has the failure and the ten slowest" 11 "$rows"
check_equal "the failure first" case_7 "$(grep -oE '^case_[0-9]+' "$stdout" | head -n 1)"
# As JUnit has the times of this run; on a busy machine another case may be slower than the one that sleeps.
slowest=$(sed -n 's/.*<testcase.* name="\(case_[0-9]*\)".* time="\([0-9.]*\)".*/\2 \1/p' many.xml | grep -v ' case_7$' |
	sort -k 1,1gr | head -n 10 | cut -d ' ' -f 2 | paste -sd ' ')
check_equal "then the slowest" "$slowest" "$(grep -oE '^case_[0-9]+' "$stdout" | tail -n +2 | paste -sd ' ')"
check_match "it says how many are left out" '^\(19 more cases; --all lists them\)$' "$stdout"
check_run "all of them" 101 "$TRACELET" each --framework libtest --once --all -- ./many
check_equal "have a line" 30 "$(grep -cE '^case_[0-9]+ ' "$stdout")"

# ---- without tracing ----

rm -rf tracelet-out
check_run "--enabled no with a filter" 0 "$TRACELET" each --enabled no --framework libtest --filter '^case_1$' --junit out.xml -- ./many
check_match "runs that case" '^1 case: 1 passed' "$stdout"
check_match "JUnit has it" 'tests="1" failures="0"' out.xml
check_not "and nothing is recorded" test -e tracelet-out
check_not "nor missed" grep -q 'no artifacts' "$stdout"

# ---- crashes ----

fresh
cat >crash.c <<-'END'
	#include <stdio.h>
	#include <string.h>
	__attribute__((noinline)) void fall_over(volatile int *p) { *p = 1; }
	int main(int argc, char **argv) {
		if (argc > 1 && strcmp(argv[1], "--gtest_list_tests") == 0)
			puts("A.\n  Falls");
		else
			fall_over((int *)0);
		return 0;
	}
END
cc -g -o crash crash.c
check_run "a crash" 1 "$TRACELET" each --framework gtest --once --junit out.xml -- ./crash
if grep -q '"crashes":\[' tracelet-out/manifest.jsonl; then
	check_match "its reason is shown" '^  crash +SIGSEGV|^  crash +.*(egmentation|null|0x0)' "$stdout"
	check_match "and its stack" 'fall_over' "$stdout"
	check_match "in JUnit, too" 'fall_over' out.xml
else
	skip "the stack of a crash" "this kernel does not report it"
fi

# ---- ctest's own verdicts ----

fresh
if type -P ctest >/dev/null; then
	cat >CTestTestfile.cmake <<-'END'
		add_test(segv "sh" "-c" "kill -SEGV $$")
		add_test(slow "sleep" "1000")
		set_tests_properties(slow PROPERTIES TIMEOUT 1)
		add_test("bad (one)" "false")
		add_test(gone "/no/such/program")
	END
	check_run "ctest" 8 "$TRACELET" each --once -- ctest --test-dir .
	check_equal "a crash" "failed: SEGFAULT" "$(result segv)"
	check_equal "ctest's time limit" "failed: Timeout" "$(result slow)"
	check_equal "any other failure" "failed: exit status 8" "$(result 'bad \(one\)')"
	check_equal "a program that is not there" "failed: Not Run" "$(result gone)"
else
	skip ctest "there is no ctest here"
fi

done_testing
