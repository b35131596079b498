# `tracelet history`: questions about made-up manifests, an index that is deleted, damaged, killed or not ours,
# lines that are hostile, and what `run` says.
. "$(dirname "$0")/lib.sh"

# line NAME STATUS MS [MEMBER...]: one session that started in the minute $minute; the id is made from a number.
number=0
line() {
	local name=$1 status=$2 wall=$3
	shift 3
	number=$((number + 1))
	printf '{"version":2,"session":"0199%04x-0000-7000-8000-%012x","test":"t","name":"%s","kind":"test","status":"%s",' \
		$((number / 65536)) $number "$name" "$status"
	printf '"started":"%s","wall_seconds":%s,' "$(date -u -d "2026-10-01 + $minute minutes" +%FT%T.000Z)" "$wall"
	printf '"machine":"x86_64","cpu":"C","cpus":2,"memory":8589934592,'
	printf '"source":{"commit":"%040x","branch":"main"%s},"run":"run-%s"%s}\n' "$commit" "${fork:-}" "$run" "${1:-}"
}
ask() { run "$TRACELET" history --output-dir out --until 2026-10-20 "$@"; }

# 40 commits, one run each: "fast" does not change, "step" takes 25 % more from commit 25 on.
mkdir out
for commit in $(seq 0 39); do
	run=$commit minute=$((commit * 60))
	line fast passed "0.0$((100 + commit * 7 % 5))"
	line step passed "$(awk -v c="$commit" 'BEGIN { printf "%.6f", (c < 25 ? 0.02 : 0.025) * (1 + (c * 7 % 5) / 500) }')"
done >out/manifest.jsonl

# ---- one test ----

ask step
check_equal "history exits with 0" 0 "$status"
check_equal "one line for each commit" 40 "$(grep -c '^0000000000.* \.$' "$stdout")"
check_match "the change is marked" "^-- wall_ns 20.1 ms -> 25.1 ms \(\+25 %\), by a commit after 000000000000" "$stdout"
check_equal "before the first commit after it" 2026-10-02 "$(grep -A 1 '^--' "$stdout" | tail -1 | awk '{ print $2 }')"
ask fast
check_not "a test that does not change has none" grep -q '^--' "$stdout"
ask step --json
check_equal "JSON has the change" "1 main true 40" "$(jq -r '.series[0] | "\(.changes | length) \(.branch) \(.changes[0].alert) \(.commits | length)"' "$stdout")"
ask ste
check_equal "an unknown test is an error" 2 "$status"
check_match "with the name that is near" "did you mean 'step'" "$stderr"
check_lines "in one line" 1 "$stderr"
commit=0 run=0 minute=0
line slow passed 0.01 >>out/manifest.jsonl
run "$TRACELET" history --output-dir out -- slow
check_match "after -- a word is a test" "^slow on main" "$stdout"

# ---- all tests ----

ask trend
check_equal "one change in two series" "1 change in 3 series" "$(tail -1 "$stdout")"
check_match "with the line to paste" "git bisect start 0000000000.* && git bisect run" "$stdout"
ask trend --fail-on regression
check_equal "--fail-on regression" 1 "$status"
ask trend --branch other --fail-on regression
check_equal "not on another branch" 0 "$status"
ask trend --since 2026-10-02T08:00:00Z
check_equal "--since leaves too little to judge" "0 changes in 2 series" "$(tail -1 "$stdout")"
run "$TRACELET" history slow --output-dir out --until 2026-10-05
check_equal "the slowest first" "step fast slow" "$(awk '/main/ { print $10 }' "$stdout" | sed 's/ //g' | xargs)"
ask runs
check_equal "40 runs" 41 "$(wc -l <"$stdout")"
ask tests
check_equal "three tests" "fast slow step" "$(awk 'NR > 1 { print $1 }' "$stdout" | xargs)"
ask tests --stale 30d
check_equal "none is stale" 1 "$(wc -l <"$stdout")"
ask tests --stale 5d
check_equal "all are" 4 "$(wc -l <"$stdout")"

# ---- two runs ----

