#!/usr/bin/env bash
# Pages: their size, how soon they can be used, a frame while zooming, memory; a run of 20,000 tests; and what writing one
# costs a failed test. SIZES chooses how many thousand events, ROUNDS how often each page is opened; the largest, once.
. "$(dirname "$0")/lib.sh"
need_root
modules=$("$bench/../tests/browser/setup") || exit $?
export PLAYWRIGHT=$modules/node_modules/playwright-core/index.mjs
repeat=${REPEAT_SPOOL:-$(dirname "$TRACELET")/bench/repeat_spool}
rounds=${ROUNDS:-3}
[ "$rounds" -le 3 ] || rounds=3

value() { # FILE NAME
	awk -v name="$2" '$1 == name { print $2 }' "$1"
}

# ---- recordings ----

"$TRACELET" run --quiet --keep-spool --sample=499 --name seed --output-dir out -- perf bench sched messaging -g 10 -l 400 >/dev/null 2>&1
seed=$(ls out/seed_*.spool)
size=$(stat -c %s "$seed")
"$repeat" "$seed" one.spool $((size + 1)) >one.events
for thousand in ${SIZES:-100 1000 10000}; do
	"$repeat" "$seed" "$thousand.spool" "$(awk -v s="$size" -v t="$thousand" '{ printf "%d", s * t * 1000 / $1 }' one.events)" >"$thousand.events"
	"$TRACELET" report "$thousand.spool" -o "$thousand.html" >/dev/null
	node "$bench/page.mjs" "$thousand.html" "$([ "$thousand" -lt 10000 ] && echo "$rounds" || echo 1)" >"$thousand.txt"
	echo "$thousand k events ($(cat "$thousand.events")): $(stat -c %s "$thousand.html") bytes; $(tr '\n' ' ' <"$thousand.txt")"
done
megabytes() {
	calculate "$(stat -c %s "$1") / 1e6"
}
for thousand in ${SIZES:-100 1000 10000}; do
	case $thousand in
	100)
		floor "MB of 100 k events" "$(megabytes 100.html)" "<=" 1
		floor "usable, ms, 100 k events" "$(value 100.txt usable)" "<=" 200
		;;
	1000)
		floor "ms of a frame while zooming, 1 M events" "$(value 1000.txt frame)" "<=" 16
		;;
	10000)
		floor "MB of 10 M events" "$(megabytes 10000.html)" "<=" 45
		floor "usable, ms, 10 M events" "$(value 10000.txt usable)" "<=" 1000
		floor "MB of memory, 10 M events" "$(value 10000.txt memory)" "<=" 300
		;;
	esac
done

# ---- a typical test ----

"$TRACELET" run --quiet --sample --off-cpu --output-dir small --name small -- "$(dirname "$TRACELET")/demo/fails" >/dev/null 2>&1 || true
"$TRACELET" report --output-dir small small -o small.html >/dev/null
floor "kB of a typical test" "$(calculate "$(stat -c %s small.html) / 1000")" "<=" 80
times=()
for _ in 1 2 3 4 5; do
	times+=("$("$TRACELET" run --verbose --report --sample --off-cpu --output-dir cost --name small -- "$(dirname "$TRACELET")/demo/fails" 2>&1 >/dev/null |
		sed -n 's/.*writing the page took \([0-9]*\) us.*/\1/p' || true)")
done
floor "ms to write the page of a failed test" "$(calculate "$(printf '%s\n' "${times[@]}" | sort -n | sed -n 3p) / 1000")" "<=" 50

# ---- tables ----

floor "ms to group 10 M rows by two keys" "$(node "$bench/regroup.mjs" "$bench/../src/write/page" 10000000)" "<=" 150

# ---- a run ----

mkdir run
awk 'BEGIN { for (i = 0; i < 20000; i++) printf "{\"version\":2,\"session\":\"%08d-0000-4000-8000-000000000000\",\"test\":\"suite_%d::case_%d\",\"kind\":\"test\",\"status\":\"%s\",\"result\":\"%s\",\"started\":\"2026-01-01T00:%02d:%02d.000Z\",\"wall_seconds\":%.6f,\"cpu_seconds\":%.6f,\"explanation\":\"For %d ms (%d %%), worker waited for a mutex in take_%d().\",\"artifacts\":[{\"kind\":\"perfetto\",\"path\":\"x_%d.pb\",\"size\":%d,\"sha256\":\"\"}]}\n", i, i % 200, i, i % 97 ? "passed" : "failed", i % 97 ? "passed" : "failed: exit status 1", i / 60 % 60, i % 60, i * 7919 % 10007 / 1e3, i * 104729 % 7919 / 1e3, i * 31 % 977, i % 90, i % 300, i, i * 13 % 90000 }' >run/manifest.jsonl
"$TRACELET" report run -o run.html >/dev/null
node "$bench/page.mjs" run.html "$rounds" run >run.txt
echo "20,000 tests: $(tr '\n' ' ' <run.txt)"
floor "MB of a run of 20,000 tests" "$(megabytes run.html)" "<=" 3
floor "usable, ms" "$(value run.txt usable)" "<=" 1000
floor "ms to sort it" "$(value run.txt sort)" "<=" 100
finish
