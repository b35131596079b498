# Recordings in which every name is hostile: escape sequences, CI commands, scripts, invalid UTF-8.
# Output for people must not contain them, and output for programs must stay well-formed.
. "$(dirname "$0")/lib.sh"
need_command python3
hostile=$source/tests/attack/helpers/hostile.py
python3 "$hostile" make || exit 1

# made DESCRIPTION KIND COMMAND...: its output is valid for that kind.
made() {
	local description=$1 kind=$2
	shift 2
	run "$@"
	cp "$stdout" made.out
	check_equal "$description" 0 "$status"
	check "... and holds nothing hostile" python3 "$hostile" check "$kind" made.out
	check "... nor do its messages" python3 "$hostile" check text "$stderr"
}

for file in hostile.dhat.json hostile.pb hostile.perf hostile.folded; do
	made "info: $file" text "$TRACELET" info $file
	made "info --json: $file" json "$TRACELET" info --json $file
	made "report: $file" page "$TRACELET" report -o - $file
done

for file in hostile.dhat.json hostile.perf hostile.folded; do
	made "$file as SVG" xml "$TRACELET" flame -o - $file
	made "$file as a page" page "$TRACELET" flame --html -o - $file
	made "$file as folded stacks" folded "$TRACELET" fold $file
	made "$file as speedscope" json "$TRACELET" convert --to speedscope $file -
	made "$file as gecko" json "$TRACELET" convert --to gecko $file -
	made "$file: top" text "$TRACELET" top --limit 0 $file
	made "$file: top --json" json "$TRACELET" top --json --limit 0 $file
	made "$file: diff" text "$TRACELET" diff --limit 0 $file $file
	made "$file: diff --json" json "$TRACELET" diff --json --limit 0 $file $file
	made "$file as pprof" pprof "$TRACELET" convert --to pprof $file -
done
# A function with that name is listed, so its callers can be queried.
made "top --function" text "$TRACELET" top --function '::error::pwned' hostile.perf

for file in hostile.pb hostile.perf; do
	made "$file: dump" text "$TRACELET" dump $file
	made "$file: dump --json" jsonl "$TRACELET" dump --json $file
	made "$file: dump --csv" csv "$TRACELET" dump --csv $file
done
for table in processes threads context-switches cpu-usage-precise; do
	made "table $table" text "$TRACELET" table hostile.pb $table
	made "table $table --csv" csv "$TRACELET" table --csv hostile.pb $table
	made "table $table --json" json "$TRACELET" table --json hostile.pb $table
done
# A column from the test at the beginning of the line.
made "table --group-by" text "$TRACELET" table hostile.pb threads --group-by name
made "why" text "$TRACELET" why --limit 0 hostile.pb
made "why --json" json "$TRACELET" why --json hostile.pb
made "the path as a flame graph" xml "$TRACELET" flame --path -o - hostile.pb
made "the path as a page" page "$TRACELET" flame --path --html -o - hostile.pb
made "two paths" text "$TRACELET" diff --limit 0 hostile.pb hostile.pb
importer() { # TRACE SQL: one JSON array, from Perfetto's own importer
	"$source/tests/perfetto/tp" --json --health --allow misplaced_end_event "$@"
}
for file in hostile.perf hostile.pb hostile.folded hostile.dhat.json; do
	check_run "$file as a Perfetto trace" 0 "$TRACELET" convert --to perfetto $file out.pb
	made "check: $file" text "$TRACELET" check out.pb
	run importer out.pb "select name from thread where name is not null union all select name from process where name is not null
		union all select name from slice union all select name from stack_profile_frame"
	if [ "$status" = 77 ]; then
		skip "$file in Perfetto's importer" "the importer cannot be had here"
	else
		check_equal "$file in Perfetto's importer" 0 "$status"
		[ "$status" = 0 ] || note "$(head -c 2000 "$stderr")"
		check "... whose names are text" python3 "$hostile" check json "$stdout"
		check "... and all there" sh -c 'test "$(jq length "$1")" -ge 40' sh "$stdout"
	fi
	rm -f out.pb
done

# ---- a report from elsewhere ----

python3 - <<'END'
from xml.sax.saxutils import quoteattr
names = ["</testcase><script>window.pwned=1</script>", "::error::pwned", "##vso[task.complete]pwned", "a\u202egnp.exe", "x" * 10000, "]]>", "&#x1b;"]
cases = "".join('<testcase name=%s classname=%s/>' % (quoteattr(name), quoteattr(name)) for name in names)
open("results.xml", "w", encoding="utf-8").write("<testsuites><testsuite name='s'>" + cases + "</testsuite></testsuites>")
END
printf '%s\n' '{"schema":1,"test":"::error::pwned","result":"failed","artifacts":[]}' >manifest.jsonl
run "$TRACELET" junit --manifest manifest.jsonl results.xml
check "junit: messages hold nothing hostile" python3 "$hostile" check text "$stderr"
check "the report stays well-formed" python3 "$hostile" check xml results.xml

# ---- names of files ----

odd=$(printf 'a\n::error::pwned\033[31m##vso[x]')
cp hostile.pb "$odd"
made "info of a file with such a name" text "$TRACELET" info "$odd"
run "$TRACELET" check "$odd"
cp "$stdout" made.out
check "check of one" python3 "$hostile" check text made.out
mkdir "$odd.d"
run "$TRACELET" info "$odd.d"
check "a folder, in a message" python3 "$hostile" check text "$stderr"
done_testing
