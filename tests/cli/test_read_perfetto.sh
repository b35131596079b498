# Traces as input: what a run wrote is read back, for every verb that reads recordings.
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
mv tracelet-out/t_*.spool t.spool
"$TRACELET" convert t.spool t.pb # now, because the kernel's symbols may change later
good=$(pwd)

# ---- the same events ----

# What a trace lacks, or shows differently, and why:
#  - mappings: samples already have names when they are written, so addresses are not needed;
#  - the function of a sample, for the same reason: a spool has only the address;
#  - for time outside the test: which task left a CPU and in what state, and tasks that neither ran
#    next to the test nor were followed: all of it belongs to the pseudo task "(not this test)";
#  - unneeded names: at the end of a test case;
#  - open slices end with their thread, and ends of slices that never began are left out;
#  - which thread set a counter: it belongs to the process;
#  - the priority of the task that leaves: it is the one with which it came, and may have changed
#    since;
#  - the beginning of an interrupt that was active when the trace began;
#  - where a switch on a CPU is missing (some kernels hide some): the time before the next one belongs to the
#    pseudo task "(events lost)", up to its last nanosecond, in which the task that leaves has the CPU;
#  - there, too: which task an interrupt found on the CPU. same_interrupted() compares these.
cat >same.jq <<'END'
def pseudo: . >= 5242880; # "(events lost)"
def nobody: .tid = "nobody" | .pid = 0 | .process = "" | .fields.state = "" | .fields.priority = 0
	| del(.fields.io_wait); # which is part of the state
def switched($mine; $current):
	(.tid | pseudo) as $lost
	| (if $tree and ($lost | not) then $mine[.tid | tostring] | not else false end) as $outside
	| (if $tree then $mine[.fields.next_tid | tostring] | not else false end) as $next_outside
	| (.tid == 4194304) as $pseudo # and the next task is named when the test leaves
	| ($tree and $current == null) as $first
	| if $lost or $outside or $first then nobody else . end
	| if ($outside and $next_outside and (.fields.followed | not)) or .fields.next_tid == 4194304
		then .fields.next_tid = "outside" | .fields.next_name = "" | .fields.next_priority = 0
		else . end
	| del(.fields.followed);
def same($mine; $current):
	if .event == "mapping" or (.event == "switch" and (.fields.next_tid | pseudo)) then null
	elif .provider == "sample" then .fields |= {weight}
	elif .event == "switch" then switched($mine; $current) | .fields.priority = 0
	elif .event == "waking" and (.fields.context | IN("hardirq", "softirq"))
		then .tid = "interrupted" | .pid = 0 | .process = ""
	elif .event == "mark" and .fields.type == "counter" then .tid = .pid
	elif .event == "mark" and .fields.type == "test end" then del(.fields.text)
	elif .event == "mark" and .fields.type == "slice end" then null
	else . end
	| if $tree or . == null then . else del(.pid, .process) end; # some are older than the list of tasks
[inputs] as $all
| ($all | map(select(.event == "switch") | {key: "\(.cpu) \(.time_ns) \(.tid)", value: true}) | from_entries) as $leaves
| def found: .event == "switch" and (.tid | pseudo) and $leaves["\(.cpu) \(.time_ns + 1) \(.fields.next_tid)"];
foreach ($all[] | select(found | not)) as $event ({mine: {}, on: {}};
	($event | if .event == "task" or .event == "exec" then .tid
		elif .event == "fork" then .fields.child_tid else null end) as $new
	| if $new then .mine[$new | tostring] = true else . end
	| .mine as $mine | .on["\($event.cpu)"] as $current
	| .out = ($event | same($mine; $current))
	| if .out.event == "switch"
		then .on["\($event.cpu)"] = .out.fields.next_tid
		else . end;
	.out | select(. != null))
END
# events FILE SCOPE_IS_TREE: those that must be equal, sorted, because the order within a nanosecond is
# undefined. The kernel has names for its BPF programs, ours included, only while they are loaded: a
# recording that is read later has none.
events() {
	"$TRACELET" dump --json "$1" 2>>said | jq -nc --argjson tree "$2" -f same.jq |
		sed 's/"bpf_prog_[^"]*"/"[kernel.kallsyms]"/g' | sort
}
# same_interrupted SPOOL TRACE MANIFEST: which tasks interrupts found on their CPUs when they woke others.
same_interrupted() {
	if [ "$(jq -s 'last.gaps' "$3")" != 0 ]; then
		skip "interrupts found the same tasks" "the kernel did not report some switches"
		return
	fi
	for file in "$1" "$2"; do
		"$TRACELET" dump --json "$file" 2>/dev/null | jq -c 'select(.event == "waking" and
			(.fields.context | IN("hardirq", "softirq"))) | [.time_ns, .cpu, .tid, .fields.wakee_tid]' | sort >"$file.interrupted"
	done
	check "interrupts found the same tasks" cmp "$1.interrupted" "$2.interrupted"
	diff "$1.interrupted" "$2.interrupted" | head -n 5 | sed 's/^/# /'
}
events t.spool true >spool.events
events t.pb true >pb.events
check "there are many events" test "$(wc -l <spool.events)" -gt 500
check "a trace has those of its recording" cmp spool.events pb.events
diff spool.events pb.events | head -n 20 | sed 's/^/# /'
same_interrupted t.spool t.pb tracelet-out/manifest.jsonl
check_lines "neither printed a message" 0 said
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

