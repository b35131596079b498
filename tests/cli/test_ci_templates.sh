# The templates for CI services: the shell in each of them, run with the variables that the service sets.
. "$(dirname "$0")/lib.sh"
need_root
python=python3 # the one that has yaml, as there may be several
$python -c "import yaml" 2>/dev/null || python=/usr/bin/python3
$python -c "import yaml" 2>/dev/null || skip_all "there is no yaml for Python here"
unset CI GITHUB_ACTIONS GITHUB_STEP_SUMMARY GITLAB_CI CI_PROJECT_DIR TF_BUILD JENKINS_URL
mkdir "$work_root/bin"
ln -s "$TRACELET" "$work_root/bin/tracelet"
export PATH=$work_root/bin:$PATH
ci=$source/share/ci

# step FILE NAME: the shell of a step of that name (of GitHub or Azure), or with that beginning (GitLab's have no names).
step() {
	$python - "$1" "$2" <<'END'
import sys, yaml
def walk(node):
    if isinstance(node, dict):
        for key in ("run", "bash"):
            if key in node and sys.argv[2] in (node.get("name"), node.get("displayName")):
                print(node[key])
        if "script" in node and isinstance(node["script"], list):
            print("\n".join(node["script"]) if sys.argv[2] == "script" else "", end="")
        node = list(node.values())
    if isinstance(node, list):
        for part in node:
            walk(part)
for document in yaml.safe_load_all(open(sys.argv[1])):
    walk(document)
END
}

# A test that says where it runs.
printf '#!/bin/sh\necho "working here: $PWD"\n[ -z "$FAIL" ] || exit 4\n' >unit
chmod +x unit
traces() { ls tracelet-out | sed -n "s/_[0-9_]*\.pb\$//p" | sort | xargs; }

# ---- GitHub ----

export CI=true GITHUB_ACTIONS=true GITHUB_STEP_SUMMARY=$PWD/summary.md GITHUB_ACTION_PATH=$ci/github TRACELET_KEEP=always
check_run "the action installs nothing if tracelet is there" 0 bash -e -c "$(step "$ci/github/action.yml" install)"
check_run "the action runs the test" 4 env COMMAND='FAIL=1 ./unit' EACH=false NAME=first bash -e -c "$(step "$ci/github/action.yml" test)"
check_match "with its output" '^working here' "$stdout"
check_equal "a trace has the name" first "$(traces)"
check_match "the summary says why" '^\| first \| :x: failed: exit status 4' summary.md

rm -rf tracelet-out
workflow=$ci/github/reusable-test.yml
export TRACELET_CI=$ci/tracelet-ci TEST_NAME=net PRE_TEST='echo set up; true | cat' TEST_COMMAND=./unit POST_TEST='false' GRANULAR=false
export TRACELET_CAPTURE=true TRACELET_DUMPS=false
check_run "the workflow's set-up" 0 bash -e -c "$(step "$workflow" set-up)"
check_run "its test" 0 bash -e -c "$(step "$workflow" test)"
check_run "its clean-up, whose status counts" 1 bash -e -c "$(step "$workflow" clean-up)"
check_equal "each has a trace" "net net-post_test net-pre_test" "$(traces)"
rm -rf tracelet-out
check_run "without capture" 0 env TRACELET_CAPTURE=false bash -e -c "$(step "$workflow" test)"
check_match "the test runs" '^working here' "$stdout"
check_not "and there is no trace" test -e tracelet-out
check_equal "the inputs are those of eBPF for Windows" \
	"build_artifact capture_etw environment gather_dumps granular_etw_tracing name post_test pre_test test_command" \
	"$(sed -n 's/^      \([a-z_]*\): {required.*/\1/p' "$workflow" | sort | xargs)"
unset GITHUB_ACTIONS GITHUB_STEP_SUMMARY

# ---- the others: each case of a test program ----

cat >test_sample.py <<'END'
def test_good(): pass
def test_bad(): assert False
END
if command -v pytest >/dev/null; then
	export TEST_COMMAND='pytest -p no:cacheprovider' PYTHONDONTWRITEBYTECODE=1
	for service in "GitLab|GITLAB_CI=true|$ci/gitlab/tracelet.yml|script" "Azure|TF_BUILD=True|$ci/azure/tracelet.yml|traced tests"; do
		IFS='|' read -r name variable file part <<<"$service"
		rm -rf tracelet-out results.xml
		check_run "$name: a failed case fails the job" 1 env "$variable" CI_PROJECT_DIR="$PWD" bash -e -c "$(step "$file" "$part")"
		check_match "$name: the report has the cases" 'failures="1"' results.xml
		check_equal "$name: each has a trace" 2 "$(ls tracelet-out/*good*.pb tracelet-out/*bad*.pb | wc -l)"
	done
	rm -rf tracelet-out results.xml
	script=$(sed -n "s/^ *sh '\(.*\)'\$/\1/p" "$ci/jenkins/tracelet.groovy")
	check_run "Jenkins: a failed case fails the step" 1 env JENKINS_URL=http://x bash -e -c "$script"
	check_match "Jenkins: the report has the cases" 'failures="1"' results.xml
else
	skip "GitLab, Azure and Jenkins" "there is no pytest here"
fi

# ---- installation ----

fresh
mkdir -p release/tracelet-0/bin prefix
printf '#!/bin/sh\necho installed\n' >release/tracelet-0/bin/tracelet
chmod +x release/tracelet-0/bin/tracelet
tar -C release -czf release.tar.gz tracelet-0
without() { env PATH=/usr/bin:/bin TRACELET_PREFIX="$PWD/prefix" "$@" "$ci/tracelet-ci" install; }
if ! env PATH=/usr/bin:/bin sh -c 'command -v tracelet' >/dev/null; then
	check_run "nothing to install" 2 without
	check_match "says what to set" 'set TRACELET_ARCHIVE' "$stderr"
	check_run "a wrong checksum" 2 without TRACELET_ARCHIVE=release.tar.gz TRACELET_SHA256="$(printf '%064d' 0)"
	check_not "installs nothing" test -e prefix/bin
	check_run "the right one" 0 without TRACELET_ARCHIVE=release.tar.gz TRACELET_SHA256="$(sha256sum <release.tar.gz | cut -d ' ' -f 1)"
	check_equal "installs it" installed "$(prefix/bin/tracelet)"
fi
done_testing
