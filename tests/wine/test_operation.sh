# start, stop, cancel, status: no process of ours in between.
begin
check_run "nothing is recording" 1 tracelet status
check_run "start" 0 tracelet start setup
check_match "says what stop will make" "recording setup; 'tracelet stop setup' writes .*setup_[0-9_]*\.etl" "$stderr"
check_equal "wpr.exe records" 1 "$(recording)"
check_run "status lists it" 0 tracelet status
check_match "with its file" '^setup +operation .*setup_[0-9_]*\.etl' "$stdout"
check_run "another of that name" 0 tracelet start setup
check_match "saves the first" 'warning: an earlier recording of setup was stopped and saved: .*setup_' "$stderr"
check_run "a second one" 0 tracelet start 'bau ü'
check_run "a mark without a name" 2 tracelet mark 'at "half"'
check_run "with one" 0 tracelet mark --session setup 'at "half"' 'of\'
check_match "is for wpr.exe to make" '^\[-marker\] \[at "half" of\\\] \[-instancename\] \[tracelet_setup_' wpr/log
check_run "current" 0 tracelet current setup
check_match "prints the file" '^Z:.*\\setup_[0-9_]*\.etl$' "$stdout"
check_run "stop without a name" 2 tracelet stop
check_match "asks which" 'several sessions are recording' "$stderr"
check_run "stop" 0 tracelet stop setup
check_match "prints the path and the size" 'setup_[0-9_]*\.etl \([0-9]+ bytes\)' "$stdout"
check_run "stop without a name: the only one" 0 tracelet stop
check "is saved under its name" test -e "$(ls tracelet-out/bau_ü_*.etl)"
check_equal "each start and its stop have the same instance name" 3 \
	"$(grep -E '^\[-st(art|op)\]' wpr/log | sed 's/.*-instancename\] //' | sort | uniq -c | grep -c ' 2 ')"
check_equal "the manifest has them" "operation operation operation" "$(jq -r .kind tracelet-out/manifest.jsonl | xargs)"
check_run "there is none to stop" 1 tracelet stop setup
tracelet start dropped 2>/dev/null
check_run "cancel" 0 tracelet cancel dropped
check_equal "leaves nothing" "" "$(find tracelet-out -name 'dropped*')"
tracelet start one 2>/dev/null
tracelet start two 2>/dev/null
check_run "cancel --all" 0 tracelet cancel --all
check_equal "leaves no recording" 0 "$(recording)"
tracelet start gone 2>/dev/null
rm wpr/*.recording
check_run "one that was stopped behind our back" 1 tracelet status
check_match "is reported" 'warning: gone is no longer being recorded: WPR was stopped' "$stderr"
check_lines "and forgotten" 0 "$stdout"
tracelet start unsure 2>/dev/null
WPR_STATUS_CODE=80070005 run tracelet status
check_match "a wpr.exe that gives no status is no reason to forget" '^unsure ' "$stdout"
tracelet cancel unsure
WPR_START_CODE=c5585011 run tracelet start denied
check_equal "start without rights" 1 "$status"
check_match "says what to do" 'denied: not recorded: not allowed: .*elevated' "$stderr"

tracelet start saved 2>/dev/null
WPR_SLOW=4000 run python3 "$source/tests/cli/helpers/terminal.py" expect='m.*o.*s.*t' send='\x03' -- wine "$build/tracelet.exe" stop saved
check_equal "Ctrl-C while a recording is saved" 0 "$status"
check "does not hurt it" test -s "$(ls tracelet-out/saved_*.etl)"
check_equal "nor leave a part of it" "" "$(find tracelet-out -name '*.part.etl' -o -name '*.spool')"

# A tracelet.exe that was killed: its collectors do not record forever.
timeout 60 wine "$build/tracelet.exe" run --name killed -- "$child" hang "$(win "$work/family")" 2>/dev/null &
for ((i = 0; i < 300; i++)); do
	[ -s family ] && [ "$(wc -l <family)" = 3 ] && break
	sleep 0.1
done
check_equal "a test of three processes runs" 3 "$(alive | wc -l)"
check_run "status lists a test" 0 tracelet status
number=$(awk '$1 == "killed" { print $3 }' "$stdout")
timeout 60 wine taskkill /f /pid "$number" >/dev/null 2>&1
wait
check_run "when its tracelet.exe was killed" 1 tracelet status
check_match "it is cleaned up" 'killed is no longer being recorded' "$stderr"
check_equal "and does not record any more" 0 "$(recording)"
while read -r number; do timeout 60 wine taskkill /f /pid "$number" >/dev/null 2>&1; done <family

# ---- snapshot ----

begin
check_run "nothing to take a snapshot of" 1 tracelet snapshot
check_match "is reported" 'no session is recording' "$stderr"
tracelet start --quiet --type memory --variant a=b --profile light flight
old=$(tracelet current flight | tr -d '\r')
mkdir elsewhere
cd elsewhere || exit 1
check_run "a snapshot, from another folder" 0 tracelet snapshot flight
cd .. || exit 1
check "prints the path and the size" grep -qF "$old (" "$stdout"
check "the trace is there" test -s "tracelet-out/${old##*\\}"
check_equal "another recording began before the first ended, as the first did" "-start -start -stop" \
	"$(sed 's/^\[\([^]]*\)\].*/\1/' wpr/log | xargs)"
check_equal "with the same profile, in memory" 2 "$(grep -c '^\[-start\] \[[^]]*\] \[-instancename\]' wpr/log)"
check_match "that profile" '<Profile Id="light\.' wpr/profile.wprp
check_run "it goes on" 0 tracelet status
check_lines "as one" 1 "$stdout"
check_run "a mark" 0 tracelet mark half
check_equal "is the new one's" "$(grep '^\[-start\]' wpr/log | tail -n 1 | sed 's/.*-instancename\] //')" "$(grep '^\[-marker\]' wpr/log | sed 's/.*-instancename\] //')"
WPR_START_CODE=800705aa TRACELET_WPR_WAIT_SECONDS=0 run tracelet snapshot
check_equal "one for which there is no collector" 1 "$status"
check_match "is reported" 'flight: no snapshot: cannot start the recording that would follow: all event collectors' "$stderr"
check_equal "and nothing has changed" "1 1" "$(recording) $(find tracelet-out -name '*.etl' | wc -l)"
WPR_STOP_CODE=80071069 run tracelet snapshot
check_equal "one that cannot be saved" 1 "$status"
check_match "is reported, too" 'flight: .*80071069' "$stderr"
check_equal "it goes on" 1 "$(recording)"
check_run "stop" 0 tracelet stop
check_equal "the manifest has both" '{"a":"b"} {"a":"b"}' "$(jq -c .variant tracelet-out/manifest.jsonl | sed 's/"/\\"/g' | xargs)"
check_equal "nothing else is left" "2 0" "$(find tracelet-out -name 'flight*' | wc -l) $(recording)"
printf '@"%s" snapshot\r\n' "$(win "$build/tracelet.exe")" >look.bat
check_run "a snapshot of a test" 1 tracelet run --quiet --name waiting -- ./look
check_match "is none" 'waiting: no snapshots of a test: its recording is saved when it ends' "$stderr"
