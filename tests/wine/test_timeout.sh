# A test that hangs: writes a dump of each of its processes, then kills all of them. On a busy
# machine three generations take longer: then it gets more time.
for limit in 2 8 32; do
	begin
	run tracelet run --timeout $limit -- "$child" hang "$(win "$work/family")"
	[ "$(wc -l <family)" = 3 ] && break
done
check_equal "a test that hangs is ended" 124 "$status"
check_lines "it was three generations" 3 family
check_match "and is reported as timed out" "child timed out: limit $limit s" "$stderr"
check_equal "none of them is there any more" "" "$(alive)"
dump=$(ls tracelet-out/child_*[0-9].dmp | grep -v '\.[0-9]*\.dmp')
check_equal "it leaves a minidump" MDMP "$(head -c 4 "$dump")"
check_equal "and one for each descendant" 3 "$(find tracelet-out -name '*.dmp' | wc -l)"
check "named as the trace" test -e "${dump%.dmp}.etl"
check_equal "the manifest has them all" "etl dump dump dump" "$(jq -r '[.artifacts[].kind] | join(" ")' tracelet-out/manifest.jsonl)"
check_equal "and the limit" "$limit" "$(jq .timed_out_after tracelet-out/manifest.jsonl)"

begin
check_run "--timeout-status" 9 tracelet run --enabled no --timeout 1 --timeout-status 9 -- "$child" hang "$(win "$work/family")"
check "without a trace there are dumps all the same" sh -c "ls tracelet-out/child_*.dmp"
check_run "processes that are left go on" 0 tracelet run --quiet -- "$child" late "$(win "$work/late")"
check_run "--wait-tree waits for them" 0 tracelet run --quiet --wait-tree -- "$child" late "$(win "$work/later")"
check "until they have ended" test -s later
check_run "but not longer than the time limit" 124 tracelet run --enabled no --wait-tree --timeout 2 -- "$child" leave "$(win "$work/left")"
