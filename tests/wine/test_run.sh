# tracelet run: the test runs as it would without it, and WPR has recorded.
begin
check_run "the exit code is the test's" 3 tracelet run -- "$child" exit 3
etl=$(trace)
check "there is one trace, named after the test and the time" \
	grep -Eq '^tracelet-out/child_[0-9]{8}_[0-9]{6}\.etl$' <<<"$etl"
instance=$(sed -n 's/.*\[-instancename\] \[\(.*\)\]$/\1/p' wpr/log | sort -u)
check "it has one instance name, of its own" grep -Eq '^tracelet_child_[0-9]+_[0-9]+$' <<<"$instance"
check_match "wpr.exe was to record to a file" '^\[-start\] \[[^]]*\.wprp\] \[-filemode\] \[-instancename\] ' wpr/log
check_match "and to save it in that folder" '^\[-stop\] \[Z:\\.*\\tracelet-out\\child_[0-9_]*\.part\.etl\] \[-skipPdbGen\] \[-instancename\] ' wpr/log
check_lines "and was called twice" 2 wpr/log
"$source/build/tracelet" profile export >expected
check "it got the built-in profile" cmp expected wpr/profile.wprp
name=$(sed -n 's/^\[-start\] \[.*\\\([^]]*\.wprp\)\].*/\1/p' wpr/log)
check_equal "which was deleted afterwards" "" "$(find "$WINEPREFIX/drive_c" -name "${name:-*.wprp}")"
check_equal "nothing else is left" "$(printf '%s\n' "$etl" tracelet-out/manifest.jsonl)" "$(find tracelet-out -type f | sort)"
shown=${etl//\//\\}
check "the summary names it" grep -qF "trace   $shown (" "$stderr"
check_match "and the result" 'child failed: exit code 3 in' "$stderr"
check_equal "so does the manifest" "child failed: exit code 3 3 wpr $shown" \
	"$(jq -r '[.test, .result, .exit, .backend, .artifacts[0].path] | join(" ")' tracelet-out/manifest.jsonl)"
check_equal "with its sum" "$(sha256sum <"$etl" | cut -d' ' -f1)" "$(jq -r '.artifacts[0].sha256' tracelet-out/manifest.jsonl)"
check_run "there is nothing in the state folder" 1 tracelet status

begin
head -c 100000 /dev/urandom >input
run bash -c "timeout 60 wine '$build/tracelet.exe' run --quiet -- '$child' copy <input >output 2>errors"
check_equal "a test that copies" 0 "$status"
check "has its own input and output, byte by byte" cmp input output
check_equal "and error output; --quiet adds nothing" "copied" "$(tr -d '\r' <errors)"

begin
run tracelet run --quiet -- "$child" words 'two words' '' 'a"b' 'back\' 'x\\"y' 'dir\ ' 'übung 日本' '*.etl' '%PATH%' "it's"
timeout 60 wine "$child" words 'two words' '' 'a"b' 'back\' 'x\\"y' 'dir\ ' 'übung 日本' '*.etl' '%PATH%' "it's" >expected
check "words arrive as they were given" cmp expected "$stdout"

begin
check_run "exit codes have 32 bits" 0 bash -c \
	"timeout 60 wine '$build/tracelet.exe' run --json out.json -- '$child' exit 0xC0000005; jq -e '.exit == -1073741819 and .result == \"crashed: access violation (c0000005)\"' out.json"
check_run "a name of one's own, made safe" 1 tracelet run --name 'suite::case/ü' -- "$child" exit 1
check "names the trace" grep -Eq 'suite__case_ü_[0-9_]*\.etl$' <<<"$(ls tracelet-out/suite*)"
check_run "a test that is not there" 127 tracelet run -- no_such_test
check_match "is reported" 'no_such_test: cannot be run: not found' "$stderr"
echo 'not a program' >text.exe
check_run "a file that is no program" 126 tracelet run -- ./text.exe
cp "$child" a.test.exe
check_run "a program with a dot in its name" 5 tracelet run --quiet -- ./a.test exit 5
printf '@echo %%1 %%2\r\n@exit /b 9\r\n' >script.bat
check_run "a script of cmd.exe" 9 tracelet run -- ./script one "two words"
check_match "with its words" 'one "two words"' "$stdout"
check_equal "is named without its extension" script "$(basename tracelet-out/script* | sed 's/_[0-9_]*\.etl//')"
check_equal "no recording is left" 0 "$(recording)"

begin
check_run "a crash is the test's own end" 5 tracelet run -- "$child" crash # the lower byte of c0000005
check_match "and is named" 'crashed: access violation \(c0000005\)' "$stderr"

begin
check_run "--keep failed: a test that passed" 0 tracelet run --keep failed -- "$child" exit 0
check_equal "leaves no trace" "" "$(trace)"
check_match "and wpr.exe need not save it" '^\[-cancel\] \[-instancename\]' wpr/log
check_run "--type memory: one that failed" 4 tracelet run --type memory -- "$child" exit 4
check "leaves one" test -e "$(trace)"
check_match "of a flight recorder" '^\[-start\] \[[^]]*\] \[-instancename\]' wpr/log
check_run "--enabled no" 2 tracelet run --enabled no -- "$child" exit 2
check_lines "calls no wpr.exe" 4 wpr/log

begin
export CI=true TF_BUILD=True JENKINS_URL=x NEXTEST_EXECUTION_MODE=process-per-test
check_run "in a CI" 1 tracelet run --output-dir 'aus gabe (ü) & mehr' -- "$child" exit 1
unset CI TF_BUILD JENKINS_URL NEXTEST_EXECUTION_MODE
check_match "a folder of any name reaches wpr.exe" '^\[-stop\] \[Z:[^]]*\\aus gabe \(ü\) & mehr\\child_[0-9_]*\.part\.etl\] ' wpr/log
check_match "the trace is announced as an attachment" '^\[\[ATTACHMENT\|Z:.*child_.*\.etl\]\]$' "$stdout"
check_match "and to Azure" '^##vso\[artifact.upload .*\]Z:.*child_.*\.etl$' "$stderr"

begin
"$source/build/tracelet" profile export >mine.wprp
check_run "a profile of the user's" 0 tracelet run --profile 'mine.wprp!embedded.Verbose.File' -- "$child" exit 0
check_match "is handed to wpr.exe" '^\[-start\] \[Z:[^]]*\\mine\.wprp!embedded\.Verbose\] \[-filemode\]' wpr/log
mkdir 'mit ü'
sed 's/"embedded/"Other/g' mine.wprp >'mit ü/other (1).wprp'
check_run "several" 0 tracelet run --profile 'mit ü/other (1).wprp' --profile light --profile 'mine.wprp' --profile io -- "$child" exit 0
check_match "are started together, the built-in ones as one" '^\[-start\] \[[^]]*tracelet-[0-9]*\.wprp\] \[-start\] \[Z:[^]]*\\mit ü\\other \(1\)\.wprp!Other\.Verbose\] \[-start\] \[Z:[^]]*\\mine\.wprp!embedded\.Verbose\] \[-filemode\] \[-instancename\]' wpr/log
check_run "one that is two built-in ones" 0 tracelet run --profile light --profile io -- "$child" exit 0
check_equal "records what both do, in one profile" "light_io.Verbose.File: CSwitch DiskIO DiskIOInit FileIO FileIOInit Filename ProcessThread ReadyThread, 1 collector" \
	"$(sed -n 's/.*<Profile Id="\([^"]*File\)".*/\1:/p' wpr/profile.wprp) $(sed -n 's/.*<Keyword Value="\(.*\)".*/\1/p' wpr/profile.wprp | xargs), $(grep -c '<SystemCollector ' wpr/profile.wprp) collector"
check_run "two of one file, which WPR refuses" 0 tracelet run --profile mine.wprp --profile './MINE.wprp!embedded' -- "$child" exit 0
check_match "is reported, and one is recorded" 'warning: profile ./MINE.wprp!embedded: WPR accepts only one profile from each file' "$stderr"
check_run "and is an error with --strict" 125 tracelet run --strict --profile mine.wprp --profile './MINE.wprp!embedded' -- "$child" exit 0
sed '/<Profile .*"Memory"/d; s/Verbose\.File/Verbose.Memory/; s/"File"/"Memory"/' mine.wprp >memory.wprp
check_run "one for memory only" 0 tracelet run --profile memory.wprp -- "$child" exit 0
check_match "is recorded there" '^\[-start\] \[Z:[^]]*\\memory\.wprp!embedded\.Verbose\] \[-instancename\]' wpr/log
sed 's/<\/Profiles>//' mine.wprp >broken.wprp
check_run "one that WPR would not take" 0 tracelet run --profile broken.wprp -- "$child" exit 0
check_match "is reported with its line" 'warning: profile broken.wprp:[0-9]+:[0-9]+: mismatched tag.*recording with embedded' "$stderr"
check_run "one that is not there" 0 tracelet run --profile missing.wprp -- "$child" exit 0
check_match "is a warning" 'warning: profile missing.wprp.*recording with embedded' "$stderr"
check_run "and an error with --strict" 125 tracelet run --strict --profile missing.wprp -- "$child" exit 0
check_run "what WPR cannot do is reported" 0 tracelet run --heap --sample -- "$child" exit 0
check_match "in one line" 'warning: ignored on Windows.*: --sample, --heap$' "$stderr"
check_run "a profile that is named is the one" 0 tracelet run --profile default -- "$child" exit 0
check_match "also where another is usual" '<Profile Id="default.Light.File"' wpr/profile.wprp
printf '@"%s" mark half of it\r\n' "$(win "$build/tracelet.exe")" >marks.bat
check_run "a test that marks where it is" 0 tracelet run --quiet -- ./marks
check_equal "marks its own recording" "$(sed -n 's/^\[-start\].*\[-instancename\]/[-marker] [half of it] [-instancename]/p' wpr/log | tail -n 1)" "$(grep '^\[-marker\]' wpr/log)"

begin
printf 'output-dir = traces\r\nname = from_file ; a comment\r\n' >tracelet.ini
check_run "settings come from tracelet.ini" 0 tracelet run -- "$child" exit 0
check "for the folder and the name" test -e "$(ls traces/from_file_*.etl)"
check_run "the positional form" 6 tracelet run-test --trace out 60 "$child" exit 6
check "traces there" test -e "$(ls out/child_*.etl)"
rm tracelet.ini
for i in 1 2 3; do tracelet run --quiet --name old$i --output-dir kept -- "$child" exit 0; done
check_run "the folder's limit" 0 tracelet run --quiet --name new --output-dir kept --max-total-size 150 -- "$child" exit 0
check_equal "costs the oldest" "new old2 old3" "$(cd kept && echo *.etl | sed 's/_[0-9]*_[0-9]*\.etl//g' | tr ' ' '\n' | sort | xargs)"
check_match "and is noted" '"deleted":\[\{"test":"old1"' kept/manifest.jsonl

begin
part=$(printf 'x%.0s' {1..100})
check_run "a folder of more than 260 characters" 0 tracelet run --name long --output-dir "$part/$part/$part" -- "$child" exit 0
check_match "is not valid for wpr.exe" '^\[-stop\] \[C:[^]]*\\tracelet_long_[0-9_]*\.etl\] ' wpr/log
check "the trace comes there" test -s "$(ls $part/$part/$part/long_*.etl)"
check_equal "and nothing is left elsewhere" "" "$(find "$WINEPREFIX/drive_c" -name 'tracelet_long*')"

begin
check_run "Ctrl-C is the test's: it ends as it likes" 7 \
	python3 "$source/tests/cli/helpers/terminal.py" expect=ready send='\x03' -- wine "$build/tracelet.exe" run -- "$child" break
check "and is traced to its end" test -e "$(trace)"
check_match "what it printed stays as it is" ready "$stdout"

begin
tracelet start first 2>/dev/null
WPR_MOST=1 run python3 "$source/tests/cli/helpers/terminal.py" expect='for a free collector' send='\x03' -- \
	wine "$build/tracelet.exe" run -- "$child" words begun
check_equal "Ctrl-C before the test has begun" 58 "$status" # the lower byte of c000013a
check_match "ends the waiting" 'child: not run: ended by Ctrl-C' "$stdout"
check_not "and nothing is run" grep -q '^\[begun' "$stdout"
check_equal "nor left" "" "$(ls tracelet-out | grep -v '^first')"
