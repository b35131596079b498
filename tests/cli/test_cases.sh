# One program that marks its many cases itself: a trace for each.
. "$(dirname "$0")/lib.sh"
need_root

unset CI
tp=$source/tests/perfetto/tp
program=$TRACELET_HELPERS/cases
line_of() { jq -c "select(.test == \"$1\")" tracelet-out/manifest.jsonl; }
trace_of() { line_of "$1" | jq -r '.artifacts[0].path'; }
programs_in() { "$tp" "$1" "select group_concat(word, ' ') from (select distinct substr(cmdline, 6) as word from process
	where cmdline glob 'true *' and upid in (select upid from thread join sched_slice using (utid)) order by word)"; }

run_whole "$TRACELET" run --json summary.json -- "$program"
check_equal "a program that marks its cases" 1 "$status"
check_match "the summary counts them" "cases +3 passed, 1 failed, 1 skipped" "$stderr"
check_match "and names those that failed, with their trace" "failed +Suite.Fails/1: tracelet-out/Suite.Fails_1_[0-9_]*\.pb" "$stderr"
check_equal "the whole has a trace" 1 "$(find tracelet-out -name 'cases_*.pb' | wc -l)"
check_equal "each case has one" 5 "$(find tracelet-out -name '*.pb' ! -name 'cases_*' | wc -l)"
check_equal "nothing else is left" "" "$(ls -A tracelet-out | grep -v -e '\.pb$' -e '^manifest.jsonl$')"
check "all are good" "$TRACELET" check tracelet-out/*.pb
check_equal "the manifest has a line for each" "Left passed,Right passed,Suite.Fails_1 failed,Suite.Passes passed,Suite.Skipped skipped" \
	"$(jq -r 'select(.kind == "case") | "\(.test) \(.result)"' tracelet-out/manifest.jsonl | sort | paste -sd ,)"
check_equal "so has the JSON of the whole" 5 "$(jq '.cases | length' summary.json)"
passes=$(trace_of Suite.Passes)
check_equal "with the hash of its trace" "$(sha256sum "$passes" | cut -d ' ' -f 1)" "$(line_of Suite.Passes | jq -r '.artifacts[0].sha256')"
check_equal "none has lost anything" 0 "$(jq -s 'map(select(.kind == "case") | .lost | add // 0) | add' tracelet-out/manifest.jsonl)"

check_equal "a case has what happened in it, and no more" "first" "$(programs_in "$passes")"
check_equal "so has the next" "second" "$(programs_in "$(trace_of Suite.Fails_1)")"
check_equal "cases at the same time see each other" "Left Right" "$(programs_in "$(trace_of Left)")"
"$tp" --health "$passes" \
	"select name || ' ' || category from slice where category in ('test', 'mark') order by ts" \
	"select count(distinct name) from thread join sched_slice using (utid) where thread.name = 'cases'" \
	"select count(*) from process where cmdline glob '*/cases'" \
	"select (trace_end() - trace_start()) / 1e9 < 2" \
	"select str_value from metadata where name = 'trace_attribute.test'" \
	"select count(*) from stats where severity = 'error' and value > 0" >answers
check_equal "its trace is healthy" 0 $?
check_equal "it has its own marks" "Suite.Passes test phase mark" "$(sed -n 1,2p answers | paste -sd ' ')"
check_equal "the program's threads run in it" 1 "$(sed -n 3p answers)"
check_equal "under their command line" 1 "$(sed -n 4p answers)"
check_equal "and ends with it" 1 "$(sed -n 5p answers)"

check_run "the CI gets a line for each" 1 "$TRACELET" run -q --attachments yes -- "$program"
check_equal "of the whole and of its cases" 6 "$(grep -c '^\[\[ATTACHMENT|/.*\.pb\]\]$' "$stdout")"

check_run "a name goes before theirs, as with 'each'" 1 "$TRACELET" run -q --name unit -- "$program"
check_equal "in the files too" 1 "$(find tracelet-out -name 'unit__Suite.Passes_*.pb' | wc -l)"

rm -rf tracelet-out
run_whole "$TRACELET" run -- "$program" crashes
check_equal "a program that crashes in a case" 139 "$status"
check_match "says which" "failed +Suite.Crashes \(did not end\): tracelet-out/Suite.Crashes_" "$stderr"
check_equal "it has a trace" "third" "$(programs_in "$(trace_of Suite.Crashes)")"
check "which is good" "$TRACELET" check tracelet-out/*.pb

rm -rf tracelet-out
check_run "--keep failed" 1 "$TRACELET" run -q --keep failed -- "$program"
check_equal "keeps those that failed" "Suite.Fails_1 cases" \
	"$(find tracelet-out -name '*.pb' -printf '%f\n' | sed 's/_[0-9]*_[0-9]*\.pb//' | sort | paste -sd ' ')"
check_equal "the others are in the manifest" 5 "$(jq -s 'map(select(.kind == "case")) | length' tracelet-out/manifest.jsonl)"

rm -rf tracelet-out
check_run "--cases no" 1 "$TRACELET" run -q --cases no -- "$program"
check_equal "gives only the whole" 1 "$(find tracelet-out -name '*.pb' | wc -l)"
check_run "a bad value" 2 "$TRACELET" run --cases perhaps -- "$program"
check_lines "is one line" 1 "$stderr"

# ---- JUnit ----

rm -rf tracelet-out
cat >report.xml <<'END'
<testsuites><testsuite name="Suite"><testcase classname="Suite" name="Passes"/><testcase classname="Suite" name="Fails/1"/></testsuite></testsuites>
END
"$TRACELET" run -q -- "$program"
check_run "the cases of a report get their traces" 0 "$TRACELET" junit report.xml
check_equal "each its own" 2 "$(grep -o 'ATTACHMENT|[^]]*Suite\.[A-Z][a-z_0-9]*\.pb' report.xml | sort -u | wc -l)"

done_testing
