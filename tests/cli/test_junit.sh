# `tracelet junit`: adds artifacts to a JUnit file, and changes nothing else in it.
. "$(dirname "$0")/lib.sh"

unset GITLAB_CI CI_PROJECT_DIR $(env | sed -n 's/^\(TRACELET_[A-Z_]*\)=.*/\1/p')
mkdir tracelet-out

# artifact TEST FILE: writes a line of the manifest, and the file.
artifact() {
	touch "tracelet-out/$2"
	jq -nc --arg test "$1" --arg path "tracelet-out/$2" \
		'{test: $test, result: "passed", wall_seconds: 1, artifacts: [{kind: "perfetto", path: $path, size: 1}]}' \
		>>tracelet-out/manifest.jsonl
}
# The line for the artifact.
attached() {
	echo "[[ATTACHMENT|$PWD/tracelet-out/$1]]"
}
# case_output CLASS NAME [FILE]: the case's <system-out>, without white space.
case_output() {
	python3 -c '
import sys, xml.etree.ElementTree as xml
for case in xml.parse(sys.argv[3]).iter("testcase"):
    if (case.get("classname"), case.get("name")) == tuple(sys.argv[1:3]):
        print(" ".join("".join(out.text or "" for out in case.iter("system-out")).split()))' "$1" "$2" "${3:-results.xml}"
}

artifact Parser.Deep old.pb
artifact Parser.Deep deep.pb
artifact Parser.Wide 'wide & ünï.pb'
artifact empty empty.pb
artifact test_one one.pb
artifact twice twice.pb
artifact tests_test_a.py__TestGroup__test_in_1_ python.pb
artifact nobody nobody.pb
echo '{"deleted": [{"path": "x.pb"}]}' >>tracelet-out/manifest.jsonl
printf '{"test": "half' >half
artifact with_error error.pb
cat >results.xml <<'END'
<?xml version='1.0' encoding="UTF-8"?>
<!-- a comment with <testcase name="Deep" classname="Parser"/> in it -->
<testsuites   name = "all">
 <testsuite name="first"	tests="9">
  <properties><property name="a" value="1 &lt; 2"/></properties>
  <testcase   name='Deep'   classname="Parser"  time="0"/>
  <testcase classname="Parser" name="Wide"><failure message="m"><![CDATA[<testcase/> ]]></failure>
  </testcase>
  <testcase classname="x" name="empty"><system-out/></testcase>
  <testcase classname="y" name="test_one"><system-out>printed <![CDATA[<x>]]></system-out></testcase>
  <testcase classname="a" name="twice" /><testcase classname="b" name="twice" />
  <testcase classname="tests.test_a.TestGroup" name="test_in[1]"/>
  <testcase classname="z" name="with_error"><system-err>bad</system-err></testcase>
 </testsuite>
</testsuites>
<!-- the end -->
END
cat half >>tracelet-out/manifest.jsonl
cp results.xml before.xml

check_run "a file" 0 "$TRACELET" junit --output out.xml results.xml
check_equal "how many" "out.xml: 6 of 8 cases have artifacts; 2 tests of the manifest match no case" "$(cat "$stdout")"
check "what was there stays as it was" cmp results.xml before.xml
check_equal "the last run of a case" "$(attached deep.pb)" "$(case_output Parser Deep out.xml)"
check_equal "a path of any kind" "$(attached 'wide & ünï.pb')" "$(case_output Parser Wide out.xml)"
check_equal "into an output that is empty" "$(attached empty.pb)" "$(case_output x empty out.xml)"
check_equal "behind what was printed" "printed <x> $(attached one.pb)" "$(case_output y test_one out.xml)"
check_equal "a Python test" "$(attached python.pb)" "$(case_output tests.test_a.TestGroup 'test_in[1]' out.xml)"
check_equal "beside errors" "$(attached error.pb)" "$(case_output z with_error out.xml)"
check_equal "an ambiguous name is given to no case" "" "$(case_output a twice out.xml)$(case_output b twice out.xml)"

# Without the added lines and their elements it is the original file.
python3 - <<'END'
import re
line = r"(?:\n\[\[ATTACHMENT[^\n]*\]\]\n)"
text = open("out.xml", encoding="utf-8").read()
text = re.sub(rf'(name="empty">)<system-out>{line}</system-out>', r"\1<system-out/>", text)
text = re.sub(rf"><system-out>{line}</system-out></testcase>", "/>", text)
text = re.sub(rf"<system-out>{line}</system-out>", "", text)
open("without.xml", "w", encoding="utf-8").write(re.sub(line, "", text))
END
check "all else is as it was" diff before.xml without.xml

check_run "in place" 0 "$TRACELET" junit results.xml
check "is the same" cmp results.xml out.xml
check_run "a second time" 0 "$TRACELET" junit --quiet results.xml
check_lines "quietly" 0 "$stdout"
check "adds nothing" cmp results.xml out.xml
check_run "to standard output" 0 "$TRACELET" junit --output - before.xml
check "that too" cmp "$stdout" out.xml

