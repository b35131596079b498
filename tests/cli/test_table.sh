# The tables of `tracelet table` from our own and perf's recordings: the same as from ETL files (test_etl.sh).
. "$(dirname "$0")/lib.sh"
. "$source/tests/cli/helpers/words.sh"
need_command jq
demo=$(realpath -m "${TRACELET_DEMO:-$source/build/demo}")
corpus=${TRACELET_CORPUS:-$source/../shared/corpus}/perf-data

table() { # FILE NAME [OPTIONS]
	"$TRACELET" table --json "$@"
}

# ---- our own ----

if [ "$(id -u)" = 0 ] && [ "$("$TRACELET" doctor --json | jq -r .recording)" = full ]; then
	check_run "a test is traced" 1 "$TRACELET" run --keep-spool --name mine -- "$demo/fails"
	spool=$(ls tracelet-out/mine_*.spool)
	check_equal "its process" '["fails",1]' "$(table "$spool" processes | jq -c 'map(select(.name == "fails"))[0] | [.name, .exit]')"
	check_equal "its threads, and that they ran" true \
		"$(table "$spool" threads | jq 'map(select(.name == "worker" or .name == "backup") | .run_us > 0) | length == 2 and all')"
	# The worker waits for the lock that backup holds while it sleeps; on a busy machine the worker may be late.
	table "$spool" context-switches >switches
	jq 'map(select(.thread == "worker")) | max_by(.wait_us)' switches >longest
	check_equal "its switches, with times of waiting" true "$(jq '.wait_us > 1000' longest)"
	check_equal "which thread woke the worker" backup \
		"$(table "$spool" threads | jq -r --argjson by "$(jq .readied_by longest)" '.[] | select(.tid == $by) | .name')"
	check_equal "with its name" backup "$(jq -r .waker longest)"
	check_equal "an interrupt is no task" true \
		"$(jq 'map(select(.context == "hardirq")) | length > 0 and all(.readied_by == null and .waker == null)' switches)"
	check_equal "in order of time" true "$(jq '[.[].time] | . == sort' switches)"
	check_equal "grouped and summed as the switches one by one" "$(jq 'map(select(.thread == "worker") | .run_us) | add | round' switches)" \
		"$(table "$spool" cpu-usage-precise | jq 'map(select(.thread == "worker"))[0].run_us | round')"
	check_equal "nothing was lost" '[]' "$(table "$spool" lost)"
	check_equal "a table for which there are no events is empty" '[]' "$(table "$spool" disk-io)"
	# says TABLE TEXT: what an empty table says.
	says() {
		check_run "$1 without such events" 0 "$TRACELET" table "$spool" "$1"
		check_equal "$1: what records them" "tracelet: warning: the recording has no $2" "$(cat "$stderr")"
	}
	says disk-io "disk requests; tracelet run --profile io records them"
	says network "network events; tracelet run --profile verbose records them, and the table kernel-events shows them"
	says registry "registry events; only recordings of Windows have them"
else
	skip "recordings of our own" "they need BPF"
fi

# ---- perf's ----

if [ -d "$corpus" ]; then
	check_equal "processes of a perf.data" init "$(table "$corpus/perf.data.callgraph-3.8" processes | jq -r '.[] | select(.pid == 1).name')"
	check_equal "its samples one by one" 1768 "$(table "$corpus/perf.data.callgraph-3.8" cpu-samples | jq length)"
	table "$corpus/perf.data.callgraph-3.8" cpu-usage >usage.json
	check_equal "and added up" 1768 "$(jq 'map(.count) | add' usage.json)"
	check_equal "the idle task has a name" 410 "$(jq 'map(select(.process == "swapper").count) | add' usage.json)"
	check_equal "cycles are no milliseconds" '0 true' "$(jq -r '"\(map(.weight_ms // 0) | add) \((map(.weight) | add) > 1000000)"' usage.json)"
else
	skip "perf's recordings" "there is no corpus in $corpus"
fi
if type -P perf >/dev/null && perf record -q -B -N -o here.data -e cpu-clock -- "$demo/fails" >/dev/null 2>&1; [ -s here.data ]; then
	check_equal "where the time went, by the function's name" work "$(table here.data cpu-usage --limit 1 | jq -r '.[0].function')"
	check "samples of a dump have the names of their stacks" \
		test "$("$TRACELET" dump --json here.data | jq -r 'select(.stack).stack[0]' | sort | uniq -c | sort -rn | awk 'NR == 1 { print $2 }')" = work
else
	skip "names of functions" "perf cannot record here"
fi

done_testing
