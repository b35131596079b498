# start, stop, cancel, status, current, snapshot: sessions that are not one command.
. "$(dirname "$0")/lib.sh"
need_root

export TRACELET_STATE_DIR=$PWD/state HOME=$PWD
unset CI
tp=$source/tests/perfetto/tp
recorded_by=bpf
[ -z "${TRACELET_THROUGH_COLLECTOR:-}" ] || recorded_by=collector

tracers() { "$TRACELET" status --json | jq -r '.[].pid'; }

# ---- none ----

check_run "status with no session exits with 1" 1 "$TRACELET" status
check_lines "and says nothing" 0 "$stdout" "$stderr"
check_run "--json is an empty list" 1 "$TRACELET" status --json
check_equal "of JSON" "[]" "$(cat "$stdout")"
for verb in stop cancel current snapshot; do
	check_run "$verb with no session exits with 1" 1 "$TRACELET" $verb
	check_lines "in one line" 1 "$stderr"
	check_run "$verb of a name that is not there" 1 "$TRACELET" $verb nobody
	check_match "names it" nobody "$stderr"
done
check_run "stop --all with no session is fine" 0 "$TRACELET" stop --all

# ---- one ----

cat >script.sh <<-'END'
	"$TRACELET" start setup || exit
	/bin/true from-the-script
	"$TRACELET" status >status.txt
	"$TRACELET" current >current.txt
	"$TRACELET" status --json | jq '.[].pid' >pid.txt
	"$TRACELET" stop setup >stopped.txt
END
check_run "a script with a start and a stop" 0 sh script.sh
check_lines "one line on stderr" 1 "$stderr"
check_match "status shows name and file" "^setup +operation +[0-9]+ .*$PWD/tracelet-out/setup_[0-9_]+\.pb$" status.txt
path=$(cat current.txt)
check_match "stop prints path and size" "^$path \([0-9.]+ kB\)$" stopped.txt
check "the trace is good" "$TRACELET" check "$path"
check_equal "it has what the script did" "/bin/true from-the-script" \
	"$("$tp" "$path" "select cmdline from process where cmdline glob '*from-the-script'")"
check_equal "the manifest has a line for it" "setup operation recorded" \
	"$(jq -r '"\(.test) \(.kind) \(.result)"' tracelet-out/manifest.jsonl)"
check_equal "whose hash is right" "$(sha256sum "$path" | cut -d ' ' -f 1)" \
	"$(jq -r '.artifacts[0].sha256' tracelet-out/manifest.jsonl)"
check_run "nothing is recording any more" 1 "$TRACELET" status
wait_for() { # COMMAND...: until it succeeds, for half a minute
	for _ in $(seq 3000); do
		"$@" && return 0
		sleep 0.01
	done
	return 1
}
gone() { # PID
	wait_for test ! -e "/proc/$1"
}
check "the tracer ends, and with it all that it had in the kernel" gone "$(cat pid.txt)"

# ---- tasks that existed before ----

mkfifo go
check_run "what the script has started before is recorded too" 0 \
	sh -c 'sh -c "read -r line <go; exec /bin/true early" & "$TRACELET" start -q early; echo >go; wait; "$TRACELET" stop'
check_equal "its later life is in the trace" 1 "$("$tp" "$(cut -d ' ' -f 1 "$stdout")" "select count(*) from process where cmdline = '/bin/true early'")"

# ---- small things ----

check_run "options after the name" 0 "$TRACELET" start late --quiet
check_lines "count" 0 "$stderr"
check_run "and it can be stopped" 0 "$TRACELET" stop late
check_equal "no lock is left in the state folder" "" "$(ls state | grep lock)"

# ---- steps of a CI job: a shell for each ----

# What the steps have in common is this session's leader, which starts them.
cat >steps.sh <<-'END'
	sh -c '"$TRACELET" start -q steps; true'
	for _ in $(seq 3000); do
		[ "$("$TRACELET" status --json | jq '.[].follows')" = $$ ] && break
		sleep 0.01
	done
	sh -c '/bin/true second-step; true'
	"$TRACELET" status >status.txt 2>status.err
	sh -c '"$TRACELET" stop steps; true'
