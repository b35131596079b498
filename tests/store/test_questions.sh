#!/bin/bash
# Every question of questions.txt, asked to the index of a folder (SQLite), to one ClickHouse and to two shards: the
# answers are equal, byte for byte.
. "$(dirname "$0")/../cli/lib.sh"
. "$source/tests/store/servers.sh"

clickhouse_configure 1
clickhouse_configure 2
clickhouse_start 1
clickhouse_start 2
one=$(clickhouse_url 1 one)
pair=$(clickhouse_url 1 pair)
"$TRACELET" store init --to "$one"
check_run "on all servers of a cluster at once: only with ZooKeeper" 2 "$TRACELET" store init --to "$pair" --cluster pair
check_match "says ClickHouse, and we how to do without" "--here does it on one server.*ClickHouse code" "$stderr"
"$TRACELET" store init --to "$pair" --cluster pair --here
"$TRACELET" store init --to "$(clickhouse_url 2 pair)" --cluster pair --here
mkdir out
sessions 6000 --runs 60 --days 60 >out/manifest.jsonl
head -100 out/manifest.jsonl | sed 's/"attempt":1/"attempt":2/' >>out/manifest.jsonl # conflicts
printf 'broken\n{"deleted":[],"why":"max-age","when":"2026-02-02T03:04:05Z"}\n' >>out/manifest.jsonl
for store in "$one" "$pair"; do
	check_run "a push to ${store##*/}" 0 "$TRACELET" store push --strict --batch 2000 --to "$store" out
	check_run "and again" 0 "$TRACELET" store push --strict --again --to "$store" out
done
check "both shards have a part" test "$("$TRACELET" store sql --to "$pair" --format TabSeparated 'SELECT count() > 0 AND count() < 6000 FROM sessions_local FINAL')" = 1

answer() {
	"$TRACELET" history "$@" 2>&1
	echo "status $?"
}

while IFS= read -r line; do
	words=()
	if [[ $line == "-- "* ]]; then
		words=(-- "${line#-- }")
	else
		read -ra words <<<"$line"
	fi
	answer --output-dir out "${words[@]}" >folder.txt
	answer --store "$one" "${words[@]}" >one.txt
	answer --store "$(clickhouse_url 2 pair)" "${words[@]}" >pair.txt
	check "one server: $line" diff folder.txt one.txt
	check "two shards: $line" diff folder.txt pair.txt
	cat folder.txt >>all.txt
done <"$source/tests/store/questions.txt"
check "there are long answers" test "$(wc -c <all.txt)" -gt 100000
check_match "with changes" "git bisect run" all.txt
for format in --csv --json; do
	"$TRACELET" store export --store out $format --metric requests >folder.txt
	"$TRACELET" store export --store "$one" $format --metric requests >one.txt
	"$TRACELET" store export --store "$pair" $format --metric requests >pair.txt
	check "export $format: one server" cmp folder.txt one.txt
	check "export $format: two shards" cmp folder.txt pair.txt
done
check_equal "all sessions" 6000 "$(wc -l <pair.txt)"

# ---- gc ----
age=$(($(date +%s) - $(date -d 2026-10-15 +%s)))s # the middle of a month
check_run "gc on all servers of a cluster at once: only with ZooKeeper" 2 "$TRACELET" store gc --to "$pair" --session-age "$age"
check_match "and how to do without" "--here does it on one server" "$stderr"
for number in 1 2; do
	check_run "gc on server $number" 0 "$TRACELET" store gc --to "$(clickhouse_url $number pair)" --here --session-age "$age"
	check_match "drops its month" "^deleted 1 month" "$stdout"
done
check_equal "the rest is there" "$(grep -c '"started":"2026-1[01]' <(head -6000 out/manifest.jsonl))" \
	"$("$TRACELET" store sql --to "$pair" --format TabSeparated 'SELECT count() FROM sessions FINAL')"
clickhouse_end
done_testing
