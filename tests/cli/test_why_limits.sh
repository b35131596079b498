# `tracelet why` names the limits of the control group that a test ran into.
. "$(dirname "$0")/lib.sh"
need_root

# group CONTROLLER: prints a new control group with this controller, of either version; false if none can be made.
group() {
	local folder
	for folder in "/sys/fs/cgroup/$1" /sys/fs/cgroup /sys/fs/cgroup/unified; do
		if [ -e "$folder/cgroup.controllers" ]; then
			grep -qw "$1" "$folder/cgroup.controllers" || continue
			echo "+$1" >"$folder/cgroup.subtree_control" || continue
		fi
		mkdir "$folder/tracelet-test-$$" && [ -e "$folder/tracelet-test-$$/$1.stat" ] || continue
		echo "$folder/tracelet-test-$$"
		return
	done
	return 1
}

# leave GROUP: waits until the processes in it have ended.
leave() {
	until rmdir "$1" 2>/dev/null; do sleep 0.1; done
}

# ---- the CPU ----

if cpu=$(group cpu 2>/dev/null); then
	if [ -e "$cpu/cpu.max" ]; then
		echo "10000 50000" >"$cpu/cpu.max"
	else
		echo 50000 >"$cpu/cpu.cfs_period_us"
		echo 10000 >"$cpu/cpu.cfs_quota_us"
	fi
	# Until it has used CPU time for several periods, however slow the machine is.
	cat >spin.sh <<'END'
while read -r user _ < <(awk '{ print $14 + $15 }' /proc/$$/stat) && [ "$user" -lt 15 ]; do :; done
END
	sh -c 'echo $$ >"$1/cgroup.procs"; shift; exec "$@"' sh "$cpu" "$TRACELET" run --quiet --name slow -- bash spin.sh
	leave "$cpu"
	check_match "a test that is throttled" \
		'The control group may use 0.2 CPUs and was stopped for [0-9.]+ m?s, in [0-9]+ of [0-9]+ periods; for ' \
		<("$TRACELET" why slow)
	check_equal "the manifest has the numbers" "0.2 true true" \
		"$(jq -r '.limits | "\(.cpus) \(.throttled_seconds > 0) \(.throttled_periods <= .periods)"' tracelet-out/manifest.jsonl)"
else
	skip "a test that is throttled" "no control group with a CPU limit can be made"
fi
"$TRACELET" run --quiet --name free -- true
check_not "without a limit nothing is said" grep -q "control group" <("$TRACELET" why free)

done_testing
