#!/usr/bin/env bash
# The store of a fleet: how fast sessions are pushed to one ClickHouse on this machine, with what memory, how much
# room they take, and how long the questions take there, compared with the index of a folder.
# SESSIONS (default: a million) of 5,000 tests; a tenth of them shows whether the cost of one grows with their number.
. "$(dirname "$0")/lib.sh"
SESSIONS=${SESSIONS:-1000000}
ROUNDS=${ROUNDS:-3}
lines=${LINES_PROGRAM:-$(dirname "$TRACELET")/bench/history_lines}

# What the tests of stores start servers with.
source=$(cd "$bench/.." && pwd) work_root=$scratch STORE_TEST_NETWORK=shared
need_command() {
	local command
	for command; do
		command -v "$command" >/dev/null || { echo "needs $command"; exit 77; }
	done
}
note() { echo "$*"; }
skip_all() { echo "$*"; exit 77; }
is_sanitized() { false; }
set +u
. "$source/tests/store/servers.sh"
trap 'clickhouse_end; cd /; rm -rf "$scratch"' EXIT
clickhouse_start 1

# measured COMMAND...: prints seconds, the largest memory in MB, and seconds of CPU time.
measured() {
	python3 -c '
import resource, subprocess, sys, time
begin = time.monotonic()
subprocess.run(sys.argv[1:], check=True, stdout=subprocess.DEVNULL)
used = resource.getrusage(resource.RUSAGE_CHILDREN)
print(f"{time.monotonic() - begin:.3f} {used.ru_maxrss / 1024:.0f} {used.ru_utime + used.ru_stime:.3f}")' "$@"
}
middle() {
	printf '%s\n' "$@" | sort -g | awk '{ v[NR] = $1 } END { print v[int((NR + 1) / 2)] }'
}

mkdir few many
"$lines" $((SESSIONS / 10)) 5000 >few/manifest.jsonl
"$lines" "$SESSIONS" 5000 >many/manifest.jsonl
echo "$SESSIONS sessions, $(($(stat -c %s many/manifest.jsonl) / SESSIONS)) bytes a line; load $(cut -d' ' -f1 /proc/loadavg)"

few=() many=() both=() memory=0
for ((round = 0; round < ROUNDS; round++)); do
	for size in few many; do
		to=$(clickhouse_url 1 "$size$round")
		"$TRACELET" store init --to "$to"
		rm -f $size/pushed.jsonl
		read -r seconds peak cpu <<<"$(measured "$TRACELET" store push --strict --to "$to" $size)"
		eval "$size+=(\$seconds)"
		memory=$((peak > memory ? peak : memory))
	done
	rm -rf objects
	rm -f many/pushed.jsonl
	read -r seconds _ <<<"$(measured "$TRACELET" store push --strict --to "$to" --objects objects many)"
	both+=("$seconds")
done
speed=$(calculate "$SESSIONS / $(middle "${many[@]}")")
echo "push: $(calculate "$speed") sessions a second; again, with raw lines in a folder: $(calculate "$SESSIONS / $(middle "${both[@]}")")"
floor "sessions pushed to one ClickHouse in a second" "$speed" ">=" 25000
floor "slope of the time from a tenth to all" \
	"$(calculate "log($(middle "${many[@]}") / $(middle "${few[@]}")) / log(10)")" "<=" 1.1
echo "push itself: $memory MB, $(calculate "$SESSIONS / $cpu") sessions in a second of CPU time"
read -r nothing _ <<<"$(measured "$TRACELET" store push --strict --to "$to" --objects objects many)"
echo "push with nothing new: $(calculate "$nothing * 1000") ms"

"$TRACELET" store sql --to "$to" --write "OPTIMIZE TABLE sessions FINAL" >/dev/null || true
"$TRACELET" store sql --to "$to" --format TabSeparated \
	"SELECT table, sum(bytes) FROM system.parts WHERE active AND database = '${to##*/}' GROUP BY table" >parts
bytes=$(calculate "$(awk '{ s += $2 } END { print s }' parts) / $SESSIONS")
echo "in ClickHouse: $bytes bytes a session ($(awk -v n="$SESSIONS" '{ printf "%s %.0f ", $1, $2 / n }' parts))"
floor "bytes of a session in ClickHouse" "$bytes" "<=" 600

"$TRACELET" history runs --output-dir many >/dev/null # makes the index
for question in "test/7" "slow" "flaky" "runs" "functions --recent 30d" "trend"; do
	here=() there=()
	for ((round = 0; round < ROUNDS; round++)); do
		# shellcheck disable=SC2086 # words
		read -r seconds _ <<<"$(measured "$TRACELET" history $question --output-dir many)"
		here+=("$seconds")
		# shellcheck disable=SC2086
		read -r seconds _ <<<"$(measured "$TRACELET" history $question --store "$to")"
		there+=("$seconds")
	done
	echo "history $question: $(calculate "$(middle "${there[@]}") * 1000") ms in ClickHouse, $(calculate "$(middle "${here[@]}") * 1000") ms in the folder's index"
done
finish
