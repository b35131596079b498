# `tracelet view`: a page with all tables, cell for cell those of `tracelet table --csv`; and the door to Perfetto's user
# interface.
. "$(dirname "$0")/lib.sh"
need_command node curl
make_etl=$(dirname "$TRACELET")/tests/etl/make_etl

# same FILE: all tables of its page are those of `table`.
same() {
	local table
	"$TRACELET" view "$1" -o page.html >/dev/null 2>&1
	check "$1: there are tables" test -n "$(node "$source/tests/browser/tables.mjs" page.html)"
	for table in $(node "$source/tests/browser/tables.mjs" page.html); do
		"$TRACELET" table "$1" "$table" --group-by none --csv >theirs.csv 2>/dev/null
		node "$source/tests/browser/tables.mjs" page.html "$table" >ours.csv
		check "$1: $table has the same cells" cmp ours.csv theirs.csv
	done
}

"$make_etl" sample.etl plain
same sample.etl
if [ "$(id -u)" = 0 ]; then
	"$TRACELET" run --quiet --profile syscalls --sample --output-dir out --name calls -- sh -c 'ls / >/dev/null; sleep 0.01' >/dev/null 2>&1 ||
		"$TRACELET" run --quiet --sample --output-dir out --name calls -- sh -c 'ls / >/dev/null; sleep 0.01' >/dev/null 2>&1
	cp "$("$TRACELET" artifact --output-dir out calls)" calls.pb
	same calls.pb
	"$TRACELET" table calls.pb cpu-usage-precise --group-by process,thread --sum ready_us --csv 2>/dev/null |
		tail -n +2 | sed 's/,$/,0.000/' | sort >theirs.csv # a sum of nothing is 0 in a page
	node "$source/tests/browser/tables.mjs" page.html cpu-usage-precise process,thread ready_us | sort >ours.csv
	check "groups have the same counts and sums" cmp ours.csv theirs.csv
	[ -s theirs.csv ] || note "no groups"
fi

# ---- options ----

run "$TRACELET" view sample.etl -o page.html
check_equal "-o" "0 page.html" "$status $(cat "$stdout")"
run env -u DISPLAY -u WAYLAND_DISPLAY "$TRACELET" view sample.etl
check_equal "without a display it prints where the page is" 0 "$status"
check "which is there" test -s "$(cat "$stdout")"
rm -rf "$(dirname "$(cat "$stdout")")"
printf '{"table":"generic-events","keys":["provider"],"values":["duration_us"]}' >preset.json
run "$TRACELET" view --preset preset.json sample.etl -o page.html
check "--preset" grep -qF 'id="preset">{&quot;table&quot;:&quot;generic-events&quot;' page.html
run "$TRACELET" view --preset missing.json sample.etl -o page.html
check_equal "a preset that is not there" 2 "$status"
run "$TRACELET" view missing.etl -o page.html
check_equal "a file that is not there" 2 "$status"
run "$TRACELET" view
check_equal "no file" 2 "$status"

# ---- once, for ui.perfetto.dev ----

if ! curl -s -o /dev/null http://127.0.0.1:9001/; then
	"$TRACELET" view --perfetto sample.etl >link.txt 2>served.txt &
	server=$!
	for _ in $(seq 600); do
		[ -s link.txt ] && break
		sleep 0.05 # until it listens
	done
	check_match "the link" '^https://ui\.perfetto\.dev/#!/\?url=http://127\.0\.0\.1:9001/[0-9a-f]{32}/trace\.pb&' link.txt
	address=$(sed -E 's/.*[?]url=([^&]*)&.*/\1/' link.txt)
	check_equal "another page gets nothing" 403 "$(curl -s -o /dev/null -w '%{http_code}' -H 'Origin: https://evil.example' "$address")"
	check_equal "nor does one without an origin" 403 "$(curl -s -o /dev/null -w '%{http_code}' "$address")"
	check_equal "nor one under another name" 403 "$(curl -s -o /dev/null -w '%{http_code}' -H 'Host: evil.example' -H 'Origin: https://ui.perfetto.dev' "$address")"
	check_equal "Perfetto's page gets the trace" 200 "$(curl -s -o fetched.pb -w '%{http_code}' -H 'Origin: https://ui.perfetto.dev' "$address")"
	wait $server
	check_equal "and it ends" 0 $?
	check "the trace is good" "$TRACELET" check fetched.pb
else
	skip "view --perfetto" "port 9001 is in use"
fi
done_testing
