#!/bin/bash
# `tracelet store` as users run it, with a real ClickHouse and objects in a folder.
. "$(dirname "$0")/../cli/lib.sh"
. "$source/tests/store/servers.sh"

clickhouse_start 1
TRACELET_STORE=$(clickhouse_url 1 ci)
export TRACELET_STORE TRACELET_OBJECTS=$work/objects
mkdir out
sessions 1200 --artifacts out >out/manifest.jsonl

# ---- before there are tables ----
check_run "a push that cannot insert does not fail a job" 0 "$TRACELET" store push out
check_match "but says what to do" "'tracelet store init' makes the tables" "$stderr"
check_run "with --strict it does" 1 "$TRACELET" store push --strict out

# ---- tables ----
check_run "init makes the tables" 0 "$TRACELET" store init
check_run "and can be repeated" 0 "$TRACELET" store init
check_run "init --dry-run prints statements" 0 "$TRACELET" store init --dry-run --cluster pair --replicated
check_match "for a cluster" "ON CLUSTER pair .*ReplicatedReplacingMergeTree" "$stdout"
value "ALTER TABLE sessions DROP COLUMN heap_peak" 2>/dev/null
check_equal "sql does not change anything" 1 "$(value "SELECT count() FROM system.columns WHERE database = 'ci' AND table = 'sessions' AND name = 'heap_peak'")"
check_run "unless it is told to" 0 "$TRACELET" store sql --write "ALTER TABLE sessions DROP COLUMN heap_peak"
check_run "check finds that a column is missing" 1 "$TRACELET" store check
check_match "and which" "sessions has no column heap_peak" "$stderr"
check_run "init adds it" 0 "$TRACELET" store init
check_run "a query that is wrong is an error" 2 "$TRACELET" store sql "SELECT nonsense FROM sessions"
check_match "in one line, with ClickHouse's words" "Unknown identifier: nonsense.*ClickHouse code 47" "$stderr"
check_lines "one line" 1 "$stderr"

# ---- pushes ----
check_run "push sends all sessions" 0 "$TRACELET" store push --strict out
check_match "and says how many" "^pushed 1200 sessions" "$stdout"
check_match "and objects" "^objects: 24 new" "$stdout"
"$TRACELET" store export --json >first.jsonl
check_lines "export has them all" 1200 first.jsonl
check_equal "with the names as they are" 1 "$(jq -r .name first.jsonl | grep -Fc -m1 "'); DROP TABLE sessions; --")"
check_equal "and their metrics" "$(jq -s 'map(.metrics.max_rss) | add' out/manifest.jsonl)" "$(jq -s 'map(.metrics.max_rss) | add' first.jsonl)"
check_run "the next push has nothing to do" 0 "$TRACELET" store push --strict out
check_match "and says so" "^pushed 0 sessions" "$stdout"
check_run "everything can be pushed again" 0 "$TRACELET" store push --strict --again out
check_match "it is there already" "^pushed 1200 sessions.*1200 were there already" "$stdout"
"$TRACELET" store export --json >second.jsonl
check "nothing is there twice" cmp first.jsonl second.jsonl
check_run "check finds no defect" 0 "$TRACELET" store check --deep
check_match "and counts" "^sessions   1200$" "$stdout"
check_equal "objects are under their sums" "$(cd objects/objects && find . -type f -printf '%f\n' | sort)" \
	"$(sha256sum out/*.pb | cut -c1-64 | sort)"
damaged=$(find objects/objects -type f | head -1)
chmod u+w "$damaged" && printf X | dd of="$damaged" conv=notrunc status=none
check_run "check --deep reads every object" 1 "$TRACELET" store check --deep

# ---- a manifest that grows ----
sessions 10 --seed 2 >more.jsonl
head -c -20 more.jsonl >>out/manifest.jsonl
check_run "a line that is being written is left" 0 "$TRACELET" store push --strict out
check_match "the others are pushed" "^pushed 9 sessions" "$stdout"
tail -c 20 more.jsonl >>out/manifest.jsonl
check_run "until it has an end" 0 "$TRACELET" store push --strict out
check_match "then it is one session" "^pushed 1 session " "$stdout"
head -5 out/manifest.jsonl >shorter.jsonl && mv shorter.jsonl out/manifest.jsonl
check_run "a manifest that was replaced is read from its beginning" 0 "$TRACELET" store push --strict out
check_match "and changes nothing" "^pushed 5 sessions.*5 were there already" "$stdout"
for i in 1 2 3 4; do
	"$TRACELET" store push --strict --again out >"push$i" &
	pushes[i]=$!
done
wait "${pushes[@]}"
check_equal "pushes at the same time change nothing" 1210 "$(value 'SELECT count() FROM sessions FINAL')"

