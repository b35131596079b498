#!/usr/bin/env bash
# How often the history's change points are wrong: kinds of noise that they were not chosen on, a seed of its own
# for each run (SEED repeats one), and the suite's own tests, traced under a changing load (REAL=100 times).
. "$(dirname "$0")/lib.sh"
seed=${SEED:-$RANDOM$RANDOM}
trials=${TRIALS:-1000}
build=$(dirname "$TRACELET")
echo "seed $seed, $trials series of 200 points for each kind of noise"
"$build/bench/history_statistics" "$trials" "$seed" >results
printf '%-16s %8s %14s %14s %16s %18s %18s\n' noise alarms 'steps found' 'after points' 'one run: alarms' '20 % more, found' 'alarms, 40 points'
awk '{ printf "%-16s %6.2f %% %12.1f %% %14d %14.2f %% %16.1f %% %16.2f %%\n", $1, 100 * $3 / $2, 100 * $4 / $2, $5, 100 * $6 / $2, 100 * $7 / $2, 100 * $8 / $2 }' results
independent() { grep -v correlated results; }
floor "false alarms in independent noise, %" "$(independent | awk '{ a += $3; n += $2 } END { print 100 * a / n }')" "<=" 1
floor "false alarms in correlated noise, %" "$(grep correlated results | awk '{ a += $3; n += $2 } END { print 100 * a / n }')" "<=" 3
floor "false alarms in correlated noise of 40 points, %" "$(grep correlated results | awk '{ a += $8; n += $2 } END { print 100 * a / n }')" "<=" 3
floor "steps of 10 % found within 8 points, noise up to 3 %, in %" \
	"$(independent | grep -v gamma | awk '{ a += $4; n += $2 } END { print 100 * a / n }')" ">=" 95

# Real ones: the same programs, again and again, each time as another commit; nothing about them changes, so every
# regression is a false alarm. Every other 25 commits two programs for each CPU compute at the same time.
load_begin() {
	load=()
	for _ in $(seq $((2 * $(nproc)))); do
		sh -c 'while :; do :; done' &
		load+=($!)
	done
}
load_end() {
	[ ${#load[@]} = 0 ] || kill "${load[@]}"
	load=()
}
load=()
trap 'load_end; cd /; rm -rf "$scratch"' EXIT
real=${REAL:-100}
for i in $(seq "$real"); do
	case $((i % 50)) in
	25) load_begin ;;
	0) load_end ;;
	esac
	for program in buffer json map order; do
		"$TRACELET" run --quiet --keep never --output-dir out --run "$i" --name $program -- "$build/tests/unit/test_$program" >/dev/null 2>&1
	done
done
load_end
for metric in wall_ns cpu_ns; do
	"$TRACELET" history trend --output-dir out --metric $metric --json >changes
	echo "real tests under load, $metric: $(jq -r '"\(.changes | length) changes in \(.series) series, \([.changes[] | select(.load)] | length) of them called machine load"' changes)"
	floor "real series of 4 that fail a job ($metric)" \
		"$(jq '[.changes[] | select(.alert and .ratio > 1 and (.load | not)) | .name] | unique | length' changes)" "<=" 0
done
finish
