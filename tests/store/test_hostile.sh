#!/bin/bash
# Manifests, folders and servers that are not what they should be.
. "$(dirname "$0")/../cli/lib.sh"
. "$source/tests/store/servers.sh"
clickhouse_start 1
TRACELET_STORE=$(clickhouse_url 1 ci)
export TRACELET_STORE TRACELET_OBJECTS=$work/objects
"$TRACELET" store init

# ---- lines ----
mkdir out
good=$(python3 "$source/tests/store/hostile.py" 2>&1 >out/manifest.jsonl)
echo secret >victim
ln -s "$work/victim" out/link
mkfifo out/fifo
check_run "hostile lines can be pushed" 0 "$TRACELET" store push --strict out
check_match "those that are sessions" "^pushed $good sessions" "$stdout"
check_match "the first of an id" " 1 in conflict, 2 lines ignored, 5 broken" "$stdout"
check_match "and no artifact from elsewhere" "^objects: 0 new" "$stdout"
check_equal "all are there" "$good" "$(value 'SELECT count() FROM sessions FINAL')"
check_equal "the first of two stays" n1 "$(value "SELECT name FROM sessions FINAL WHERE session = unhex('01a0c4629baa708d8f89000000000001')")"
check_equal "names are data" 1 "$(value "SELECT count() FROM sessions FINAL WHERE name = '\\'); DROP TABLE sessions; --'")"
check_equal "also those that mean null" 1 "$(value "SELECT count() FROM sessions FINAL WHERE name = '\\\\N'")"
check_equal "long ones are cut" 1 "$(value "SELECT count() FROM sessions FINAL WHERE length(name) BETWEEN 400 AND 600")"
check_equal "and functions" 2 "$(value "SELECT length(functions) FROM profiles FINAL")"
check_equal "texts hold no control characters" 0 "$(value "SELECT count() FROM sessions WHERE match(concat(name, project, run, commit), '[\\\\x00-\\\\x1f]')")"
check_run "export takes them" 0 "$TRACELET" store export --json --output all.jsonl
check "as JSON" jq -e . all.jsonl
"$TRACELET" store init --to "$(clickhouse_url 1 again)"
check_run "rebuild takes them" 0 "$TRACELET" store rebuild --to "$(clickhouse_url 1 again)"
"$TRACELET" store export --json --output rebuilt.jsonl --to "$(clickhouse_url 1 again)"
check "and gets the same" cmp all.jsonl rebuilt.jsonl
for question in "--json" "tests --json" "runs --json" "slow --json" "functions --json --until 2026-10-05"; do
	# shellcheck disable=SC2086 # words
	"$TRACELET" history $question --output-dir out >folder.txt 2>&1
	# shellcheck disable=SC2086
	"$TRACELET" history $question --store "$TRACELET_STORE" >store.txt 2>&1
	check "the same answer as from the folder: $question" diff folder.txt store.txt
done
mkdir other && sed 's/"name": "n15"/"name": "n15 of another"/' out/manifest.jsonl | tail -1 >other/manifest.jsonl
check_run "an id that comes again with another content" 0 "$TRACELET" store push --strict other
check_match "is refused and counted" "^pushed 0 sessions .* 1 in conflict" "$stdout"
check_equal "the first one stays" n15 "$(value "SELECT name FROM sessions FINAL WHERE session = unhex('01a0c4629baa708d8f8900000000000f')")"
check_run "check counts them" 0 "$TRACELET" store check
check_match "all conflicts" "^conflicts  2$" "$stdout"

# ---- folders ----
mkdir linked && cp other/manifest.jsonl linked/ && ln -s "$work/victim" linked/pushed.jsonl
check_run "a link is not followed" 1 "$TRACELET" store push --strict linked
rm linked/pushed.jsonl && ln victim linked/pushed.jsonl
check_run "nor a second name written to" 1 "$TRACELET" store push --strict linked
check_equal "so other files stay" secret "$(cat victim)"
rm linked/pushed.jsonl && mkfifo linked/pushed.jsonl
check_run "a pipe does not hold it up" 1 timeout 20 "$TRACELET" store push --strict linked
rm linked/pushed.jsonl linked/manifest.jsonl && ln -s "$work/other/manifest.jsonl" linked/manifest.jsonl
check_run "the manifest is no link either" 1 "$TRACELET" store push --strict linked
printf '{"to":"%s","objects":"%s","offset":18446744073709551615,"check":0}\n{"offset":[[[\nx\n' "$TRACELET_STORE" "$TRACELET_OBJECTS" >other/pushed.jsonl
check_run "a state that is wrong is none" 0 "$TRACELET" store push --strict other
clickhouse_end

# ---- servers ----
unset TRACELET_OBJECTS
coproc BAD { exec python3 "$source/tests/store/bad_server.py"; }
read -r port <&"${BAD[0]}"
bad() {
	run timeout 60 "$TRACELET" store push --strict --again --patience 2 --to "clickhouse+http://127.0.0.1:$port/$1" other
}
for how in endless endless_line other_columns cut unended; do
	bad $how
	check_equal "$how: a failure" 1 "$status"
done
bad orders
check_equal "a failure has one line, then the warning" 2 "$(wc -l <"$stderr")"
check_not "without orders to terminals and CI systems" grep -aqE $'\x1b|^::|^ *::' "$stderr"
export TRACELET_STORE_PASSWORD=geheim
bad elsewhere
check_equal "a redirection is a failure" 1 "$status"
bad silent
check_equal "a server that says nothing is given up" 1 "$status"
exec {caught}<&"${BAD[0]}" # bash forgets the other when the process has ended
kill "$BAD_PID"
check_not "and nobody got the password" grep -q caught <&"$caught"
for address in clickhouse+http://h clickhouse+http://h/ clickhouse+http://h/a-b "clickhouse+http://h/a;b" clickhouse+http://h:99999999/a \
	clickhouse+http:///a "clickhouse+http://h h/a" clickhouse+ftp://h/a http://h/a "clickhouse+http://a@b@c/d"; do
	check_run "no address: $address" 2 "$TRACELET" store push --to "$address" other
done
for place in s3:// s3://A/b s3://abc/../x s3://abc/%41 http://x/y ""; do
	check_run "no place: $place" 2 "$TRACELET" store push --to clickhouse+http://h/a --objects "$place" other
done
done_testing