# ---- forks ----
mkdir fork && sessions 20 --seed 3 >fork/manifest.jsonl
check_run "--untrusted marks sessions" 0 "$TRACELET" store push --strict --untrusted fork
check_match "all of them" "20 untrusted" "$stdout"
forks=$(grep -c '"fork":true' <(sessions 1200; sessions 10 --seed 2))
check_equal "others are untrusted as their manifest says" $((20 + forks)) "$(value 'SELECT count() FROM sessions FINAL WHERE NOT trusted')"

"$TRACELET" store push --strict --again fork >/dev/null
check_equal "who was untrusted once stays so" $((20 + forks)) "$(value 'SELECT count() FROM sessions FINAL WHERE NOT trusted')"

# ---- rebuild ----
"$TRACELET" store export >before.csv
TRACELET_STORE=$(clickhouse_url 1 again)
"$TRACELET" store init
check_run "rebuild makes the rows from the raw lines" 0 "$TRACELET" store rebuild
"$TRACELET" store export >after.csv
check "the same ones" cmp before.csv after.csv
check_equal "in raw lines that say who is trusted" $((20 + forks)) "$(value 'SELECT count() FROM sessions FINAL WHERE NOT trusted')"

# ---- gc ----
check_run "gc needs a limit" 2 "$TRACELET" store gc
months=$(value 'SELECT groupArray(m) FROM (SELECT DISTINCT toYYYYMM(day) AS m FROM sessions ORDER BY m)')
check_equal "there are three months" "[202609,202610,202611]" "$months"
age=$(($(date +%s) - $(date -d 2026-10-15 +%s)))s # the middle of a month
[ "$(date +%s)" -gt "$(date -d 2026-10-16 +%s)" ] || skip_all "the clock is wrong"
pieces=$(find objects/runs -type f | wc -l)
check_run "gc --dry-run counts" 0 "$TRACELET" store gc --session-age "$age" --dry-run
check_match "the months before" "^would delete 1 month of sessions" "$stdout"
check_equal "and deletes nothing" "$pieces" "$(find objects/runs -type f | wc -l)"
check_run "gc drops months" 0 "$TRACELET" store gc --session-age "$age" --profile-age "$age"
check_equal "that are too old as a whole" 202610 "$(value 'SELECT min(toYYYYMM(day)) FROM sessions')"
check_equal "with all that belongs to them" 0 "$(value 'SELECT count() FROM profiles WHERE toYYYYMM(day) < 202610')"
check_equal "and their raw lines" "objects/runs/2026/10 objects/runs/2026/11 " "$(find objects/runs -type f | cut -d/ -f1-4 | sort -u | tr '\n' ' ')"
touch -d '10 days ago' "$damaged"
check_run "gc deletes old objects" 0 "$TRACELET" store gc --object-age 5d
check_not "that were pushed before" test -e "$damaged"
check_equal "others stay" 23 "$(find objects/objects -type f | wc -l)"
check_run "gc deletes until the rest fits" 0 "$TRACELET" store gc --object-size 2k
check "it fits" test "$(find objects/objects -type f -printf '%s\n' | awk '{s += $1} END {print s}')" -le 2048
check_run "check says that artifacts are gone" 0 "$TRACELET" store check
check_match "how many" "^gone " "$stdout"

# ---- who may ----
clickhouse_kill 1
clickhouse_configure 1 geheim
clickhouse_start 1
check_run "without the password nothing is pushed" 1 "$TRACELET" store push --strict --again out
check_match "which is not tried again and again" "Password required for user default .ClickHouse code 194.$" "$stderr"
TRACELET_STORE_PASSWORD=geheim check_run "it comes from the environment" 0 "$TRACELET" store push --strict --again out
printf 'user = default\npassword = geheim\n' >secret
TRACELET_STORE_CREDENTIALS=secret check_run "or from a file" 0 "$TRACELET" store push --strict --again out
chmod 666 secret
TRACELET_STORE_CREDENTIALS=secret check_run "that others cannot write" 1 "$TRACELET" store push --strict --again out
check_run "an address with a password is refused" 2 "$TRACELET" store push --to clickhouse+http://default:geheim@127.0.0.1:1/ci out
check_not "and not repeated" grep -q geheim "$stderr"

# ---- nobody there ----
clickhouse_end
check_run "a store that is away does not fail a job" 0 "$TRACELET" store push --again --patience 2 out
check_match "it is a warning" "warning: .* left for the next push" "$stderr"
check_match "after some tries" "[2-5] tries" "$stderr"
check_run "and fails with --strict" 1 "$TRACELET" store push --again --strict --patience 1 out
done_testing