commit=40 run=40 minute=2400
{
	line fast failed 0.01
	line step passed 0.05
	line new passed 0.01
} >>out/manifest.jsonl
ask compare run-39 latest --json
check_equal "what fails, and what is new" "fast fails,new new" "$(jq -r '[.outcomes[] | "\(.name) \(.kind)"] | join(",")' "$stdout")"
check_equal "what is slower" "step wall_ns" "$(jq -r '[.times[] | "\(.name) \(.metric)"] | join(",")' "$stdout")"
check_equal "without --fail-on the status is 0" 0 "$status"
ask compare 'main@{1}' --fail-on regression
check_equal "a regression" 1 "$status"
cp "$stdout" by-name
ask compare --baseline main --fail-on regression
check "the branch's last run is the same" cmp by-name "$stdout"
ask compare "$(printf '%040x' 39)" run-40
check "so is the commit" cmp by-name "$stdout"
mkdir spread
sort -s -t, -k 4,4 out/manifest.jsonl >spread/manifest.jsonl # by name: the sessions of a run are far from each other
"$TRACELET" history --output-dir spread --until 2026-10-20 compare run-39 run-40 >by-spread
check "the order of the manifest does not matter" cmp by-name by-spread
ask compare run-39 run-40 --metric wal_ns
check_match "a misspelt metric is a warning" "no passed session here has the metric 'wal_ns' \(did you mean 'wall_ns'" "$stderr"
ask trend --metric wall_ns,instructions
check_match "so is one that was never measured" "has the metric 'instructions'$" "$stderr"
check_lines "and no other" 1 "$stderr"
ask compare run-38 run-39
check_match "two equal runs" "^nothing changed in 2 tests" "$stdout"
ask compare run-39 latest --markdown
check_match "Markdown" '^\| fast \| passed \| failed \|' "$stdout"
ask compare nothing latest
check_equal "an unknown run is an error" 2 "$status"
ask compare
check_equal "no run is one, too" 2 "$status"

# ---- flaky ----

fork=
for commit in $(seq 41 60); do
	run=$commit minute=$((commit * 60))
	line shaky passed 0.01 ',"metrics":{"lock_ns":2000000},"waited":{"mutex":[1,2000000,2000000]}'
	[ $((commit % 2)) = 0 ] ||
		line shaky failed 0.01 ',"metrics":{"lock_ns":118000000},"waited":{"mutex":[1,118000000,118000000]}'
	line broken "$([ "$commit" -lt 50 ] && echo passed || echo failed)" 0.01
done >>out/manifest.jsonl
run "$TRACELET" history flaky --output-dir out --until 2026-10-05 --json
check_equal "broken and flaky tests" "broken broken,shaky flaky" "$(jq -r '[.tests[] | "\(.name) \(.state)"] | join(",")' "$stdout")"
check_equal "since when" "$(printf '%040x' 50)" "$(jq -r '.tests[0].since_commit' "$stdout")"
run "$TRACELET" history flaky --output-dir out --until 2026-10-05 --fail-on flaky
check_equal "--fail-on flaky" 1 "$status"
run "$TRACELET" history flaky --why shaky --output-dir out
check_match "what it waits for when it fails" "when it fails it waits 118 ms for mutex \(else 2.00 ms\)" "$stdout"
check_match "and the metric" "when it fails it has 118 ms lock_ns" "$stdout"
fork=',"fork":true' commit=60 run=61
line step passed 9 >>out/manifest.jsonl
fork=
ask trend --json
check_equal "a fork's run is in no baseline" 1 "$(jq '[.changes[] | select(.name == "step")] | length' "$stdout")"

# ---- the index ----

ask
cp "$stdout" before
rm out/history.db
ask
check "deleted: the same again" cmp before "$stdout"
for what in 'truncate -s 5000 out/history.db' 'printf nonsense >out/history.db' \
	'dd if=/dev/urandom of=out/history.db bs=4096 seek=1 count=4 conv=notrunc' ': >out/history.db'; do
	eval "$what" 2>/dev/null
	ask
	check "damaged ($what): made again" cmp before "$stdout"
done
line fast passed 0.01 | head -c -1 >>out/manifest.jsonl
ask
check "a line without an end is not read yet" cmp before "$stdout"
printf '\n' >>out/manifest.jsonl
ask
check_equal "with it, it is" "$(($(sed 's/ .*//' before) + 1))" "$(sed 's/ .*//' "$stdout" | head -1)"
cp "$stdout" before
tac out/manifest.jsonl >turned && mv turned out/manifest.jsonl
ask
check "a manifest that was replaced adds what is new" cmp before "$stdout"
check_equal "nothing is left over" "history.db history.db.lock manifest.jsonl" "$(ls out | grep -v journal | xargs)"

