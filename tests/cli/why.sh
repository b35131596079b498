# Sourced by test_why_locks.sh and test_why_causes.sh: records programs with one known cause each
# (helpers/causes.c) and compares what `tracelet why` says.
need_root
[ "$(uname -m)" = x86_64 ] || skip_all "stacks can be walked only on x86-64"

causes=$TRACELET_HELPERS/causes

# record CAUSE: leaves the answer in why.json. False, after a line about it, if this kernel cannot do it or tell it.
record() {
	explain_whole "$1" "$TRACELET" run --quiet --sample --name "$1" -- "$causes" "$1"
	if [ "$status" = 77 ]; then
		skip "$1" "this kernel cannot do it"
		return 1
	fi
	if hidden; then
		skip "$1" "this kernel did not report some switches in any of eight recordings"
		return 1
	fi
}

# largest FILTER: the largest segment among those that are not a busy machine's: no CPU, or a page of the program that
# has to be read from a busy disk.
largest() {
	jq -r "[.segments[] | select(.state != \"ready\" and .state != \"unknown\" and (.state != \"waits\" or .reason != \"page-fault\"))][0] | $1" why.json
}

# named CAUSE "THREAD REASON FUNCTION" ["THREAD REASON FUNCTION" of the first that waits for it]
named() {
	record "$1" || return
	check_equal "$1: cause, thread and function" "$2" "$(largest '"\(.thread) \(.reason) \(.function)"')"
	[ "$2" = "$(largest '"\(.thread) \(.reason) \(.function)"')" ] || note "$("$TRACELET" why "$1")"
	if [ $# = 3 ]; then
		check_equal "$1: who waits for it" "$3" \
			"$(largest '.chain[0] | "\(.thread) \(.reason) \(.function)"')"
	fi
	check_equal "$1: the segments and the path are the whole time" "true true" \
		"$(jq -r '"\(([.segments[].ns] | add) == .wall_ns) \(([.path[] | .to_ns - .from_ns] | add) == .wall_ns)"' why.json)"
}
