# tracelet junit: adds traces to a JUnit file, and changes nothing else in it.
begin
native=$source/build
tracelet run --quiet --name Parser.Deep -- "$child" exit 0
tracelet run --quiet --name 'größer & <kleiner>' --output-dir 'aus gabe & mehr' -- "$child" exit 0
cat >results.xml <<'END'
<?xml version='1.0' encoding="UTF-8"?>
<!-- a comment with <testcase name="Deep" classname="Parser"/> in it -->
<testsuites   name = "all">
 <testsuite name="first"	tests="9">
  <properties><property name="a" value="1 &lt; 2 > 1"/></properties>
  <testcase   name='Deep'   classname="Parser"  time="0"/>
  <testcase classname="Parser" name="Wide"><failure message="m"><![CDATA[<testcase/> ]]></failure>
  </testcase>
  <testcase classname="x" name="empty"><system-out/></testcase>
  <testcase classname="y" name="größer &amp; &lt;kleiner&gt;"><system-out>printed <![CDATA[<x>]]>
	</system-out><system-err>bad</system-err></testcase>
  <testcase classname="z" name="with_error"><system-err>bad</system-err></testcase>
 </testsuite>
</testsuites>
<!-- the end -->
END
sed -i 's/$/\r/' results.xml # as Windows programs write them
cp results.xml before.xml
check_run "a file" 0 tracelet junit --output out.xml results.xml
check_equal "how many" "out.xml: 1 of 5 cases have artifacts; 0 tests of the manifest match no case" "$(tr -d '\r' <"$stdout")"
check "the file itself stays" cmp before.xml results.xml
line="[[ATTACHMENT|$(win "$work/$(trace)")]]"
check "the case has its line" grep -qxF "$line" out.xml
# The same as on Linux, except for the form of the path.
"$native/tracelet" junit --quiet --output expected.xml results.xml
python3 -c 'import sys; open("as_linux.xml", "wb").write(open("out.xml", "rb").read().replace(sys.argv[1].encode(), sys.argv[2].encode()))' \
	"$line" "[[ATTACHMENT|$work/$(trace)]]"
check "all else is as it was, byte by byte" cmp expected.xml as_linux.xml

check_run "another manifest, in place" 0 tracelet junit --manifest "$(win "$work/aus gabe & mehr/manifest.jsonl")" results.xml
check_match "says how many" 'results.xml: 1 of 5 cases' "$stdout"
check_equal "the line is in its output, as XML has to write it" "printed <x> | [[ATTACHMENT|$(win "$work")\\aus gabe & mehr\\gr" "$(python3 -c '
import xml.etree.ElementTree as xml
text = xml.parse("results.xml").find(".//testcase[@classname=\"y\"]/system-out").text
print(" | ".join(text.split("\n\t\n"))[:len("printed <x> | ") + text.find("größer") - text.find("[[") + 2].replace("\n", ""))')"
cp results.xml once.xml
tracelet junit --quiet --manifest "$(win "$work/aus gabe & mehr/manifest.jsonl")" results.xml
check "a second time adds nothing" cmp once.xml results.xml
mkdir elsewhere
mv tracelet-out elsewhere/
check_run "a folder that was moved" 0 tracelet junit --manifest elsewhere/tracelet-out/manifest.jsonl --output - before.xml
check_match "has its files beside the manifest" "ATTACHMENT\|Z:.*\\\\elsewhere\\\\tracelet-out\\\\Parser.Deep_" "$stdout"
check_run "on Linux, too" 0 "$native/tracelet" junit --manifest elsewhere/tracelet-out/manifest.jsonl --output - before.xml
check_match "though its paths are of Windows" "ATTACHMENT\|/.*/elsewhere/tracelet-out/Parser.Deep_" "$stdout"

# refused DESCRIPTION REASON: bad.xml, which stays unchanged.
refused() {
	cp bad.xml kept.xml
	check_run "$1" 2 tracelet junit --manifest elsewhere/tracelet-out/manifest.jsonl bad.xml
	check_lines "$1: in one line" 1 "$stderr"
	check_match "$1: that says why" "$2" "$stderr"
	check "$1: the file stays" cmp kept.xml bad.xml
}
head -c 700 before.xml >bad.xml
refused "a file that was cut off" 'bad.xml: line [0-9]+: '
printf '<a>\n<b></a>\n' >bad.xml
refused "tags that do not fit" 'bad.xml: line 2: mismatched tag'
printf '<!DOCTYPE a [<!ENTITY b "c">]><a>&b;</a>' >bad.xml
refused "a DOCTYPE" 'bad.xml: it has a DOCTYPE'
iconv -t UTF-16 before.xml >bad.xml
refused "UTF-16" 'neither UTF-8 nor'
: >bad.xml
refused "an empty file" 'no element found'
check_run "a file that is not there" 2 tracelet junit --manifest elsewhere/tracelet-out/manifest.jsonl missing.xml
check_match "is reported" 'cannot read missing.xml: No such file' "$stderr"
check_run "no manifest" 2 tracelet junit before.xml
check_match "is reported, too" 'cannot read .*manifest.jsonl: No such file' "$stderr"
