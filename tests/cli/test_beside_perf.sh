# Perf in the test, and next to it, while we sample: our requests do not change what the kernel reports
# to perf, nor do perf's requests change what it reports to us.
. "$(dirname "$0")/lib.sh"
need_root
need_command perf
chains=$TRACELET_HELPERS/chains
perf record -q -o alone.data "$chains" plain >/dev/null 2>&1 && perf trace -o alone.txt true 2>/dev/null ||
	skip_all "perf is not allowed to record"
id=$(readelf -n "$chains" | awk '/Build ID:/ { print $3 }')

# recorded NAME FILE: a perf recording that contains the program and its address
recorded() {
	check_equal "$1: the program's build id" "$id" "$(perf buildid-list -i "$2" 2>/dev/null | awk -v file="$chains" '$2 == file { print $1 }')"
	perf script -i "$2" -F ip,sym >"$2.names" 2>/dev/null
	check_match "$1: names of its functions" ' burn$' "$2.names"
}
traced() { # NAME FILE
	check_match "$1: system calls to the last one" 'exit_group\(' "$2"
}

check_run "perf record in a sampled test" 0 "$TRACELET" run --sample --name inside -- perf record -q -o inside.data "$chains" plain
recorded "in a test" inside.data
check_run "perf trace in a sampled test" 0 "$TRACELET" run -q --sample -- perf trace -o inside.txt true
traced "in a test" inside.txt
check_run "perf trace in a test with all of embedded" 0 "$TRACELET" run -q --profile embedded -- perf trace -o embedded.txt true
traced "with embedded" embedded.txt

export TRACELET_STATE_DIR=$PWD/state
check_run "a session that samples" 0 "$TRACELET" start --sample beside
check_run "perf record beside it" 0 perf record -q -o beside.data "$chains" plain
check_run "perf trace beside it" 0 perf trace -o beside.txt true
check_run "the session ends" 0 "$TRACELET" stop beside
recorded "beside a session" beside.data
traced "beside a session" beside.txt

# Now perf asks for build ids on all CPUs, and the kernel marks our records as if we had asked.
if perf record -q -a --buildid-mmap -o mapped.data true >/dev/null 2>&1; then
	run "$TRACELET" run -q --sample --keep-spool --name asked -- perf record -q -a --buildid-mmap -o asked.data "$chains" plain
	"$TRACELET" dump tracelet-out/asked_*.spool >dump
	check_equal "our build id is the file's" "build_id=$id" \
		"$(grep "task/mapping .* file=$chains " dump | grep -o 'build_id=.*' | sort -u)"
	check_match "and our names are" ';burn ' <("$TRACELET" fold tracelet-out/asked_*.pb)
else
	skip "perf that asks for build ids" "it cannot"
fi
done_testing
