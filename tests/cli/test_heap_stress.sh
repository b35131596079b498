# Heap profiles under stress: threads, forks, execs, signals, libraries that are loaded and unloaded, all at
# once. Each process counts for itself, and its profile must agree. TRACELET_STRESS_ROUNDS is the number of
# rounds; a round takes two seconds, and a day is 43,200 of them.
. "$(dirname "$0")/lib.sh"
. "$source/tests/cli/heap.sh"

cat >compare.py <<'EOF'
# Lists processes whose profile differs from their own counts: blocks, bytes, and what is left.
import glob, json, os

wanted = {int(os.path.basename(path)): open(path).read().split() for path in glob.glob("counted/*")}
for path in glob.glob("tracelet-out/*.dhat.json"):
    profile = json.load(open(path))
    points = [p for p in profile["pps"] if ": work " in profile["ftbl"][p["fs"][0]] + " "]
    got = [str(sum(p[field] for p in points)) for field in ("tbk", "tb", "ebk", "eb")]
    if got != wanted.pop(profile["pid"], None):
        print(profile["pid"], "differs:", *got)
for pid in wanted:
    print(pid, "has no profile")
EOF

for round in $(seq "${TRACELET_STRESS_ROUNDS:-2}"); do
	rm -rf tracelet-out counted
	mkdir counted
	run timeout 120 "$TRACELET" run --heap-children -- "$TRACELET_HELPERS/heap_stress" counted "$TRACELET_HELPERS"
	check_equal "no process fails or hangs: $round" 0 "$status"
	check_equal "25 processes were counted: $round" 25 "$(ls counted | wc -l)"
	check_equal "each as it counts itself: $round" "" "$(python3 compare.py)"
	check_not "and all is exact: $round" grep -q 'the heap profile' "$stderr"
done

rm -rf counted
mkdir counted
run timeout 120 "$TRACELET" run --quiet --heap-sample 4K --heap-children -- "$TRACELET_HELPERS/heap_stress" counted "$TRACELET_HELPERS"
check_equal "no process fails with samples" 0 "$status"
done_testing
