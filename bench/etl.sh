#!/usr/bin/env bash
# ETL files: walking records, decompression, decoding, `info` on a gigabyte, and
# whether the time of `convert` grows in proportion to its input. The input is a
# real file of the corpus, repeated.
. "$(dirname "$0")/lib.sh"
corpus=${TRACELET_CORPUS:-$bench/../../shared/corpus}/etl
tools=$(dirname "$TRACELET")/bench
real=$corpus/perfview__net.4.5.2.x64.etl
[ -e "$real" ] || { echo "skipped: no corpus in $corpus"; exit 77; }

for size in 50 100 200 1000; do
	"$tools/repeat_etl" "$real" "$size.etl" $((size * 1000000)) >"$size.events"
done
echo "events in 1 GB: $(cat 1000.events)"

best() { # PART FILE COLUMN: of five runs
	for _ in 1 2 3 4 5; do taskset -c 0 "$tools/etl_speed" "$1" "$2"; done | cut -d' ' -f"$3" | sort -n | tail -1
}
floor "walk, MB/s" "$(best walk 200.etl 1)" ">=" 1000
floor "walk, million events per second" "$(calculate "$(best walk 200.etl 2) / 1e6")" ">=" 8
floor "decompression, MB/s of output" "$(best decompress "$real" 1)" ">=" 500
floor "decoding to nothing, million events per second" "$(calculate "$(best decode 100.etl 2) / 1e6")" ">=" 1.5

cat 1000.etl >/dev/null
table=$("$bench/measure.py" 3 "info=taskset -c 0 $TRACELET info 1000.etl" \
	"50=taskset -c 0 $TRACELET convert --quiet 50.etl 50.pb" \
	"100=taskset -c 0 $TRACELET convert --quiet 100.etl 100.pb" \
	"200=taskset -c 0 $TRACELET convert --quiet 200.etl 200.pb")
echo "wall s, CPU s, largest kB"
cut -d' ' -f1-4 <<<"$table" | sed 's/^/  /'
floor "info on 1 GB, CPU seconds" "$(column info 3)" "<=" 2
floor "info on 1 GB, resident MB" "$(calculate "$(column info 4) / 1000")" "<=" 64
floor "convert: time of 200 MB over twice that of 100 MB" "$(calculate "$(column 200 3) / $(column 100 3) / 2")" "<=" 1.2
finish
