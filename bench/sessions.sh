#!/usr/bin/env bash
# The cost of sessions: the wrapper when it is not enabled, `start` and `stop`, and a
# flight recorder that runs for a long time (FLIGHT seconds, by default five minutes),
# compared with perf's, which overwrites its rings (`perf record --overwrite`).
. "$(dirname "$0")/lib.sh"
need_root
export TRACELET_STATE_DIR=$scratch/state
FLIGHT=${FLIGHT:-300}

middle() {
	printf '%s\n' "$@" | sort -g | awk '{ v[NR] = $1 } END { print v[int((NR + 1) / 2)] }'
}
milliseconds() { # COMMAND...: how long it takes
	local begin=${EPOCHREALTIME/./}
	"$@" >/dev/null
	echo $(((${EPOCHREALTIME/./} - begin) / 100)) | sed 's/.$/.&/'
}

# ---- nothing to record ----

plain=() wrapped=()
time_of() {
	hyperfine -N --warmup 5 --runs 200 --export-json result.json "$1" >/dev/null 2>&1
	jq -r '.results[0].median * 1000' result.json
}
for ((round = 0; round < ROUNDS; round++)); do
	plain+=("$(time_of true)")
	wrapped+=("$(TRACELET_ENABLED=false time_of "$TRACELET run -- true")")
done
over=$(calculate "$(middle "${wrapped[@]}") - $(middle "${plain[@]}")")
echo "true $(middle "${plain[@]}") ms, under 'tracelet run' when not enabled $(middle "${wrapped[@]}") ms"
floor "opt-out wrapper over plain exec in ms" "$over" "<=" 1

# ---- start, stop ----

# perf's way: it reports through a pipe that its events are on, and ends on request.
perf_start() {
	mkfifo control acknowledged 2>/dev/null || true
	perf record -q -a -e sched:sched_switch -e sched:sched_waking -o perf.data -D -1 --control fifo:control,acknowledged \
		-- sleep 60 >/dev/null 2>&1 &
	perf=$!
	echo enable >control
	head -n 1 <acknowledged >/dev/null
}
perf_stop() {
	kill -INT $perf
	wait $perf
}
start=() stop=() perf_starts=() perf_stops=()
for ((round = 0; round < ROUNDS; round++)); do
	start+=("$(milliseconds "$TRACELET" start --quiet bench)")
	sleep 0.5
	stop+=("$(milliseconds "$TRACELET" stop bench)")
	begin=${EPOCHREALTIME/./}
	perf_start
	perf_starts+=($(((${EPOCHREALTIME/./} - begin) / 1000)))
	sleep 0.5
	begin=${EPOCHREALTIME/./}
	perf_stop || true
	perf_stops+=($(((${EPOCHREALTIME/./} - begin) / 1000)))
done
rm -rf tracelet-out perf.data
echo "start $(middle "${start[@]}") ms, stop $(middle "${stop[@]}") ms;" \
	"perf record -a: $(middle "${perf_starts[@]}") ms until it is on, $(middle "${perf_stops[@]}") ms to end"
floor "start in ms" "$(middle "${start[@]}")" "<=" 60
floor "stop in ms" "$(middle "${stop[@]}")" "<=" 60
ours=$(calculate "$(middle "${start[@]}") + $(middle "${stop[@]}")")
theirs=$(calculate "$(middle "${perf_starts[@]}") + $(middle "${perf_stops[@]}")")
floor "both over perf's" "$(calculate "$ours / $theirs")" "<=" 0.3333

# ---- the flight recorder ----

cat >load.sh <<'END'
end=$((SECONDS + $1))
while [ $SECONDS -lt $end ]; do perf bench sched messaging -g 10 -l 200 >/dev/null 2>&1; done
/bin/true the last thing
touch done
sleep 1
exit 1
END
"$TRACELET" run --quiet --type memory --sample --name flight --json flight.json -- bash load.sh "$FLIGHT" &
until [ -e done ]; do sleep 0.1; done
resident=$(awk '/VmHWM/ { print $2 / 1000 }' "/proc/$("$TRACELET" status --json | jq '.[0].pid')/status")
wait $! || true
perf record -q -a -e sched:sched_switch -e sched:sched_waking --overwrite --switch-output=signal -o perf.data \
	-- perf bench sched messaging -g 10 -l 400 >/dev/null 2>&1 &
perf=$!
sleep 3
perf_resident=$(awk '/VmHWM/ { print $2 / 1000 }' /proc/$perf/status)
wait $perf || true
trace=$(jq -r '.artifacts[] | select(.kind == "perfetto") | .path' flight.json)
"$TRACELET" fold "$trace" >folded.txt 2>/dev/null || : >folded.txt
echo "flight recorder, $FLIGHT s of sched messaging: $(jq .events flight.json) events and $(jq .samples flight.json) samples" \
	"kept in $(stat -c %s "$trace") bytes; resident $resident MB (perf's: $perf_resident MB)"
floor "resident MB" "$resident" "<=" 32
floor "size over the size of the ring" "$(calculate "$(stat -c %s "$trace") / (16 * 1024 * 1024)")" "<=" 1
floor "events lost" "$(jq '.lost | add' flight.json)" "<=" 0
floor "broken stacks" "$(calculate "$(jq .broken_stacks flight.json) / $(jq .samples flight.json)")" "<=" 0.02
floor "the last thing is there" "$(grep -ac 'the last thing' "$trace")" ">=" 1
finish
