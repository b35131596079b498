# Traces as input: what a run wrote comes back, for every verb that looks at recordings.
. "$(dirname "$0")/lib.sh"
. "$source/tests/cli/helpers/words.sh"
need_command jq
need_bpf

# A test with everything: processes, threads, marks, interrupts, samples, an exit status.
cat >everything <<-END
	$TRACELET_HELPERS/family
	$TRACELET_HELPERS/marker 20
	$TRACELET_HELPERS/chains with_thread
	exit 3
END
"$TRACELET" run --quiet --sample --keep-spool --name t -- sh ./everything >/dev/null 2>&1
mv tracelet-out/t_*.pb t.pb
mv tracelet-out/t_*.spool t.spool
good=$(pwd)

# ---- the same events ----

# What a trace does not tell, or tells otherwise, and why:
#  - mappings: samples have names already when they are written, so addresses are not needed;
#  - which function a sample was in, for the same reason: a spool has only the address;
#  - of time outside the test: who left a CPU, in what state, and who came but was not next to the
#    test: it belongs to the pseudo task "(not this test)";
#  - names that nobody needs: of the end of a test case;
#  - slices that nobody ended end with their thread, and ends of slices that never began are left out;
#  - which thread told a counter: it is its process';
#  - the beginning of an interrupt that was under way when the trace began.
cat >same.jq <<'END'
reduce inputs as $event ({mine: {}, out: []};
	($event | if .event == "task" or .event == "exec" then .tid
		elif .event == "fork" then .fields.child_tid else null end) as $new
	| (if $new then .mine[$new | tostring] = true else . end) as $known
	| $known.mine as $mine
	| ($event
		| if .event == "mapping" then null
		elif .provider == "sample" then .fields |= {weight}
		elif .event == "switch" then
			($mine[.tid | tostring] | not) as $outside
			| ($mine[.fields.next_tid | tostring] | not) as $next_outside
			| if $outside then .tid = "outside" | .fields.state = "" | .fields.priority = 0 else . end
			| if $outside and $next_outside
				then .fields.next_tid = "outside" | .fields.next_name = "" | .fields.next_priority = 0
				else . end
		elif .event == "mark" and .fields.type == "counter" then .tid = .pid
		elif .event == "mark" and .fields.type == "test end" then del(.fields.text)
		elif .event == "mark" and .fields.type == "slice end" then null
		else . end) as $same
	| $known | .out += [$same | select(. != null)])
| .out | sort_by(.time_ns) | .[]
END
# events FILE: those that must be the same, sorted: of one nanosecond the order is any.
events() {
	"$TRACELET" dump --json "$1" 2>>said | jq -nc -f same.jq | sort
}
events t.spool >spool.events
events t.pb >pb.events
check "there are many events" test "$(wc -l <spool.events)" -gt 500
check "a trace has those of its recording" cmp spool.events pb.events
diff spool.events pb.events | head -n 20 | sed 's/^/# /'
check_lines "nothing was said about either" 0 said
for kind in switch waking fork exec exit mark cpu-clock rename; do
	check "there are events of $kind" grep -q "\"event\":\"$kind\"" pb.events
done

check_run "it is converted to a trace again" 0 "$TRACELET" convert t.pb again.pb
check "which is good" "$TRACELET" check again.pb
"$TRACELET" dump --json t.pb >1
"$TRACELET" dump --json again.pb >2
check "with the same events" cmp 1 2
check_run "and once more" 0 "$TRACELET" convert again.pb once-more.pb
check "byte for byte" cmp again.pb once-more.pb

# ---- every verb ----

"$TRACELET" fold t.spool >1
"$TRACELET" fold t.pb >2
check "fold gives the same" cmp 1 2
check "and something" test -s 2
check_run "top" 0 "$TRACELET" top t.pb
check_match "tells functions" '%.* \(' "$stdout"
"$TRACELET" top --json t.spool >1
"$TRACELET" top --json t.pb >2
check "the same as of the recording" cmp 1 2
check_run "flame" 0 "$TRACELET" flame -o t.svg t.pb
check_match "draws" '<svg' t.svg
check_run "diff with itself" 0 "$TRACELET" diff t.pb t.spool
check_run "info" 0 "$TRACELET" info --json t.pb
check_equal "tells the format" perfetto "$(jq -r .format "$stdout")"
check_equal "the facts" "t 3" "$(jq -r '.facts | "\(.test) \(."exit-status")"' "$stdout")"
check_equal "and no losses" 0 "$(jq -r .lost "$stdout")"
for table in processes threads cpu-usage context-switches lost; do
	check_run "table $table" 0 "$TRACELET" table --csv t.pb $table
