# tracelet run --counters: the counts of each CPU and of the test, in the trace; samples of an event.
. "$(dirname "$0")/lib.sh"
need_root
need_command jq
tp=$source/tests/perfetto/tp

# total TRACE EVENT OF: the sum in the pivot.
total() {
	"$TRACELET" table "$1" pmu --json | jq --arg event "$2" --arg of "$3" '[.[] | select(.event == $event and .of == $of).value] | add // 0'
}
# newest NAME EXTENSION
newest() { ls -t tracelet-out/"$1"_*."$2" | head -n 1; }

# ---- counted at every switch ----

pages=3000
# Touches pages in a grandchild, and leaves the CPU now and then.
load=(sh -c "sh -c 'head -c $((4096 * pages)) /dev/zero | tail -c $((4096 * pages)) | wc -c >/dev/null'; sleep 0.01; exit 7")
check_run "the test's status is passed on" 7 "$TRACELET" run --name load --keep-spool \
	--counters task-clock,page-faults,context-switches,minor-faults,major-faults --counters-per-slice -- "${load[@]}"
check_not "nothing is complained of" grep -q 'not counted\|no counters' "$stderr"
spool=$(newest load spool) trace=$(newest load pb)
check "the trace is good" "$TRACELET" check "$trace"
faults=$(total "$spool" page-faults test)
check "the pages of a child's child are the test's" test "${faults%.*}" -ge "$pages"
check_equal "the manifest has the test's sums" "${faults%.*}" "$(jq -s 'last.metrics["page-faults"]' tracelet-out/manifest.jsonl)"
check_equal "the trace has the same sum as the recording" "$faults" "$(total "$trace" page-faults test)"
check "the cores have all of them, and others'" test "$(jq -n "$(total "$spool" page-faults core) >= $faults")" = true
check_equal "so in the trace" "$(total "$spool" page-faults core)" "$(total "$trace" page-faults core)"
check_equal "more events than fit a record: minor and major faults are all faults" "$faults" \
	"$(jq -n "$(total "$spool" minor-faults test) + $(total "$spool" major-faults test)")"
slices=$("$TRACELET" table "$trace" generic-events --json | jq '.[] | select(.provider == "pmu" and .event == "slice").count')
# Some kernels hide a switch now and then, so that a task arrives unnoticed: each is a gap, except for the first on a CPU.
# What was counted since the last reading then belongs to the slice, including the switches of others.
switches=$(total "$trace" context-switches test)
hidden=$(($(jq -s 'last.gaps' tracelet-out/manifest.jsonl) + $(nproc)))
"$TRACELET" dump "$trace" | sed -n 's/.* pmu\/slice .*context-switches=\([0-9]*\).*/\1/p' >each
check_equal "each slice shows its switches" "${switches%.*}" "$(jq -s add each)"
check "one for each that was seen to come" test "$(grep -vcx 1 each)" -le "$hidden"
check_equal "each slice has its own counts, which sum up to all" "$faults" \
	"$("$TRACELET" dump "$trace" | sed -n 's/.* pmu\/slice .*page-faults=\([0-9]*\).*/\1/p' | jq -s add)"
check "by thread: the one with the most" test "$("$TRACELET" table "$spool" pmu --group-by event,thread --sum value --sort value --json |
	jq -r '[.[] | select(.event == "page-faults" and (.thread | . != null and . != ""))][0].thread')" = tail