# Killed at any moment: what is there is whole, and the next one has everything.
"$TRACELET" history --output-dir out --json >whole
for i in $(seq 20); do
	[ $((i % 2)) = 0 ] || rm -f out/history.db
	timeout -s KILL "0.0$((i % 10))" "$TRACELET" history --output-dir out >/dev/null 2>&1
done
"$TRACELET" history --output-dir out --json >again
check "killed 20 times: nothing is lost, nothing doubled" cmp whole again
ask
for i in 1 2 3 4; do "$TRACELET" history --output-dir out --json >"parallel.$i" & done
wait
check_equal "four at the same time" 1 "$(cat parallel.* | sort -u | wc -l)"
if [ "$(id -u)" = 0 ]; then
	chown nobody out/history.db
	export XDG_CACHE_HOME=$work/cache
	mkdir cache
	"$TRACELET" history --output-dir out --json >elsewhere
	check "another user's index is not used" cmp again elsewhere
	check_equal "ours is in the cache folder" 1 "$(ls cache/tracelet/history-*.db | wc -l)"
	unset XDG_CACHE_HOME
fi

# ---- hostile lines ----

fresh
mkdir out
commit=1 run=1 minute=0 number=0
{
	line a passed 0.01
	number=0
	line a failed 0.09 # the same id
	printf '\n{"test":\n\0\0\0\n[]\n"x"\n{"test":1}\n{"test":"t","started":"nonsense"}\n'
	line "$(head -c 1000000 /dev/zero | tr '\0' x)" passed 0.01
	line '\u0000\u001b[2J' passed 0.01
	printf '%s' "$(line BAD passed 0.01)" | sed 's/BAD/\xff\xfe/'
	printf '\n'
	number=$((number + 1)) # that was a subshell
	line "'); DROP TABLE session; --" passed 0.01
	line '\"; DELETE FROM test' passed 1e300
	line deep passed 0.01 ",\"waited\":$(printf '{"a":%.0s' $(seq 200))1$(printf '}%.0s' $(seq 200))"
} >out/manifest.jsonl
ask --json
check_equal "hostile lines: sessions, conflicts" "6 1" "$(jq -r '"\(.sessions) \(.conflicts)"' "$stdout")"
ask a
check_match "the first of two with the same id stays" '  \.$' "$stdout"
ask tests
check_not "no control characters" grep -q "$(printf '\033')" "$stdout"
check "no line is longer than a name may be" test "$(wc -L <"$stdout")" -lt 700
ask trend
check_equal "trend is fine" 0 "$status"
ask a --metric nonsense
check_match "an unknown metric has no values" ' -  \.$' "$stdout"
ln -s /dev/zero elsewhere.jsonl
mkdir link && ln -s ../elsewhere.jsonl link/manifest.jsonl
run timeout 60 "$TRACELET" history --output-dir link
check_equal "a device is no manifest" 2 "$status"
check_lines "which one line says" 1 "$stderr"
mkdir empty
for word in any "" trend "compare a b"; do
	run "$TRACELET" history --output-dir empty $word # without a manifest
	check_equal "history $word without a manifest" 2 "$status"
	check_equal "one line says so, and what to do" "tracelet: empty/manifest.jsonl: No such file or directory; 'tracelet run' makes it, --output-dir names another folder" "$(cat "$stderr")"
done
check_equal "and nothing is left there" "" "$(ls empty)"
run "$TRACELET" history --output-dir nowhere any
check_equal "without a directory" "2 tracelet: nowhere/manifest.jsonl: No such file or directory;" "$status $(grep -o '.*directory;' "$stderr")"
run "$TRACELET" history --output-dir nowhere
check_equal "no folder, no history" 2 "$status"
check_not "and none is made" test -e nowhere

# ---- what run says, and --confirm ----