done
"$TRACELET" table --csv --group-by name,command_line,exit t.spool processes >1
"$TRACELET" table --csv --group-by name,command_line,exit t.pb processes >2
check "processes are the same" cmp 1 2
for format in folded svg html; do
	check_run "convert to $format" 0 "$TRACELET" convert t.pb out.$format
	check "it is there" test -s out.$format
done
for format in speedscope pprof; do
	check_run "convert to $format" 0 "$TRACELET" convert --to $format t.pb out.$format
	check "it is there" test -s out.$format
done
check_run "--from names it" 0 "$TRACELET" convert --from perfetto t.pb from.pb
check "with the same result" cmp again.pb from.pb
check_run "through a pipe" 0 sh -c 'cat t.pb | "$TRACELET" convert - piped.pb'
check "with the same result" cmp again.pb piped.pb

# ---- a flight recorder, the whole system, no privileges ----

"$TRACELET" run --quiet --scope system --keep-spool --name s --output-dir system -- sh -c 'sleep 0.05; sleep 0.05'
"$TRACELET" dump --json system/s_*.spool | jq -c 'select(.event == "switch") | [.time_ns, .cpu, .tid, .fields.next_tid]' | sort >1
"$TRACELET" dump --json system/s_*.pb | jq -c 'select(.event == "switch") | [.time_ns, .cpu, .tid, .fields.next_tid]' | sort >2
check "a trace of the whole system has its switches" cmp 1 2
check "many" test "$(wc -l <2)" -gt 10

# ---- refused, or read as far as it goes ----

# refused DESCRIPTION TEXT FILE: one line with this text, not 0, no output.
refused() {
	check_run "$1: refused" 2 "$TRACELET" convert --from perfetto "$3" refused.pb
	check_lines "$1: one line" 1 "$stderr"
	check_match "$1: that says so" "$2" "$stderr"
	check_not "$1: no output, no temporary file" sh -c 'ls refused.pb* 2>/dev/null'
}
fresh
: >empty
refused "an empty file" "not a Perfetto trace" empty
head -c 100000 /dev/zero >zeros
refused "zeros" "not a Perfetto trace" zeros
printf 'main;f 1\n' >folded
refused "folded stacks" "not a Perfetto trace" folded
refused "a spool" "not a Perfetto trace" "$good/t.spool"
check_run "noise is of no format" 2 sh -c 'head -c 100000 /dev/urandom >noise; "$TRACELET" fold noise'

size=$(stat -c %s "$good/t.pb")
for part in 10 35 60 85 99; do
	head -c $((size * part / 100)) "$good/t.pb" >cut.pb
	check_run "cut off at $part %: read" 0 "$TRACELET" info --json cut.pb
	check_match "and it is said" "ends in the middle of a packet" "$stderr"
	check "there are events" test "$(jq .events_total "$stdout")" -gt 0
done
(cat "$good/t.pb"; head -c 1000 /dev/zero) >garbage.pb
check_run "garbage behind it: read" 0 "$TRACELET" convert garbage.pb out.pb
check_lines "one line" 1 "$stderr"
check_match "says where" "not a packet at offset $size" "$stderr"
check "all before it is there" cmp "$good/again.pb" out.pb
# A packet of unknown kind, a length that is not there, a message inside out.
(cat "$good/t.pb"; printf '\n\6\312\77\3abc') >unknown.pb
check_run "an unknown packet: read" 0 "$TRACELET" info unknown.pb
check_match "and counted" "1 packets of kinds that tracelet does not know" "$stderr"
printf '\n\377\377\377\377\17abcdef' >huge.pb
check_run "a packet of 4 GB in 12 bytes" 2 "$TRACELET" fold --from perfetto huge.pb
printf '\n\200\200\200\10\12\3abc' >long.pb
check_run "one that is longer than the file" 2 "$TRACELET" fold --from perfetto long.pb

done_testing
