# Which tasks held the CPU while the test was ready: all of them have names, not only the first one.
. "$(dirname "$0")/lib.sh"
. "$source/tests/cli/helpers/words.sh"
need_bpf
need_importer
need_command taskset

cp "$(command -v bash)" hog # the name of its task
cpu=$(taskset -cp $$ | sed 's/.*[:, -]//')
touch busy # they end with this folder
for _ in 1 2 3; do
	taskset -c "$cpu" ./hog -c 'while [ -e busy ]; do :; done' &
done

cat >work.sh <<'END'
for ((i = 0; i < 10; i++)); do
	for ((j = 0; j < 20000; j++)); do :; done
done
END
check_run "a test beside three busy tasks" 0 "$TRACELET" run --quiet --name beside -- taskset -c "$cpu" bash work.sh
rm busy
trace=$(ls tracelet-out/beside_*.pb)
check "the trace is good" "$TRACELET" check "$trace"
run "$TRACELET" dump "$trace"
check_match "the busy tasks are there" 'next_name=hog' "$stdout"
# A thread that was preempted is ready until it runs again.
# The importer joins by comparing each with each, so both sides are first made small.
ask --health "$trace" "create table ready as select ts, ts + dur as ended from thread_state join thread using (utid)
	where thread.name = 'bash' and state in ('R', 'R+') and dur > 0;
create table held as select ts, ts + dur as ended, dur, utid, name from sched_slice join thread using (utid)
	where cpu = $cpu and ts >= (select min(ts) from ready) and ts < (select max(ended) from ready);
create index held_ts on held(ts);
select count(distinct utid) > 1, sum(iif(name like '(not%', dur, 0)) * 20 < sum(dur)
	from ready cross join held on held.ts >= ready.ts and held.ts < ready.ended and held.ended <= ready.ended" >answers
check_equal "more than one task held the CPU meanwhile, and nearly all of that time has a name" "1|1" "$(cat answers)"
done_testing