mkdir elsewhere
cp before.xml elsewhere/results.xml
here=$PWD
cd elsewhere || exit
check_run "with a manifest that lies elsewhere" 0 "$TRACELET" junit --manifest ../tracelet-out/manifest.jsonl results.xml
cd .. || exit
check_equal "its artifacts are found beside it" "[[ATTACHMENT|$here/tracelet-out/deep.pb]]" \
	"$(case_output Parser Deep elsewhere/results.xml)"
cp before.xml results.xml
check_run "on GitLab" 0 env GITLAB_CI=true CI_PROJECT_DIR="$PWD" "$TRACELET" junit results.xml
check_equal "paths begin at the project" "[[ATTACHMENT|tracelet-out/deep.pb]]" "$(case_output Parser Deep)"
rm tracelet-out/deep.pb
cp before.xml results.xml
check_run "an artifact that was deleted" 0 "$TRACELET" junit results.xml
check_equal "is not reported" "" "$(case_output Parser Deep)"

iconv -f utf-8 -t iso-8859-1 before.xml | sed 's/UTF-8/ISO-8859-1/; s/name="all"/name="\xe4ll"/' >latin.xml
check_run "a file in Latin 1" 0 "$TRACELET" junit latin.xml
check_equal "gets the right path" "$(attached 'wide & ünï.pb')" "$(case_output Parser Wide latin.xml)"

# ---- why a test failed ----

mkdir -p why/tracelet-out && cd why || exit
# failed TEXT: a manifest with a test that failed, and adds it to a JUnit file.
failed() {
	touch tracelet-out/slow.pb
	jq -nc --arg why "$1" '{test: "slow", result: "failed: exit status 1", wall_seconds: 1, explanation: $why,
		artifacts: [{kind: "perfetto", path: "tracelet-out/slow.pb", size: 1}]}' >tracelet-out/manifest.jsonl
	echo '<testsuite name="s"><testcase name="slow"><failure/></testcase></testsuite>' >results.xml
	"$TRACELET" junit results.xml >/dev/null
}
failed 'For 116 ms (79 %), a < b slept.'
check_match "a test that failed has the answer of tracelet why" '^For 116 ms \(79 %\), a &#x3c; b slept\.$' results.xml
check_match "and its artifacts" '^\[\[ATTACHMENT\|.*slow.pb\]\]$' results.xml
cp results.xml once.xml
"$TRACELET" junit results.xml >/dev/null
check "only once" cmp once.xml results.xml
failed 'For 116 ms (79 %), [[ATTACHMENT|/etc/passwd]] slept.'
check_not "a name in it attaches no file" grep -q passwd results.xml
cd .. || exit

# ---- invalid files: one line, nothing changed ----

bad() { # WHAT PATTERN FILE [OPTIONS...]
	what=$1 pattern=$2 file=$3
	shift 3
	cp "$file" copy
	check_run "$what is refused" 2 "$TRACELET" junit "$@" "$file"
	check_lines "in one line" 1 "$stderr"
	check_match "that says why" "$pattern" "$stderr"
	check "it stays as it was" cmp "$file" copy
	check_equal "nothing is left beside it" "" "$(ls | grep '\.tmp$')"
}
head -c 300 before.xml >cut.xml
bad "a file that is cut" 'cut.xml: line [0-9]+: ' cut.xml
printf '<?xml version="1.0"?>\n<!DOCTYPE a [<!ENTITY b "c">]>\n<a>&b;</a>' >doctype.xml
bad "a document type" 'doctype.xml: .*DOCTYPE' doctype.xml
iconv -f utf-8 -t utf-16 before.xml >wide.xml
bad "UTF-16" 'wide.xml: neither UTF-8 nor' wide.xml
: >empty.xml
bad "an empty file" 'empty.xml: line 1: no element found' empty.xml
echo '<testsuites><testsuite name="none" tests="0"/></testsuites>' >none.xml
bad "a file without test cases" 'none.xml: it has no test cases' none.xml
echo '<testsuites/>' >other.xml
check_run "nor is anything written elsewhere" 2 "$TRACELET" junit --output written.xml other.xml
check_not "no output" test -e written.xml
printf '\0\1\2\3' >bytes.xml
bad "no text at all" 'bytes.xml: ' bytes.xml
echo 'no JSON' >bad.jsonl
bad "a manifest that is none" 'bad.jsonl: not a manifest' before.xml --manifest bad.jsonl
check_run "a file that is not there" 2 "$TRACELET" junit no-such.xml
check_lines "one line" 1 "$stderr"
check_run "a manifest that is not there" 2 "$TRACELET" junit --manifest no-such.jsonl before.xml
check_lines "one line too" 1 "$stderr"
check_run "an output that cannot be written" 2 "$TRACELET" junit --output /no/such/out.xml before.xml
check_match "is reported" 'cannot write /no/such/out.xml' "$stderr"

# ---- a folder in which others can write ----

fresh
echo '<testsuite><testcase name="a"/></testsuite>' >results.xml
mkdir tracelet-out
mkfifo tracelet-out/manifest.jsonl
check_run "a FIFO where the manifest should be is not waited for" 2 timeout 20 "$TRACELET" junit results.xml
check_match "one line says so" '^tracelet: tracelet-out/manifest.jsonl: not a regular file' "$stderr"

done_testing