END
check_run "start in one shell, work in a second, stop in a third" 0 setsid -w sh steps.sh
check_lines "without complaint" 0 "$stderr"
trace=$(cut -d ' ' -f 1 "$stdout")
check "a good trace" "$TRACELET" check "$trace"
check_equal "with the second step's work" 1 "$("$tp" "$trace" "select count(*) from process where cmdline = '/bin/true second-step'")"
check_lines "status has no complaint either" 0 status.err

# With nothing in common, the end of the followed process is reported at once.
setsid -w sh -c '"$TRACELET" start -q alone; true'
told() { "$TRACELET" status 2>&1 >/dev/null | grep -q 'has ended: new processes are not recorded'; }
check "steps in sessions of their own: status says that the followed process ended" wait_for told
check_match "as JSON, too" "has ended" <("$TRACELET" status --json | jq -r '.[].ended')
check_run "stop" 0 setsid -w sh -c '"$TRACELET" stop alone; true'
check_match "says it, and what to use" '^tracelet: warning: alone: process [0-9]+ \(sh\), which it followed, has ended: .*start --pid PID' "$stderr"
check "a process that was named is the only one" sh -c 'sleep 1000 & until grep -q sleep /proc/$!/comm; do :; done; "$TRACELET" start -q --pid $! named; kill $!'
check "its end is reported" wait_for told
check_run "in stop" 0 "$TRACELET" stop named
check_match "by its name" '^tracelet: warning: named: process [0-9]+ \(sleep\)' "$stderr"

# ---- the same name twice, several at once ----

check_run "a first one" 0 "$TRACELET" start -q again
first=$("$TRACELET" current)
check_run "start of a name that is recording saves the earlier one" 0 "$TRACELET" start -q again
check "there it is" test -s "$first"
check_equal "one is recording" 1 "$(tracers | wc -l)"
check_run "another one beside it" 0 "$TRACELET" start -q other
check_run "stop without a name does not guess" 2 "$TRACELET" stop
# In order of their process ids, which begin again when they have reached the largest.
check_match "but lists them" '(again \([0-9]+\), other|other \([0-9]+\), again) \([0-9]+\)$' "$stderr"
check_run "stop by number" 0 "$TRACELET" stop "$("$TRACELET" status --json | jq -r '.[] | select(.name == "other") | .pid')"
check_match "ends the right one" '/other_' "$stdout"
"$TRACELET" start -q third
check_run "stop --all" 0 "$TRACELET" stop --all
check_lines "ends both" 2 "$stdout"
check_run "and none is left" 1 "$TRACELET" status

# ---- cancel ----

"$TRACELET" start -q forgotten
path=$("$TRACELET" current)
check_run "cancel" 0 "$TRACELET" cancel forgotten
check_lines "says nothing" 0 "$stdout" "$stderr"
check_equal "and leaves nothing" "" "$(ls "${path%.pb}"* 2>/dev/null)"

# ---- two controllers race for one name ----

for _ in 1 2 3 4; do "$TRACELET" start -q raced 2>>race.log & done
wait
check_equal "of four that start at once one is left" 1 "$(tracers | wc -l)"
check_equal "the other three are saved" 3 "$(ls tracelet-out/raced_*.pb | wc -l)"
check_run "it can be stopped" 0 "$TRACELET" stop raced
check "all of them are good" "$TRACELET" check tracelet-out/raced_*.pb

# ---- a tracer that was killed ----

"$TRACELET" start -q killed
path=$("$TRACELET" current)
/bin/true before the kill
kill -KILL "$(tracers)"
while kill -0 "$(tracers 2>/dev/null)" 2>/dev/null; do :; done
check_run "status after a kill" 1 "$TRACELET" status
check "what it had recorded is a trace" "$TRACELET" check "$path"
check_not "the spool is gone" test -e "${path%.pb}.spool"
check_equal "the manifest has a line for it" "killed operation recovered: the tracer died $recorded_by $path" \
	"$(jq -r 'select(.test == "killed") | "\(.test) \(.kind) \(.result) \(.backend) \(.artifacts[0].path)"' tracelet-out/manifest.jsonl)"
