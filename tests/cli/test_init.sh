# init: a sample project for each tool that it knows, and the script that it writes, run where the tool is installed.
. "$(dirname "$0")/lib.sh"
export PATH=$work_root/bin:$PATH
mkdir "$work_root/bin"
ln -s "$TRACELET" "$work_root/bin/tracelet"

check_run "a directory without a project" 1 "$TRACELET" init
check_match "says what it looks for, and what to do" 'tracelet run -- COMMAND' "$stderr"
check_run "more than one directory is bad usage" 2 "$TRACELET" init a b

# finds TOOL FILE [TEXT]: a project with this file is one of that tool.
finds() {
	fresh
	mkdir -p "$(dirname "$2")"
	printf '%s\n' "${3-}" >"$2"
	check_run "$1 is found by $2" 0 "$TRACELET" init
	check_match "and named" "^# $1 \\($2\\)" "$stdout"
	check_not "nothing is written" test -e trace-tests
	check_run "--write writes the script" 0 "$TRACELET" init --write
	check "which sh accepts" sh -n trace-tests
	check "and can be run" test -x trace-tests
	cp trace-tests before
	check_run "a second time it is left alone" 2 "$TRACELET" init --write .
	check_match "and it says so" 'trace-tests exists' "$stderr"
	check "unchanged" cmp trace-tests before
}
finds CMake CMakeLists.txt
finds meson meson.build
finds cargo Cargo.toml
finds go go.mod
finds pytest pytest.ini
finds pytest pyproject.toml '[tool.pytest.ini_options]'
finds npm package.json '{"scripts": {"test": "node test.js"}}'
finds bazel MODULE.bazel
fresh
touch pyproject.toml
check_run "a Python project without pytest is none" 1 "$TRACELET" init

# ---- CI ----

fresh
mkdir .github
touch go.mod .gitlab-ci.yml conftest.py
check_run "a project with two tools and two services" 0 "$TRACELET" init --write .
check_equal "the script runs both" "# go # pytest" "$(grep -x -e '# go' -e '# pytest' trace-tests | xargs -d '\n' | sed 's/ *$//')"
check_match "GitHub runs the script" 'run: ./trace-tests' .github/workflows/tracelet.yml
check_match "so does GitLab" 'script: ./trace-tests' .gitlab/tracelet.yml
check_match "it says what is left to do" 'include: \{local: .gitlab/tracelet.yml\}' "$stdout"
if python3 -c 'import yaml' 2>/dev/null; then
	check "both are YAML" python3 -c 'import sys, yaml; [yaml.safe_load(open(name)) for name in sys.argv[1:]]' \
		.github/workflows/tracelet.yml .gitlab/tracelet.yml
fi

# ---- run ----

# runs TOOL STATUS TRACES: the script passes on the status and leaves this many traces.
runs() {
	check_run "$1: init" 0 "$TRACELET" init --write
	check_run "$1: the tests run" "$2" ./trace-tests
	check_equal "$1: with traces" "$3" "$(find . -path '*tracelet-out/*.pb' | wc -l)"
}
if [ "$(id -u)" = 0 ]; then
	if command -v cmake >/dev/null && command -v ctest >/dev/null; then
		fresh
		printf 'cmake_minimum_required(VERSION 3.10)\nproject(sample NONE)\nenable_testing()\nadd_test(NAME good COMMAND true)\nadd_test(NAME bad COMMAND false)\n' >CMakeLists.txt
		runs CMake 8 2
	fi
	fresh
	printf "project('sample')\ntest('good', find_program('true'))\n" >meson.build
	runs meson 0 1
	if command -v npm >/dev/null; then
		fresh
		echo '{"name": "sample", "version": "1.0.0", "scripts": {"test": "exit 3"}}' >package.json
		runs npm 3 1
	fi
fi
done_testing
