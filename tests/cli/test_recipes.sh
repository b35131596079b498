# docs/recipes.md, word for word: runs each block in a small project of its kind.
. "$(dirname "$0")/lib.sh"
need_root

recipes=$source/docs/recipes.md
samples=$source/tests/cli/each
mkdir "$work_root/bin"
ln -s "$TRACELET" "$work_root/bin/tracelet"
export PATH=$work_root/bin:$PATH
unset CI GITHUB_ACTIONS GITHUB_STEP_SUMMARY GITLAB_CI TF_BUILD JENKINS_URL TRACELET_ENABLED

# An ordinary user's sudo, as far as the recipes need it: the rest of the environment is lost, and the test runs
# as the user nobody, or as SUDO_CALLER.
cat >"$work_root/bin/sudo" <<'END'
#!/bin/bash
user=${SUDO_CALLER:-nobody}
keep=(PATH="$PATH" HOME=/nonexistent SUDO_USER="$user" SUDO_UID="$(id -u "$user")" SUDO_GID="$(id -g "$user")")
case $1 in
--preserve-env=*)
	for name in $(tr , ' ' <<<"${1#*=}"); do
		[ -z "${!name+x}" ] || keep+=("$name=${!name}")
	done
	shift
	;;
esac
exec env -i "${keep[@]}" "$@"
END
chmod +x "$work_root/bin/sudo"
chmod 755 "$work_root"

# own: the project belongs to the user who calls sudo.
own() {
	chown -R nobody: .
	chmod 755 .
}

# recipe HEADING [NUMBER]: runs the first, or another, shell block under it.
recipe() {
	awk -v heading="## $1" -v number="${2:-1}" '
		/^## / { here = $0 == heading; block = 0 }
		here && /^```/ { inside = !inside; if (inside) block += /^```sh$/; next }
		inside && here && block == number' "$recipes" >"$work_root/recipe.sh"
	check "there is a recipe for: $1" test -s "$work_root/recipe.sh"
	own
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

# there COMMAND...: whether all are installed; skips if not.
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
check_equal "the traces belong to the user who called sudo" nobody "$(stat -c %U tracelet-out/adds_*.pb)"
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
	outcome "meson's wrapper" 0 'tracelet-out/true_*.pb'
	recipe meson 2
	outcome meson 0 'tracelet-out/good_*.pb'
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
	rm -rf .cargo
	recipe cargo 2
	outcome "cargo with sudo" 101 'tracelet-out/parser__deep_*.pb' 'tracelet-out/parser__wide_*.pb'
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
	mkdir one two
	for package in one two; do
		printf 'package same\nimport "testing"\nfunc TestGood(t *testing.T) {}\n' >$package/sample_test.go
	done
	SUDO_CALLER=root recipe go # whose private folder has the programs
	outcome go 0 'tracelet-out/TestGood_*.pb'
	check_equal "each package has its results" 2 "$(find results -name '*.xml' | wc -l)"
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

# ---- CI ----

# ci_recipe SYSTEM VARIABLES...: runs the command of that system's part, with its variables.
ci_recipe() {
	local name=$1 pattern=$2
	shift 2
	fresh
	cc -o unit_tests "$samples/cmocka.c" -lcmocka
	own
	awk -v name="$name" 'index($0, name) == 1 { here = 1 } here && /tracelet each/ { print; exit }' "$recipes" |
		sed -E "s/^(- run|  script|- script): //; s/^sh '(.*)'$/\1/" >"$work_root/recipe.sh"
	check_match "there is a recipe for $name" '^sudo .*--user sudo ' "$work_root/recipe.sh"
	run timeout 100 env "$@" bash -e "$work_root/recipe.sh"
	outcome "$name" 1 'tracelet-out/fails_*.pb'
	check_not "$name: only what failed is kept" test -n "$(find tracelet-out -name 'adds_*.pb')"
	check_match "$name: it is recognised" "$pattern" "$stdout"
	check "$name: there are results" test -s results.xml
}
touch "$work_root/summary"
ci_recipe "GitHub Actions" '^::group::--- fails ' CI=true GITHUB_ACTIONS=true GITHUB_STEP_SUMMARY="$work_root/summary"
check_match "GitHub's summary has the table" '^\| fails \| :x: failed' "$work_root/summary"
ci_recipe GitLab 'section_start:' CI=true GITLAB_CI=true CI_PROJECT_DIR="$work_root"
ci_recipe Jenkins '^--- fails ' CI=true JENKINS_URL=http://x
ci_recipe "Azure Pipelines" '^##vso\[artifact.upload ' TF_BUILD=True

done_testing
