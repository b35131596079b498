# tracelet each: the cases of a test program, each traced under its own name.
begin
cp "$build/tests/wine/cases.exe" unit_tests.exe
export CASES_LOG=cases.log
quick='^Parser|^Crash|^All'

# result CASE: its result in the table.
result() {
	grep -F -- "$1  " "$stdout" | grep -E ' [0-9]+\.[0-9]{3} s  ' | sed -E 's/ +[0-9]+\.[0-9]+ s  .*//; s/.*  //'
}

check_run "the cases of a program are listed" 0 tracelet each --list -- ./unit_tests
check_equal "by their names" "Parser.Deep Parser.Wide Parser.Skips Parser.DISABLED_Later Crash.Writes All/Sizes.Fit/0 Meet.Left Meet.Right Hang.Ignores" \
	"$(tr -d '\r' <"$stdout" | xargs)"
check_run "each is run, and the status is GoogleTest's" 1 tracelet each --once --filter "$quick" --junit out.xml --name all -- ./unit_tests
check_equal "a case that passes" passed "$(result Parser.Deep)"
check_equal "one that fails" "failed: exit code 1" "$(result Parser.Wide)"
check_equal "one that is skipped" skipped "$(result Parser.Skips)"
check_equal "one that is disabled" disabled "$(result Parser.DISABLED_Later)"
check_equal "one that crashes" "crashed: access violation (c0000005)" "$(result Crash.Writes)"
check_equal "a parameter" passed "$(result All/Sizes.Fit/0)"
check_match "the sum" '^6 cases: 2 passed, 2 failed, 2 skipped; ' "$stdout"
check_match "what a bad case prints is shown" '^what a bad case prints' "$stdout"
check_not "what a good one prints is not" grep -q 'what a good case prints' "$stdout"
sed -i '/^wine: /d' "$stderr" # it reports the crash
check_lines "nothing on standard error" 0 "$stderr"
check_equal "in their order, one after the other" "begin Parser.Deep end Parser.Deep begin Parser.Wide end Parser.Wide begin Parser.Skips end Parser.Skips begin Crash.Writes begin All/Sizes.Fit/0 end All/Sizes.Fit/0" \
	"$(tr -d '\r' <cases.log | xargs)"
check_equal "each recording ends before the next one" "-start -stop -start -stop -start -stop -start -stop -start -stop" \
	"$(sed 's/^\[\([^]]*\)\].*/\1/' wpr/log | xargs)"
check_equal "a trace for each that was run, under its name" "all__All_Sizes.Fit_0 all__Crash.Writes all__Parser.Deep all__Parser.Skips all__Parser.Wide" \
	"$(cd tracelet-out && echo *.etl | sed -E 's/_[0-9]{8}_[0-9]{6}\.etl//g')"
check_equal "the manifest has them all, with the case's command" "--gtest_filter=Parser.Deep --gtest_filter=Parser.Wide --gtest_filter=Parser.Skips --gtest_filter=Crash.Writes --gtest_filter=All/Sizes.Fit/0" \
	"$(jq -r '.command[-1]' tracelet-out/manifest.jsonl | xargs)"
cat >look.py <<-'END'
	import xml.etree.ElementTree as xml
	suite = xml.parse("out.xml").getroot().find("testsuite")
	print(suite.get("name"), suite.get("tests"), suite.get("failures"), suite.get("skipped"))
	wide = suite.find("testcase[@classname='Parser'][@name='Wide']")
	print(wide.find("failure").get("message"), "|", wide.find("failure").text.strip())
	print(wide.find("system-out").text)
