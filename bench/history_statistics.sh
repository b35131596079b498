#!/usr/bin/env bash
# How often the history's change points are wrong: kinds of noise that they were not chosen on, a seed of its own
# for each run (SEED repeats one), and the suite's own tests, timed under a changing load (REAL=200 times).
. "$(dirname "$0")/lib.sh"
seed=${SEED:-$RANDOM$RANDOM}
trials=${TRIALS:-1000}
build=$(dirname "$TRACELET")
echo "seed $seed, $trials series of 200 points for each kind of noise"
"$build/bench/history_statistics" "$trials" "$seed" >results
printf '%-16s %8s %14s %14s %16s %18s\n' noise alarms 'steps found' 'after points' 'one run: alarms' '20 % more, found'
awk '{ printf "%-16s %6.2f %% %12.1f %% %14d %14.2f %% %16.1f %%\n", $1, 100 * $3 / $2, 100 * $4 / $2, $5, 100 * $6 / $2, 100 * $7 / $2 }' results
independent() { grep -v correlated results; }
floor "false alarms in independent noise, %" "$(independent | awk '{ a += $3; n += $2 } END { print 100 * a / n }')" "<=" 1
floor "false alarms in correlated noise, %" "$(grep correlated results | awk '{ a += $3; n += $2 } END { print 100 * a / n }')" "<=" 3
floor "steps of 10 % found within 8 points, noise up to 3 %, in %" \
	"$(independent | grep -v gamma | awk '{ a += $4; n += $2 } END { print 100 * a / n }')" ">=" 95

# Real ones: the same program, again and again, each time as another commit. Nothing changes, so every change point is a
# false alarm.
if [ -n "${REAL:-}" ]; then
	mkdir out
	for i in $(seq "$REAL"); do
		[ $((i % 40)) -ne 20 ] || { timeout 5 sh -c 'while :; do :; done' & }
		for program in buffer json map order; do
			begin=${EPOCHREALTIME/./}
			"$build/tests/unit/test_$program" >/dev/null 2>&1
			end=${EPOCHREALTIME/./}
			printf '{"version":2,"session":"0199%04x-0000-7000-8000-%012x","test":"%s","name":"%s","kind":"test","status":"passed","started":"%s","wall_seconds":%s,"source":{"commit":"%040x","branch":"main"},"run":"%s"}\n' \
				0 $((begin % 281474976710656)) $program $program "$(date -u +%FT%T.%3NZ)" "$(calculate "($end - $begin) / 1e6")" "$i" "$i"
		done >>out/manifest.jsonl
	done
	wait
	"$TRACELET" history trend --output-dir out
fi
finish
