# Thousands of sessions that end in every way, beside honest ones; and two users with hundreds at the same time.
# TRACELET_LONG=1 makes ten thousand.
. "$(dirname "$0")/lib.sh"
. "$source/tests/cli/helpers/collector.sh"
need_bpf
is_sanitized && skip_all "a sanitizer's program cannot be given to another user"
python=$(PATH=/usr/bin:/bin command -v python3) || skip_all "there is no python3 for all users"
cp "$source/tests/attack/helpers/collector_client.py" client.py && chmod 644 client.py
mkdir -m 777 out
echo 'connections-per-second = 1000000' >collector.conf
start_collector --config collector.conf
export TRACELET_COLLECTOR_SOCKET
client() { as $second_user "$python" "$work/client.py" "$TRACELET_COLLECTOR_SOCKET" "$@" 2>&1; }
no_sessions() { [ "$(collector_counter sessions)" = 0 ]; }

# honest NAME COUNT: one after the other; prints how many traces are whole.
honest() {
	local i whole=0
	for ((i = 0; i < $2; i++)); do
		as $first_user "$TRACELET" run --quiet --collector require --keep-spool --output-dir "$work/out" --name "$1-$i" -- \
			sh -c 'ls /; (exit 3); ls /; exit 4' >/dev/null 2>>honest.err
		[ $? = 4 ] && [ "$(lives "out/$1-${i}_"*.pb | jq -r '.[0]' | sort | uniq -c | xargs)" = "3 exec 4 exit 3 fork 3 rename" ] && whole=$((whole + 1))
	done
	echo "$whole"
}

# ---- every way to end ----

rounds=1200
[ -z "${TRACELET_LONG:-}" ] || rounds=10000
client mixed=$rounds >mixed &
mixed=$!
check_equal "honest sessions beside them are whole" 12 "$(honest beside 12)"
wait $mixed
check_equal "every session was opened" done "$(cat mixed)"
wait_until no_sessions
check "the collector is alive" kill -0 "$collector"
check_equal "and has no session left" 0 "$(collector_counter sessions)"
descriptors() { ls /proc/"$collector"/fd | wc -l; }
client mixed=$rounds >/dev/null
wait_until no_sessions
# Connections are closed one by one, and places may be made meanwhile; each has two descriptors.
settled() { [ "$(descriptors)" -le $((60 + 2 * $(collector_counter memory) / (256 << 10))) ]; }
check "as many again leave no descriptor" wait_until settled

# ---- hundreds at the same time ----

mkfifo -m 666 hold
client held=256 <hold >held &
holder=$!
exec 7>hold
wait_until grep -q held held
check_equal "a user with 256 sessions" held "$(cat held)"
check_equal "all of them are there" 256 "$(collector_counter sessions)"
check_equal "harms nobody else" 12 "$(honest among 12)"
check_not "whose recordings have no name of his tasks" grep -aq second-worker out/among-*.spool
exec 7>&-
wait $holder
wait_until no_sessions
check_equal "nothing of it is left" 0 "$(collector_counter sessions)"
stop_collector
check_equal "it ends in peace" 0 $?
done_testing