# stacks FILE: without the kernel's part, whose symbols change with the programs of tracers.
stacks() {
	"$TRACELET" fold --kernel "$1" | awk '{
		weight = $NF; sub(/ [0-9]+$/, ""); count = split($0, frames, ";"); stack = frames[1]
		for (i = 2; i <= count; i++) if (frames[i] !~ /_\[k\]$/) stack = stack ";" frames[i]
		sum[stack] += weight } END { for (stack in sum) print stack, sum[stack] }' | sort
}
stacks t.spool >1
stacks t.pb >2
check "fold gives the same" cmp 1 2
"$TRACELET" fold t.pb >1
"$TRACELET" fold again.pb >2
check "also of a trace that was read" cmp 1 2
check "and something" test -s 2
check_run "top" 0 "$TRACELET" top t.pb
check_match "shows functions" '%.* \(' "$stdout"
functions='.samples, (.functions[] | select(.module | startswith("[") | not))'
"$TRACELET" top --json --limit 100000 t.spool | jq -c "$functions" | sort >1 # equal ones are in any order
"$TRACELET" top --json --limit 100000 t.pb | jq -c "$functions" | sort >2
check "the same as of the recording" cmp 1 2
check_run "flame" 0 "$TRACELET" flame -o t.svg t.pb
check_match "draws" '<svg' t.svg
check_run "diff with itself" 0 "$TRACELET" diff t.pb t.spool
check_run "info" 0 "$TRACELET" info --json t.pb
check_equal "names the format" perfetto "$(jq -r .format "$stdout")"
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

gzip -k t.pb
check_run "what gzip has packed" 0 "$TRACELET" convert t.pb.gz unzipped.pb
check "with the same result" cmp again.pb unzipped.pb
check_run "of which a part is there" 0 sh -c 'head -c 10000 t.pb.gz >cut.gz; "$TRACELET" info cut.gz'
check_match "which is reported" "compressed part that is damaged or truncated" "$stderr"

# ---- the whole system ----

"$TRACELET" run --quiet --scope system --keep-spool --name s --output-dir system -- sh -c 'sleep 0.05; sleep 0.05'
events system/s_*.spool false >1
events system/s_*.pb false >2
check "a trace of the whole system has its events" cmp 1 2
diff 1 2 | head -n 20 | sed "s/^/# /"
same_interrupted system/s_*.spool system/s_*.pb system/manifest.jsonl
check "many" test "$(wc -l <2)" -gt 10

# ---- other tools' recordings, converted to a trace ----

corpus=${TRACELET_CORPUS:-$source/../shared/corpus}
for file in perf-data/perf.data.callgraph-3.8 perf-data/sleep.data perf-script/flamegraph/perf-dd-stacks-01.txt \
	etl/perfview__net.4.5.2.x64.etl; do
	if [ ! -e "$corpus/$file" ]; then
		skip "$file" "there is no corpus"
		continue
	fi
	"$TRACELET" convert --quiet "$corpus/$file" other.pb
	"$TRACELET" fold "$corpus/$file" >1
	"$TRACELET" fold other.pb >2
	check "$file has the same stacks as a trace" cmp 1 2
done

# ---- rejected, or read as far as possible ----

# refused DESCRIPTION TEXT FILE: one line with this text, a non-zero status, no output.
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
	check "there are events" test "$(jq .events_total "$stdout")" -gt 0
done
head -c $((size - 1)) "$good/t.pb" >cut.pb
check_run "without its last byte: read" 0 "$TRACELET" info cut.pb
check_match "and it is reported" "truncated inside a packet" "$stderr"
(cat "$good/t.pb"; head -c 1000 /dev/zero) >garbage.pb
check_run "garbage behind it: read" 0 "$TRACELET" convert garbage.pb out.pb
check_lines "one line" 1 "$stderr"
check_match "says where" "not a packet at offset $size" "$stderr"
check "all before it is there" cmp "$good/again.pb" out.pb
# A packet of an unknown kind, a length without data, a malformed message.
(cat "$good/t.pb"; printf '\n\6\312\77\3abc') >unknown.pb
check_run "an unknown packet: read" 0 "$TRACELET" info unknown.pb
check_match "and counted" "skipped 1 packet of unknown kinds" "$stderr"
printf '\n\377\377\377\377\17abcdef' >huge.pb
check_run "a packet of 4 GB in 12 bytes" 2 "$TRACELET" fold --from perfetto huge.pb
printf '\n\200\200\200\10\12\3abc' >long.pb
check_run "one that is longer than the file" 2 "$TRACELET" fold --from perfetto long.pb

done_testing