"$TRACELET" start -q killed
kill -KILL "$(tracers)"
check_run "start notices a stale session" 0 "$TRACELET" start -q killed
check_match "and says so" "the tracer of killed died" "$stderr"
check_run "the new one is there" 0 "$TRACELET" stop killed
sed -i 's/"boot":"[^"]*"/"boot":"another-boot"/' state/*.session 2>/dev/null
"$TRACELET" start -q rebooted
sed -i 's/"boot":"[^"]*"/"boot":"another-boot"/' state/rebooted.session
pid=$(jq .pid state/rebooted.session)
check_run "a session of another boot is not taken for one that is there" 1 "$TRACELET" status
kill -KILL "$pid"

# ---- folders that vanish, and folders that are not ours ----

"$TRACELET" start -q --output-dir gone vanishing
rm -r gone
check_run "the output folder was deleted while recording" 1 "$TRACELET" stop vanishing
check_run "the state is clean all the same" 1 "$TRACELET" status
mkdir open && chmod 777 open
check_run "a state folder that others can write to is refused" 1 env TRACELET_STATE_DIR="$PWD/open" "$TRACELET" start x
check_lines "in one line" 1 "$stderr"
if id nobody >/dev/null 2>&1 && command -v setpriv >/dev/null; then
	"$TRACELET" start -q mine
	chmod 755 "$PWD"
	check_run "another user cannot stop it" 1 setpriv --reuid nobody --clear-groups "$TRACELET" stop mine
	check_equal "it goes on" mine "$("$TRACELET" status --json | jq -r '.[].name')"
	"$TRACELET" cancel mine
fi

# ---- tests are sessions too ----

"$TRACELET" run -q --name seen -- sh -c 'touch running; while [ -e running ]; do sleep 0.01; done' &
until [ -e running ] && "$TRACELET" status >/dev/null; do :; done
check_match "status lists tests" '^seen +test ' <("$TRACELET" status)
check_run "a test's recording cannot be stopped" 1 "$TRACELET" stop seen
check_match "which one line says" "^tracelet: seen is a test: its recording ends when the test ends" "$stderr"
check_run "but looked into" 0 "$TRACELET" snapshot seen
check "the snapshot is a trace" "$TRACELET" check "$(cut -d ' ' -f 1 "$stdout")"
check_match "named so that it can be found from anywhere" "^$PWD/tracelet-out/seen_" "$stdout"
rm running
wait
check "the test's own trace comes later" "$TRACELET" check "$(ls tracelet-out/seen_*.pb | tail -n 1)"

# ---- marks ----

marks_of() { "$tp" "$1" "select group_concat(name, ' ') from (select name from slice where category = 'mark' order by ts)"; }
check_run "mark without a session" 1 "$TRACELET" mark nowhere
check_match "says so" "no session is recording" "$stderr"
"$TRACELET" start -q one
check_run "a mark goes into the only operation" 0 "$TRACELET" mark alone
"$TRACELET" start -q two
check_run "with two sessions one must be named" 2 "$TRACELET" mark lost
check_lines "in one line" 1 "$stderr"
check_run "by its name" 0 "$TRACELET" mark --session two second
check_run "or for programs" 7 env TRACELET_MARKS="$("$TRACELET" current --marks two)" "$TRACELET_HELPERS/marker" 0
check_run "a name that is not there" 1 "$TRACELET" mark --session three nothing
"$TRACELET" stop --all >stopped.txt
check_equal "each trace has its own" "alone" "$(marks_of "$(grep -o '/.*/one_[^ ]*' stopped.txt)")"
check_match "and no other" "^second begins" <(marks_of "$(grep -o '/.*/two_[^ ]*' stopped.txt)")

# ---- samples ----

"$TRACELET" start -q --sample sampled
"$TRACELET_HELPERS/chains" recursion
check_run "an operation can be sampled" 0 "$TRACELET" stop sampled
trace=$(cut -d ' ' -f 1 "$stdout")
check "it has a flame graph too" grep -q recursion "${trace%.pb}.svg"

# ---- bad usage ----

bad() {
	check_run "$*: bad usage" 2 "$TRACELET" "$@"
	check_lines "nothing on stdout" 0 "$stdout"
}
bad start
bad start one two
bad stop one two
bad stop --all one
bad status now
bad snapshot one two
check_run "nothing was begun" 1 "$TRACELET" status

"$TRACELET" cancel --all
done_testing
