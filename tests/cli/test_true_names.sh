# Names that differ only in what a file name cannot hold: each test keeps its own trace.
. "$(dirname "$0")/lib.sh"
need_root

unset GITLAB_CI CI_PROJECT_DIR
traced() {
	"$TRACELET" run --quiet "$@"
}
# exit_of NAME: the exit status of the test whose trace `artifact` finds.
exit_of() {
	local path
	path=$("$TRACELET" artifact "$1") || return
	jq -r --arg path "$path" 'select(.artifacts[0].path == $path).exit' tracelet-out/manifest.jsonl
}

traced --name 'test_param[a b]' -- sh -c 'exit 1'
traced --name 'test_param[a;b]' -- sh -c 'exit 2'
traced --name 'test_param_a_b_' -- sh -c 'exit 3'
traced --name "$(printf 'long%.0s' {1..50})1" -- sh -c 'exit 4'
traced --name "$(printf 'long%.0s' {1..50})2" -- sh -c 'exit 5'
traced -- bash -c 'exit 6'
check_equal "the manifest has the true names" "test_param[a b]|test_param[a;b]|test_param_a_b_" \
	"$(jq -r .name tracelet-out/manifest.jsonl | head -n 3 | paste -sd '|')"
check_equal "and those that files have" "test_param_a_b_" "$(jq -r .test tracelet-out/manifest.jsonl | head -n 3 | uniq)"
check_equal "a name with a blank" 1 "$(exit_of 'test_param[a b]')"
check_equal "with a semicolon" 2 "$(exit_of 'test_param[a;b]')"
check_equal "the name that files have is a test's own, too" 3 "$(exit_of test_param_a_b_)"
check_not "a name that no test has" exit_of 'test_param[a,b]'
check_equal "a long name" 4 "$(exit_of "$(printf 'long%.0s' {1..50})1")"
check_equal "another one, different only at its end" 5 "$(exit_of "$(printf 'long%.0s' {1..50})2")"
check_equal "a program's own name" 6 "$(exit_of bash)"
traced --name 'only one' -- sh -c 'exit 7'
check_equal "the name that files have finds the test, where no other has it" 7 "$(exit_of only_one)"
check "a trace that landed" "$TRACELET" check --landed tracelet-out --name 'test_param[a b]'
check_run "and one that did not" 1 "$TRACELET" check --landed tracelet-out --name 'test_param[a,b]'

# ---- lines of old: without the true name ----

fresh
traced --name 'a b' -- true
sed -i 's/"name":"[^"]*",//' tracelet-out/manifest.jsonl
check "a line without it is found by any name that fits" "$TRACELET" artifact 'a b'

fresh
"$TRACELET" start --quiet 'an operation'
"$TRACELET" stop 'an operation' >/dev/null
check "an operation is found by the name it was given" "$TRACELET" artifact 'an operation'

# ---- JUnit ----

fresh
pytest=$(type -P pytest || type -P pytest-3)
if [ -n "$pytest" ]; then
	cat >test_p.py <<-'END'
		import pytest
		@pytest.mark.parametrize("text", ["a b", "a;b", "a_b", "a", "x" * 150 + "1", "x" * 150 + "2", "[", "/"])
		def test_param(text): pass
		class TestIn:
		    @pytest.mark.parametrize("text", ["a b", "a;b"])
		    def test_param(self, text): pass
	END
	check_run "pytest, one case at a time" 0 "$TRACELET" each --quiet -- "$pytest" -p no:cacheprovider test_p.py
	check_run "pytest, all at once" 0 "$pytest" -p no:cacheprovider --junitxml=results.xml test_p.py
	check_run "every case is found" 0 "$TRACELET" junit results.xml
	check_equal "all ten" "results.xml: 10 of 10 cases have artifacts; 0 tests of the manifest match no case" "$(cat "$stdout")"
	cat >look.py <<-'END'
		import json, os, xml.etree.ElementTree as xml
		lines = [json.loads(line) for line in open("tracelet-out/manifest.jsonl")]
		path_of = {line["name"]: os.path.abspath(line["artifacts"][0]["path"]) for line in lines}
		for case in xml.parse("results.xml").iter("testcase"):
		    name = case.get("classname").replace("test_p", "test_p.py", 1).replace(".Test", "::Test") + "::" + case.get("name")
		    if f"[[ATTACHMENT|{path_of[name]}]]" not in case.find("system-out").text:
		        raise SystemExit(name)
	END
	check "each has its own" python3 look.py
else
	skip pytest "there is no pytest here"
fi

fresh
mkdir tracelet-out
for name in 'a b' 'a;b' 'c d'; do
	touch "tracelet-out/$name.pb"
	jq -nc --arg name "$name" '{test: ($name | gsub("[^a-z]"; "_")), name: $name, result: "passed", wall_seconds: 1,
		artifacts: [{kind: "perfetto", path: "tracelet-out/\($name).pb", size: 1}]}' >>tracelet-out/manifest.jsonl
done
echo '<testsuite><testcase name="a:b"/><testcase name="c_d"/></testsuite>' >results.xml
check_run "a case that only looks like two tests" 0 "$TRACELET" junit results.xml
check_equal "is left out" "results.xml: 1 of 2 cases have artifacts; 2 tests of the manifest match no case" "$(cat "$stdout")"
check_match "one that can only be one is not" 'name="c_d"><system-out>$' results.xml

done_testing
