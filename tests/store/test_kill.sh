#!/bin/bash
# Kill -9 of a push, or of one of the two servers that it pushes to, at any moment: what was acknowledged is there,
# and nothing is there twice. TRACELET_LONG=1: 200 times.
. "$(dirname "$0")/../cli/lib.sh"
. "$source/tests/store/servers.sh"
TRIALS=${TRIALS:-${TRACELET_LONG:+200}}
TRIALS=${TRIALS:-3}
RANDOM=${SEED:=$$}
note "SEED=$SEED TRIALS=$TRIALS"

clickhouse_configure 1
clickhouse_configure 2
clickhouse_start 1
clickhouse_start 2
"$TRACELET" store init --cluster pair --here --to "$(clickhouse_url 1 pair)" || exit
"$TRACELET" store init --cluster pair --here --to "$(clickhouse_url 2 pair)" || exit
"$TRACELET" store init --to "$(clickhouse_url 1 alone)" || exit
TRACELET_STORE=$(clickhouse_url 1 pair)
export TRACELET_STORE TRACELET_OBJECTS=$work/objects

push() {
	"$TRACELET" store push --strict --batch 60 --patience 1 "out$trial" >push.log 2>&1
}

# pause: some part of the time that a push takes, in seconds, with three digits.
pause() {
	printf '0.%03d' $((RANDOM % 400))
}

killed=0
lost=0
for ((trial = 1; trial <= TRIALS; trial++)); do
	mkdir "out$trial"
	sessions 300 --seed "$SEED$trial" --artifacts "out$trial" >"out$trial/manifest.jsonl"
	# A push that is interrupted in one way or another, then as many as it takes.
	victim=$((RANDOM % 3))
	"$TRACELET" store push --strict --batch 60 --patience 1 "out$trial" >push.log 2>&1 &
	pusher=$!
	sleep "$(pause)"
	if [ $victim = 0 ]; then
		kill -9 $pusher 2>/dev/null && killed=$((killed + 1))
		wait $pusher 2>/dev/null || :
	else
		clickhouse_kill $victim
		wait $pusher && note "trial $trial: the push had ended before the server"
		clickhouse_start $victim
		killed=$((killed + 1))
	fi
	again=0
	until push; do
		again=$((again + 1))
		[ $again -lt 20 ] || break
	done
	count=$(value "SELECT count() FROM sessions FINAL")
	if [ "$count" != $((300 * trial)) ]; then
		lost=$((lost + 1))
		note "trial $trial: $count sessions instead of $((300 * trial)); victim $victim; $(cat push.log)"
	fi
done
note "$killed of $TRIALS were interrupted"
check_equal "what a push has acknowledged is there, once" 0 $lost
check_run "the store is whole" 0 "$TRACELET" store check --deep
note "$(cat "$stdout")"
check_not "all artifacts are there" grep -q ^gone "$stdout"

"$TRACELET" store export --json >interrupted.jsonl
for ((trial = 1; trial <= TRIALS; trial++)); do
	"$TRACELET" store push --strict --to "$(clickhouse_url 1 alone)" "out$trial" >push.log || cat push.log
done
"$TRACELET" store export --json --store "$(clickhouse_url 1 alone)" >alone.jsonl
check "two shards have what one server has that nobody killed" cmp interrupted.jsonl alone.jsonl
check_lines "all of it" $((300 * TRIALS)) alone.jsonl
check "both shards have a part" test "$(value 'SELECT count() FROM sessions_local')" -lt "$(value 'SELECT count() FROM sessions')"
clickhouse_end
done_testing
