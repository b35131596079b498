# Whatever happens to wpr.exe, the test runs and ends as it would without it.
trouble() { # CODE WORDS
	begin
	WPR_START_CODE=$1 run tracelet run -- "$child" exit 3
	check_equal "$1 at the start: the test is run" 3 "$status"
	check_match "$1 in words, with advice" "warning: no trace: $2" "$stderr"
	check_equal "$1 leaves a line of the manifest" "tracelet-out/manifest.jsonl null" \
		"$(find tracelet-out -type f) $(jq -r .backend tracelet-out/manifest.jsonl)"
}
trouble c5585011 'not allowed: recording needs administrator rights \(c5585011\); .*elevated'
trouble c5583001 'a recording with this name is already running'
trouble c5580612 'no provider of the profile could be enabled'
trouble c5580701 'the profile is not valid: Invalid profile. Element SystemProvider, line 7, column 12 Profile Id: RunningProfile \(c5580701\)'
trouble c558300c 'the provider of runtime state, or one of'
trouble c5584017 'the file has no such profile for this way of recording: .*--type file or memory'
trouble 800700b7 'the same .wprp file is given twice'
trouble 80070008 'not enough memory'
trouble 8000ffff 'wpr.exe failed with 8000ffff: Something went wrong, with ü. Profile Id: RunningProfile$'
WPR_UTF16=1 trouble 8000ffff 'wpr.exe failed with 8000ffff: Something went wrong, with ü. Profile Id: RunningProfile$'
export WPR_START_CODE=c5585011
check_run "--strict: without a trace" 125 tracelet run --strict -- "$child" words here
check "the test has not run" test ! -s "$stdout"
unset WPR_START_CODE

begin
for code in c5583000 80071069 80010106; do
	WPR_STOP_CODE=$code run tracelet run -- "$child" exit 2
	check_equal "$code at the end: the status is the test's" 2 "$status"
	check_match "$code is a warning" "warning: no trace: .*\($code\)" "$stderr"
done
check_equal "what still recorded then does not any more" "-start -stop -start -stop -cancel -start -stop -cancel" "$(sed 's/^\[\([^]]*\).*/\1/' wpr/log | xargs)"
check_equal "no half file is left" "tracelet-out/manifest.jsonl" "$(find tracelet-out -type f)"
TRACELET_WPR=${TRACELET_WPR%wpr.exe}wpr_old.exe run tracelet run --name old -- "$child" exit 2
check "an old wpr.exe gets no unknown options" test -s "$(ls tracelet-out/old_*.etl)"
WPR_REFUSES=HvHypercalls run tracelet run --name older -- "$child" exit 2
check_match "nor must it know all keywords of our own profiles" "warning: not recorded because this wpr.exe does not support it: HvHypercalls" "$stderr"
check "to record the rest" test -s "$(ls tracelet-out/older_*.etl)"
WPR_NO_FILE=1 run tracelet run -- "$child" exit 2
check_match "a wpr.exe that leaves no file is reported" "warning: no trace: wpr.exe left no file" "$stderr"
TRACELET_WPR='Z:\nowhere\wpr.exe' run tracelet run -- "$child" exit 2
check_equal "no wpr.exe at all: the status is the test's" 2 "$status"
check_match "and one line says so" "warning: no trace: cannot start wpr.exe .* Windows 10" "$stderr"

begin
# On a terminal, which wine fills letter by letter, and which is 80 columns wide.
WPR_HANG=start TRACELET_WPR_START_SECONDS=4 run python3 "$source/tests/cli/helpers/terminal.py" -- \
	wine "$build/tracelet.exe" run -- "$child" exit 3
sed -i 's/\x1b\[1C/ /g; s/\x1b\[[0-9;?]*[A-Za-z]//g' "$stdout"
check_equal "a wpr.exe that hangs at the start: the test is run" 3 "$status"
check_match "waiting is reported" "running wpr.exe, for at most 4 s" "$stdout"
check_match "after its limit it is killed" "no trace: wpr.exe did not end within 4 s and was" "$stdout"
check_match "and what it may have begun is cancelled" '^\[-cancel\]' wpr/log
begin
WPR_HANG=stop TRACELET_WPR_STOP_SECONDS=1 run tracelet run -- "$child" exit 3
check_equal "one that hangs at the end: the status is the test's" 3 "$status"
check_match "after its limit" "no trace: wpr.exe did not end within 1 s and was killed" "$stderr"
check_equal "and no recording is left" 0 "$(recording)"

# Collectors: one becomes free while the second test waits.
begin
export WPR_MOST=1
timeout 60 wine "$build/tracelet.exe" start first 2>/dev/null
timeout 60 wine "$build/tracelet.exe" run --name second -- "$child" exit 3 2>second.log &
waiting=$!
for ((i = 0; i < 300; i++)); do
	grep -q 'for a free collector' second.log 2>/dev/null && break
	sleep 0.1
done
check_match "a session waits for a collector" 'second: waiting at most 20 s for a free collector: all event collectors' second.log
tracelet stop first >/dev/null
status=0
wait "$waiting" || status=$?
check_equal "gets it when another ends, and the test is run" 3 "$status"
check "and traced" test -e "$(ls tracelet-out/second_*.etl)"
tracelet start third 2>/dev/null
TRACELET_WPR_WAIT_SECONDS=1 run tracelet run --name fourth -- "$child" exit 4
check_equal "after its limit the test is run without" 4 "$status"
check_match "with a warning" 'warning: no trace: all event collectors .* \(800705aa\); run fewer' "$stderr"
unset WPR_MOST
tracelet cancel third
check_equal "nothing is left" 0 "$(recording)"
