# docs/recipes.md, word for word: each block is run in a small project of its kind.
. "$(dirname "$0")/lib.sh"
need_root

recipes=$source/docs/recipes.md
samples=$source/tests/cli/each
mkdir "$work_root/bin"
ln -s "$TRACELET" "$work_root/bin/tracelet"
export PATH=$work_root/bin:$PATH
unset CI GITHUB_ACTIONS GITHUB_STEP_SUMMARY GITLAB_CI TF_BUILD JENKINS_URL TRACELET_ENABLED

# recipe HEADING [NUMBER]: runs the first, or another, block of shell under it.
recipe() {
	awk -v heading="## $1" -v number="${2:-1}" '
		/^## / { here = $0 == heading; block = 0 }
		here && /^```/ { inside = !inside; if (inside) block += /^```sh$/; next }
		inside && here && block == number' "$recipes" >"$work_root/recipe.sh"
	check "there is a recipe for: $1" test -s "$work_root/recipe.sh"
	run timeout 100 bash -e "$work_root/recipe.sh"
}

# outcome NAME STATUS TRACE...: the status, and a trace for each of the patterns.
outcome() {
	local name=$1 expected=$2 pattern
	shift 2
	check_equal "$name: the status is the tests'" "$expected" "$status"
	[ "$status" = "$expected" ] || note "$(tail -n 20 "$stdout" "$stderr")"
	for pattern in "$@"; do
		check "$name: there is a trace $pattern" test -n "$(find . -path "*/$pattern" -size +0)"
	done
}

# there COMMAND...: whether all are here; says so if not.
there() {
	local command
	for command in "$@"; do
		if ! command -v "$command" >/dev/null; then
			skip "a recipe for $command" "there is no $command here"
			return 1
		fi
	done
}

cc -o unit_tests "$samples/cmocka.c" -lcmocka
recipe "A test program"
outcome "a test program" 1 'tracelet-out/adds_*.pb' 'tracelet-out/fails_*.pb'
check "its results are XML" python3 -c 'import xml.dom.minidom as x; x.parse("results.xml")'

fresh
printf '#!/bin/sh\nexit 3\n' >test_backup.sh
chmod +x test_backup.sh
recipe "A shell script, or any other command"
outcome "a script" 3 'tracelet-out/backup_*.pb'
if tracelet run --help | grep -q -e --timeout; then
	recipe "An existing script with a folder and a time limit"
	outcome "an existing script" 3 'results/test_backup_*.pb'
else
	skip "a time limit" "there is none yet"
fi
echo '<testsuite><testcase name="backup"/></testsuite>' >results.xml
recipe "JUnit files of other tools"
outcome "JUnit" 0
check_match "the trace is in it" '^\[\[ATTACHMENT\|/.*/tracelet-out/backup_.*\.pb\]\]$' results.xml

fresh
if there cmake ctest; then
	cat >CMakeLists.txt <<-'END'
		cmake_minimum_required(VERSION 3.20)
		project(sample NONE)
		enable_testing()
		add_test(NAME good COMMAND true)
		add_test(NAME bad COMMAND false)
	END
	recipe ctest
	outcome ctest 8 'tracelet-out/good_*.pb' 'tracelet-out/bad_*.pb'
fi

fresh
if there meson; then
	printf "project('sample')\ntest('good', find_program('true'))\n" >meson.build
	recipe meson
	outcome meson 0 'tracelet-out/good_*.pb'
	recipe meson 2
	outcome "meson's wrapper" 0 'tracelet-out/true_*.pb'
fi

fresh
if there cargo && cargo --version >/dev/null 2>&1; then
	mkdir src
	printf '[package]\nname = "sample"\nversion = "0.1.0"\nedition = "2021"\n[lib]\ndoctest = false\n' >Cargo.toml
	cp "$samples/libtest.rs" src/lib.rs
	export CARGO_NET_OFFLINE=true
	recipe cargo
	outcome cargo 101 'tracelet-out/parser__deep_*.pb' 'tracelet-out/parser__wide_*.pb'
	rm -rf tracelet-out
	run cargo test
	outcome "cargo, unless asked" 101
	check_not "it traces nothing" test -e tracelet-out
	if there cargo-nextest; then
		recipe cargo-nextest
		outcome nextest 100 'tracelet-out/parser__deep_*.pb'
	fi
fi
# Without nextest: the script, called as nextest calls it.
fresh
recipe cargo-nextest
check_run "nextest's script lists without a trace" 0 env -u NEXTEST_EXECUTION_MODE ./tracelet-nextest true --list
check_not "there is none" test -e tracelet-out
check_run "and runs with one" 0 env NEXTEST_EXECUTION_MODE=process-per-test ./tracelet-nextest true --exact a::b --nocapture
check "named as the test" test -n "$(ls tracelet-out/a__b_*.pb)"

fresh
if there go; then
	printf 'module sample\n' >go.mod
	printf 'package sample\nimport "testing"\nfunc TestGood(t *testing.T) {}\n' >sample_test.go
	recipe go
	outcome go 0 'tracelet-out/TestGood_*.pb'
fi

there bazel || true

fresh
if there pytest; then
	mkdir tests
	printf 'def test_good():\n    pass\n' >tests/test_sample.py
	recipe pytest
	outcome pytest 0 'tracelet-out/tests_test_sample.py__test_good_*.pb'
fi

fresh
if there bats; then
	mkdir tests
	printf '@test "adds one" {\n\ttrue\n}\n@test "fails" {\n\tfalse\n}\n' >tests/sample.bats
	recipe bats
	outcome bats 1 'tracelet-out/adds_one_*.pb' 'tracelet-out/fails_*.pb'
fi

done_testing
