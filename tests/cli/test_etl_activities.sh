#!/usr/bin/env bash
# Activities of Windows' providers in a Perfetto trace: slices from Start to Stop, flows from related activities.
. "$(dirname "$0")/lib.sh"
need_command jq
make_etl=$(dirname "$TRACELET")/tests/etl/make_etl
tp=$source/tests/perfetto/tp
"$make_etl" activities.etl activities
check_run "a file with activities converts" 0 "$TRACELET" convert activities.etl activities.pb
check_run "what came out is sound" 0 "$TRACELET" check activities.pb
if $tp --health activities.pb 2>/dev/null; then
	check_equal "Start and Stop with one activity id are a slice; one that does not stop lasts to the end" 'Inner|200000|00000002-0000-0000-0000-00000000000a
Open|200000|00000004-0000-0000-0000-00000000000a
Outer|500000|00000001-0000-0000-0000-00000000000a' "$($tp activities.pb "select s.name || '|' || s.dur || '|' || extract_arg(s.arg_set_id, 'debug.activity')
		from slice s where s.dur > 0 and s.category != 'tracelet' order by s.name")"
	check_equal "flows lead from the related activity to what it began" 'Inner|Step
Outer|Inner' "$($tp activities.pb "select a.name || '|' || b.name from flow f join slice a on f.slice_out = a.id
		join slice b on f.slice_in = b.id order by a.name")"
	check_equal "the events stay where they were" 8 "$($tp activities.pb "select count(*) from slice where dur = 0 and category != 'tracelet'")"
else
	skip "activities in Perfetto" "the importer is not to be had"
fi
check_equal "dump has the ids" '00000002-0000-0000-0000-00000000000a 00000001-0000-0000-0000-00000000000a' \
	"$("$TRACELET" dump --json --event InnerStart activities.etl | jq -r '"\(.activity) \(.related_activity)"')"
done_testing