END
python3 look.py >seen
check_equal "JUnit has the results" "unit_tests 6 2 2" "$(sed -n 1p seen)"
check_equal "what a failed one printed" "failed: exit code 1 | what a bad case prints" "$(sed -n 2p seen)"
check_equal "and its trace" "[[ATTACHMENT|$(win "$work/$(ls tracelet-out/all__Parser.Wide*)")]]" "$(sed -n 3p seen)"
rm -rf "$WINEPREFIX"/drive_c/users/*/Temp/tracelet-each.* # wine's debugger may have kept a file in it open

begin
cp "$build/tests/wine/cases.exe" unit_tests.exe
check_run "-j 2: two that wait for each other" 0 tracelet each -j 2 --filter 'Meet\.(Left|Right)$' --quiet -- ./unit_tests
check_lines "--quiet says nothing" 0 "$stdout"
check_equal "both are traced" 2 "$(find tracelet-out -name 'Meet.*.etl' | wc -l)"
check_equal "and nothing else is left" "" "$(find "$WINEPREFIX/drive_c" -name 'tracelet-each.*')"
check_run "a bad expression" 2 tracelet each --filter 'a(' -- ./unit_tests
check_match "is reported" "^tracelet: --filter: 'a\(': ." "$stderr"
check_lines "in one line" 1 "$stderr"
check_run "one that fits nothing, too" 2 tracelet each --filter 'x{3}' -- ./unit_tests
check_match "as such" "no case has 'x\{3\}' in its name" "$stderr"
check_run "a profile that is not there" 0 tracelet each --profile missing --heap --filter Deep -- ./unit_tests
check_equal "is reported once, as unsupported by WPR" 2 "$(grep -c '^tracelet: warning: \(profile missing\|ignored on Windows.*: --heap$\)' "$stderr")"
check_lines "and nothing else" 2 "$stderr"
rm -r tracelet-out
WPR_START_CODE=c5585011 run tracelet each --filter 'Deep|Wide' -- ./unit_tests
check_equal "cases that cannot be traced: the status is the framework's" 1 "$status"
check_match "and the table says so" '^Parser.Deep +passed .* -' "$stdout"
check_match "with what to do" "^no artifacts: .*tracelet doctor" "$stdout"
check_run "--attachments" 0 tracelet each --attachments yes --filter Deep -- ./unit_tests
check_equal "show the traces" 1 "$(grep -c '^\[\[ATTACHMENT|Z:.*Parser.Deep_.*\.etl\]\]' "$stdout")"
check_run "a time limit is each case's" 1 tracelet each --timeout 2 --filter 'Ignores|Deep' -- ./unit_tests
check_equal "a hanging case is killed" "timed out: limit 2 s" "$(result Hang.Ignores)"
check_equal "the others are not" passed "$(result Parser.Deep)"
check_run "--enabled no" 1 tracelet each --enabled no -- ./unit_tests
check_match "runs the program as it is" '^not ok 2 - Parser.Wide' "$stdout"

# ---- other frameworks ----

check_run "a program of a kind that is not known" 3 tracelet each -- "$child" exit 3
check_match "is run whole" "child.exe: unknown test framework; running it as a whole" "$stderr"
check_run "with a report" 3 tracelet each --junit whole.xml -- "$child" exit 3
check_match "it is one case" '<testcase classname="child" name="child" ' whole.xml
check_run "cases that are found by running it" 1 tracelet each --framework tap --select '--only {}' -- ./unit_tests
check_match "in TAP" '^3 cases: 2 passed, 1 failed, 0 skipped' "$stdout"
printf '%s\r\n' '@if "%1 %2"=="--show-only json-v1" goto list' '@echo running %*' '@exit /b 8' ':list' \
	'@echo {"kind":"ctestInfo","tests":[{"name":"one.a","properties":[{"value":true,"name":"RUN_SERIAL"}]},' \
	'@echo {"properties":[{"name":"DISABLED","value":true}],"name":"two"}]}' >ctest.bat
check_run "ctest, as a script" 8 tracelet each -- ./ctest
check_match "its list is JSON" '^2 cases: 0 passed, 1 failed, 1 skipped' "$stdout"
check_match "a case is run by its name" '^running --output-on-failure -R "?\^one\\.a\$' "$stdout"
cp unit_tests.exe meson.exe
check_run "meson, which starts its tests itself in another folder" 1 tracelet each --output-dir 'aus & gabe' --name 'a "b"' -- ./meson test
check_match "has two" '^2 cases: 1 passed, 1 failed, 0 skipped' "$stdout"
check_equal "of which only the tests are traced, in our folder" "a__b___Parser.Deep:--only Parser.Deep a__b___Parser.Wide:--only Parser.Wide" \
	"$(jq -r '"\(.test):\(.command[1:] | join(" "))"' 'aus & gabe/manifest.jsonl' | xargs)"
check_run "what is not there" 2 tracelet each --framework cmocka -- ./unit_tests
check_match "is reported" "unknown framework 'cmocka'; known: pytest ctest meson" "$stderr"
check_run "a program that is not there" 127 tracelet each -- no_such_program
check_run "none at all" 2 tracelet each

# ---- Ctrl-C ----

begin
cp "$build/tests/wine/cases.exe" unit_tests.exe
check_run "Ctrl-C, of which a case takes no notice, twice" 58 python3 "$source/tests/cli/helpers/terminal.py" expect=hanging send='\x03' \
	expect='\^C|.' send='\x03' -- wine "$build/tracelet.exe" each -j 1 --verbose --filter 'Ignores|Deep|Wide' -- ./unit_tests # c000013a
check_equal "ends it: no recording is left" 0 "$(recording)"
check_not "nor the case" pgrep -f "^[^ ]*unit_tests.exe.*Hang.Ignores"
check_run "the state folder is empty" 1 tracelet status
unset CASES_LOG