fresh
for i in 1 2 3; do "$TRACELET" run --quiet --enabled yes --run first --name steady -- true; done
check_not "run makes no index" test -e tracelet-out/history.db
run "$TRACELET" run --name steady -- true
check_not "and says nothing without one" grep -q history "$stderr"
"$TRACELET" history >/dev/null
run "$TRACELET" run --run second --name steady -- false
check_match "with one it does" "^  history failed 0 of the last 4$" "$stderr"
run "$TRACELET" run --run second --name steady -- true
check_match "it knows lines that the index does not have yet" "^  history failed 1 of the last 5" "$stderr"
"$TRACELET" run --quiet --run third --name steady -- sh -c 'test -e flag && exit 0; touch flag; exit 1'
run "$TRACELET" history compare second third --fail-on regression
check_equal "a new failure" 1 "$status"
run "$TRACELET" history compare second third --fail-on regression --confirm 2
check_equal "that does not come back is none" 0 "$status"
check_equal "it ran twice more" 3 "$("$TRACELET" history runs --json | jq '.runs[] | select(.run == "third").sessions')"
# ---- lines of version 1 ----

# They have neither ids nor a status, and zeros for every source in "lost".
fresh
mkdir old
old() {
	printf '{"test":"%s","command":["./t"],"kind":"%s","result":"%s"%s,"started":"2026-01-02T03:04:%02d.678Z","wall_seconds":0.0111,"cpu_seconds":0.0025,' "$@"
	printf '"host":"build7","kernel":"6.12.0","machine":"x86_64","tracelet":"0.1.0","profile":"default","scope":"tree","backend":"bpf",'
	printf '"artifacts":[{"kind":"perfetto","path":"/home/ci/tracelet-out/x.pb","size":4,"sha256":"%064d"}],' 0
	printf '"events":18,"lost":{"sched":0,"process":0,"irq":0},"gaps":0,"late":0,"cost":{"tracer_cpu_seconds":0.015}}\n'
}
{
	old parser test passed ',"exit":0' 1
	old parser test 'failed: exit status 3' ',"exit":3' 2
	old parser test 'killed by signal 11 (Segmentation fault)' ',"signal":11' 3
	old parser test 'timed out: limit 3 s' ',"timed_out_after":3' 4
	old parser test 'passed' ',"exit":0,"repro":true' 5
	old parser test 'guest failed' '' 6
	old Suite_Case case skipped '' 7
	old server operation recorded '' 8
	old vm machine passed '' 9
	echo '{"deleted":[{"test":"parser","kind":"perfetto","path":"tracelet-out/y.pb","size":2201}],"why":"max-age","when":"2026-02-02T03:04:05Z"}'
} >old/manifest.jsonl
run "$TRACELET" history --output-dir old --json parser
check_equal "old lines: the outcomes are known from the words" '[".FCTM",11100000,"2026-01-02",""]' \
	"$(jq -c '.series[0].commits[0] | [.outcomes, .wall_ns, .run, .commit]' "$stdout")"
run "$TRACELET" history tests --output-dir old --json
check_equal "tests and cases are in the history, operations and machines are not" '["Suite_Case","parser"]' \
	"$(jq -c '[.tests[].name]' "$stdout")"
cp "$stdout" once
cat old/manifest.jsonl old/manifest.jsonl >twice && mv twice old/manifest.jsonl
rm -f old/history.db
run "$TRACELET" history tests --output-dir old --json
check "the same lines twice are the same sessions" cmp once "$stdout"
printf 'TEST' >old/x.pb
check_equal "the file is beside the manifest, wherever it was made" old/x.pb "$("$TRACELET" artifact --output-dir old parser)"
check_run "a page of old lines" 0 "$TRACELET" report --output-dir old -o page.html

# ---- a folder that was moved ----

if [ "$(id -u)" = 0 ]; then
	fresh
	run "$TRACELET" run --quiet --output-dir "$PWD/here" --name away -- sh -c 'exit 3'
	run "$TRACELET" run --quiet --output-dir here --heap --name away -- sh -c 'exit 3'
	mkdir below && mv here below/downloaded && cd below || exit 1
	check_run "moved: why" 0 "$TRACELET" why --output-dir downloaded away
	check_match "finds the trace" '^away failed: exit status 3' "$stdout"
	check_match "artifact" '^downloaded/away_.*\.pb$' <("$TRACELET" artifact --output-dir downloaded away)
	check_run "check" 0 "$TRACELET" check --landed downloaded --name away
	check_run "report" 0 "$TRACELET" report --output-dir downloaded -o page.html
	check_not "which misses no file" grep -q 'is gone\|not found' page.html
	run "$TRACELET" history --output-dir downloaded --json away
	check_equal "history" 2 "$(jq -r '[.series[].commits[].outcomes] | join("") | length' "$stdout")"
fi

done_testing
