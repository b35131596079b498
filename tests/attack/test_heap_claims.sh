# A test that claims to have filled its heap profile's tables: the tracer's work must be bounded by what
# exists, not by what is claimed.
. "$(dirname "$0")/lib.sh"
need_bpf
need_command python3 jq
[ "$(uname -m)" = x86_64 ] || skip_all "heap profiles are made on x86-64"
claims=$source/tests/attack/helpers/heap_claims.py

run "$TRACELET" run --quiet --heap --heap-children -- python3 "$claims" 6 "$work/bytes"
check_equal "the test runs" 0 "$status"
note "$(cat "$stderr")"
check "the tracer ends" wait_until test -e bytes
note "bytes of memory: $(cat bytes)"
check "six claims of 210 MB each cost less than 1 MB each" test "$(cat bytes)" -lt $((6 * 1024 * 1024))

# Tables with something in them: the end behind a hole, stacks without an end, bytes of chance, and those that change.
for case in far loops wild moving; do
	rm -f bytes
	run timeout -k 1 120 "$TRACELET" run --quiet --heap --heap-children --name $case -- \
		env -u LD_PRELOAD python3 "$claims" 6 "$work/bytes" $case # which would count itself to death
	check_equal "$case: the test runs" 0 "$status"
	check "its trace is there" test -s "$(the_trace $case)"
	check_not "no reader or tracer crashed" grep -qE 'crash|signal|died|Sanitizer' "$stderr"
	check "five profiles of them are JSON" sh -c 'test "$(cat tracelet-out/$1_*.dhat.json | jq -e .pid | wc -l)" = 5' sh $case
	check "the tracer ends" wait_until test -e bytes
	check "the tables take no more than was written: $(cat bytes) bytes" test "$(cat bytes)" -lt $((6 * 2 * 1024 * 1024))
done
done_testing
