# A test program whose cases have hostile names: in the list, the table, failures, JUnit and the CI's own
# files.
. "$(dirname "$0")/lib.sh"
need_command python3
hostile=$source/tests/attack/helpers/hostile.py
export TRACELET_STATE_DIR=$work/state

# A stand-in for pytest: every name that fits in a line is a case; all of them fail.
cat >pytest <<'END'
#!/usr/bin/env python3
import sys
names = ["t.py::\033]0;pwned\a", "::error::pwned", "  ::error file=a::pwned", "##vso[task.complete]::pwned", "a ##[error]::pwned",
	"::</testcase><script>window.pwned=1</script>", "t.py::]]>", "t.py::&#0;", "t.py::a\r::error::pwned", "t.py::\u2028::error::x",
	"t.py::|`code`|<img src=x>[a](javascript:b)", "t.py::" + "x" * 300]
if "--collect-only" in sys.argv:
	sys.stdout.reconfigure(encoding="utf-8")
	print("\n".join(names) + "\nt.py::\udcff".encode("utf-8", "surrogateescape").decode("latin-1"))
	sys.exit(0)
sys.exit(1)
END
chmod +x pytest

# made DESCRIPTION: standard output and standard error contain nothing hostile.
made() {
	check "$1" python3 "$hostile" check text "$stdout"
	check "... nor do the messages" python3 "$hostile" check text "$stderr"
}

run "$TRACELET" each --list -- ./pytest
check_equal "the cases are listed" 0 "$status"
check "there are some" test "$(wc -l <"$stdout")" -gt 10
made "the list holds nothing hostile"

run env -u GITHUB_ACTIONS "$TRACELET" each --junit results.xml -- ./pytest
made "failures and table hold nothing hostile"
check "the report is XML" python3 "$hostile" check xml results.xml
check_equal "with all cases" "$(grep -c '<testcase' results.xml)" "$(python3 -c '
import xml.etree.ElementTree as tree
print(len(list(tree.parse("results.xml").getroot().iter("testcase"))))')"

# ---- CI ----

# The commands in the output are ours, and there are no others.
foreign() { grep -avE '^(::group::--- |::endgroup::$)' "$stdout" >left; python3 "$hostile" check text left; }
run env GITHUB_ACTIONS=true GITHUB_STEP_SUMMARY="$work/summary.md" "$TRACELET" each -- ./pytest
check "GitHub gets no orders from names" foreign
check "nor does a title end" sh -c '! grep -a "^::group::" "$1" | grep -aqP "[\x00-\x08\x0b-\x1f]"' sh "$stdout"
if [ -e summary.md ]; then
	check "the summary is UTF-8 and has no control characters" python3 "$hostile" check text summary.md
	check_not "and no elements but our own mark and line break" grep -qP '(?<!\\)<(?!!-- tracelet -->|br>)' summary.md
fi
foreign() { grep -avE '^##(\[group\]--- |\[endgroup\]$|vso\[artifact.upload |vso\[task.uploadsummary\]'"$work"'/tracelet-out/tracelet-summary.md$)' "$stdout" >left; python3 "$hostile" check text left; }
run env TF_BUILD=True "$TRACELET" each -- ./pytest
check "Azure gets no orders from names" foreign
foreign() { grep -av 'section_\(start\|end\):[0-9]*:tracelet_case' "$stdout" >left; python3 "$hostile" check text left; }
run env GITLAB_CI=true "$TRACELET" each -- ./pytest
check "GitLab's sections are ours only" foreign
done_testing
