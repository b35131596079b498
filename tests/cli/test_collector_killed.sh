# SIGKILL of the collector at any moment: the test runs and ends as it would have, and what was recorded is kept.
# TRACELET_LONG=1 kills it a hundred times.
. "$(dirname "$0")/lib.sh"
. "$source/tests/cli/helpers/words.sh"
. "$source/tests/cli/helpers/collector.sh"
need_bpf
need_command setpriv
export TRACELET_COLLECTOR_SOCKET

rounds=20
[ -z "${TRACELET_LONG:-}" ] || rounds=100
RANDOM=1
statuses='' expected='' cut=0 whole=0 unsound='' silent='' none=0
for ((round = 0; round < rounds; round++)); do
	fresh
	start_collector
	delay=$((RANDOM % 40))
	mkfifo gate
	"$TRACELET" run --name killed -- sh -c 'for i in 1 2 3 4 5; do ls / >/dev/null; done; touch half
		[ '$round' != 0 ] || read line <gate; for i in 1 2 3 4 5; do ls / >/dev/null; done; exit 9' 2>messages &
	running=$!
	if [ $round = 0 ]; then # surely in the middle
		wait_until test -e half
	else
		sleep "0.0$(printf %02d $delay)"
	fi
	kill -KILL "$collector"
	[ $round != 0 ] || echo go >gate
	wait "$collector" 2>/dev/null
	wait $running
	statuses+="$? " expected+="9 "
	backend=$(backend_of killed)
	if [ "$backend" = collector ]; then
		"$TRACELET" check "$(the_trace killed)" >checked 2>&1 || unsound+="round $round: $(cat checked)"
		if grep -q 'recorded only the first .*the collector ended' messages; then
			cut=$((cut + 1))
		elif lives "$(the_trace killed)" | tail -1 | grep -q '"exit","sh"'; then
			whole=$((whole + 1))
		else
			silent+="round $round: $(cat messages)"
		fi
	else
		none=$((none + 1)) # killed before it accepted: a tracer recorded
		[ "$backend" = bpf ] || silent+="round $round: backend $backend: $(cat messages)"
	fi
done
note "$cut cut, $whole whole, $none recorded by a tracer of their own"
check_equal "no test is harmed" "$expected" "$statuses"
check_equal "every trace is sound" "" "$unsound"
check_equal "every trace is whole, or the summary says that it is not" "" "$silent"
check "some were cut" test $cut -ge 1
done_testing