if "$source/tests/perfetto/setup" >/dev/null 2>&1; then
	"$tp" --health "$trace" \
		"select max(value) from counter join counter_track on counter.track_id = counter_track.id where name = 'page-faults test'" \
		"select unit from counter_track where name = 'task-clock test'" \
		"select count(*) > 1 from counter_track where name glob 'page-faults cpu *' or name glob 'task-clock cpu *'" \
		"select sum(int_value) from slice join args using (arg_set_id) where category = 'pmu' and key = 'debug.page-faults'" \
		"select count(*) from slice join thread_track on track_id = thread_track.id where category = 'pmu'" \
		"select sum(dur) from slice where category = 'pmu' and extract_arg(arg_set_id, 'debug.context-switches') = 1" \
		"select sum(dur) from sched join thread using (utid) where tid in (select tid from thread join thread_track using (utid)
			join slice on slice.track_id = thread_track.id where category = 'pmu')" >answers
	check_equal "the importer finds nothing wrong" 0 $?
	check_equal "it sums up to the same" "${faults%.*}" "$(sed -n 1p answers | cut -d . -f 1)"
	check_equal "with the unit" ns "$(sed -n 2p answers)"
	check_equal "there are tracks of CPUs" 1 "$(sed -n 3p answers)"
	check_equal "slices' counts are their arguments" "${faults%.*}" "$(sed -n 4p answers)"
	check_equal "below their threads" "$slices" "$(sed -n 5p answers)"
	check "they cover what the threads ran" test \
		"$(jq -n "($(sed -n 6p answers) / $(sed -n 7p answers)) | . > 0.8 and . < 1.2")" = true
else
	skip "what the importer finds" "no importer"
fi

# ---- and at an interval ----

check_run "a thread that never leaves its CPU" 0 "$TRACELET" run --name busy --counters page-faults,cpu-clock --counters-interval 2ms \
	-- "$TRACELET_HELPERS/chains" plain
rows=$("$TRACELET" table "$(newest busy pb)" pmu --group-by none --json | jq '[.[] | select(.of == "test" and .event == "cpu-clock")] | length')
check "is counted at every tick" test "$rows" -ge 10
check_equal "without --counters-per-slice there are no slices" "" "$("$TRACELET" dump "$(newest busy pb)" | grep pmu/slice)"

# ---- what is missing ----

if ! "$TRACELET" stat man instructions | grep -q 'available  yes'; then
	check_run "no PMU: the test runs" 5 "$TRACELET" run --name none --counters instructions,cycles,page-faults -- sh -c 'exit 5'
	check_match "one line says what is not counted, and why" 'not counted: instructions, cycles: no PMU on this machine counts it$' "$stderr"
	check "the rest is counted" test "$(jq -n "$(total "$(newest none pb)" page-faults test) > 0")" = true
	check_run "nothing can be counted: the test runs" 0 "$TRACELET" run --name nothing --counters cycles -- true
	check "and has a trace" "$TRACELET" check "$(newest nothing pb)"
	check_run "no samples of an event: the test runs" 3 "$TRACELET" run --name clock --sample=cycles@100000 -- sh -c 'exit 3'
	check_match "and is sampled in time" 'cannot sample on cycles@100000: no PMU on this machine counts it; sampling on the CPU clock at 999 Hz instead' "$stderr"
fi
check_run "an unknown event" 2 "$TRACELET" run --counters no-such-event -- touch ran
check_match "is reported" "^tracelet: --counters: there is no event 'no-such-event'" "$stderr"
check_lines "in one line" 1 "$stderr"
check_run "an unknown event to sample" 2 "$TRACELET" run --sample=no-such-event@10 -- touch ran
check_match "is reported, too" "^tracelet: --sample: there is no event 'no-such-event'" "$stderr"
for bad in cycles@ cycles@0 cycles@x @100 cycles@10khz cycles; do
	check_run "--sample=$bad is refused" 2 "$TRACELET" run --sample="$bad" -- touch ran
done
check_not "nothing ran" test -e ran

# ---- samples of an event's overflow ----

check_run "samples of page faults" 7 "$TRACELET" run --name overflow --sample=page-faults@10 --keep-spool -- "${load[@]}"
trace=$(newest overflow pb)
"$TRACELET" top "$trace" >top
weight=$(sed -n 's/.* samples of page-faults, weight \([0-9]*\)$/\1/p' top)
check "each represents ten" test "${weight:-0}" -ge $((pages - 100))
check_match "the flame graph counts them" "[0-9,]+ page-faults" "${trace%.pb}.svg"
check_equal "all of them arrived, without other messages" null "$(jq -s 'last.samples_short' tracelet-out/manifest.jsonl)"
check_not "nor to the user" grep -q 'overflows were not delivered' "$stderr"
check_equal "the trace names the event" page-faults "$("$TRACELET" info --json "$trace" | jq -r '.. | ."sample-event"? // empty' | head -n 1)"
done_testing
