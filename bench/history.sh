#!/usr/bin/env bash
# The history's bars: a million sessions of 5,000 tests. SESSIONS=100000 for a quick look, SCALES for the slope.
# The bars are for wall times, the median of $ROUNDS, on a quiet machine; the CPU time is beside them.
. "$(dirname "$0")/lib.sh"
sessions=${SESSIONS:-1000000} tests=5000
build=$(dirname "$TRACELET")
until=2026-11-19
generate() { "$build/bench/history_lines" "$1" $tests; }

# timed COMMAND...: $wall and $cpu in ms, $memory in MB; the median of ROUNDS.
timed() {
	local i begin
	for i in $(seq "$ROUNDS"); do
		begin=${EPOCHREALTIME/./}
		/usr/bin/time -o time -f '%U %S %M' "$@" >/dev/null
		awk -v wall=$((${EPOCHREALTIME/./} - begin)) '{ print wall / 1000, ($1 + $2) * 1000, $3 / 1000 }' time
	done | sort -g | awk '{ line[NR] = $0 } END { print line[int((NR + 1) / 2)] }' >median
	read -r wall cpu memory <median
}
ask() { timed "$TRACELET" history --quiet --output-dir "$folder" --until $until "$@"; }
bar() { # NAME LIMIT-MS WORDS...
	local name=$1 limit=$2
	shift 2
	ask "$@"
	echo "$name: $wall ms, $cpu ms of CPU time, $memory MB"
	floor "$name in ms" "$wall" "<=" "$limit"
}

# ---- what a run costs ----

mkdir out
run() { "$TRACELET" run --quiet --keep never --output-dir out -- true; }
run
bytes=$(tail -1 out/manifest.jsonl | jq -c '{session, run, parent, project, suite, attempt, source, metrics, waited, time_digest, functions} | with_entries(select(.value))' | wc -c)
echo "a passed run's line: $(tail -1 out/manifest.jsonl | wc -c) bytes"
floor "bytes of it that only the history needs" "$bytes" "<=" 400

# ---- importing ----

folder=big
mkdir $folder
generate "$sessions" >$folder/manifest.jsonl
lines=$(stat -c %s $folder/manifest.jsonl)
ROUNDS=1 ask
echo "import: $wall ms, $cpu ms of CPU time, $memory MB; $(calculate "$sessions / ($cpu / 1000)") sessions a second of CPU time"
floor "sessions imported in a second" "$(calculate "$sessions / ($wall / 1000)")" ">=" 40000
floor "memory in MB" "$memory" "<=" 64
index=$(stat -c %s $folder/history.db)
echo "a session: $(calculate "$lines / $sessions") bytes of the manifest, $(calculate "$index / $sessions") of the index"
if command -v sqlite3 >/dev/null; then
	sqlite3 $folder/history.db "SELECT name, round(1.0 * sum(pgsize) / $sessions, 1) FROM dbstat GROUP BY name HAVING sum(pgsize) > $sessions" |
		awk -F'|' '{ printf "%s %s %s", (NR > 1 ? "," : "  of these:"), $1, $2 } END { print "" }'
fi
floor "bytes of the index for a session" "$(calculate "$index / $sessions")" "<=" 600
floor "bytes for a session, with its line in the manifest" "$(calculate "($lines + $index) / $sessions")" "<=" 600

# ---- questions ----

bar "nothing new" 15
bar "history TEST" 15 test/7
bar "slow" 60 slow
bar "flaky" 60 flaky
bar "compare" 100 compare 'main@{1}' latest
bar "trend of 5 metrics" 5000 trend --metric wall_ns,cpu_ns,ready_ns,blocked_ns,max_rss
bar "functions of 30 days" 300 functions
before=$sessions
for i in $(seq "$ROUNDS"); do # 1,000 more each time
	"$build/bench/history_lines" $((before + 1000)) $tests | tail -1000 | sed "s/-8\(...\)-/-9\1-/; s/github-/again$i-/" >>$folder/manifest.jsonl
	ROUNDS=1 ask
	echo "$wall $cpu"
done | sort -g | awk '{ line[NR] = $0 } END { print line[int((NR + 1) / 2)] }' >median
read -r wall cpu <median
echo "1,000 new: $wall ms, $cpu ms of CPU time"
floor "1,000 new in ms" "$wall" "<=" 80

# ---- the line of run ----

# Alternating with the same folder without an index.
for i in $(seq $((5 * ROUNDS))); do
	for way in with without; do
		[ $way = with ] || mv $folder/history.db hidden
		begin=${EPOCHREALTIME/./}
		"$TRACELET" run --name test/7 --keep never --output-dir $folder -- true 2>/dev/null
		echo "$way $((${EPOCHREALTIME/./} - begin))"
		[ $way = with ] || mv hidden $folder/history.db
	done
done | sort -k 1,1 -k 2,2g | awk '{ v[$1, ++n[$1]] = $2 } END { for (w in n) m[w] = v[w, int((n[w] + 1) / 2)]; print (m["with"] - m["without"]) / 1000 }' >line
floor "what the line of run takes, in ms" "$(cat line)" "<=" 5

# ---- growth ----

for scale in ${SCALES:-100000 1000000}; do
	folder=scale
	rm -rf $folder && mkdir $folder
	generate "$scale" >$folder/manifest.jsonl
	ROUNDS=1 ask
	import=$cpu
	ask test/7
	all=$wall
	ROUNDS=$((3 * ROUNDS)) ask test/7 --since 2026-11-17 # the same sessions, whatever the size
	echo "$scale sessions: import $import ms of CPU time, history of a test: all of it $all ms, two days of it $wall ms"
	echo "$scale $import $wall" >>scales
done
slope=$(awk 'NR == 1 { n = $1; t = $2 } END { printf "%.3f", log($2 / t) / log($1 / n) }' scales)
floor "slope of importing" "$slope" "<=" 1.1
floor "two days of a test's history, the largest against the smallest" \
	"$(awk 'NR == 1 { t = $3 } END { printf "%.3f", $3 / t }' scales)" "<=" 1.2
finish
