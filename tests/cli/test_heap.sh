# Heap profiles: programs with exactly known allocations, counted exactly.
. "$(dirname "$0")/lib.sh"
. "$source/tests/cli/heap.sh"

# ---- what is counted ----

profile "$heap" plain
check_equal "the test has passed" 0 "$status"
check_match "the summary names the profile" 'heap +tracelet-out/heap_.*\.dhat\.json' "$stderr"
check_match "the manifest does" '"kind":"heap","path":"tracelet-out/heap_[^"]*\.dhat\.json"' tracelet-out/manifest.jsonl
check "and has the sums, for the history" jq -se 'last.metrics | .heap_total >= 10000 and .heap_peak >= 10000 and .heap_peak <= .heap_total' tracelet-out/manifest.jsonl
check_equal "every block is counted" "1000 10000" "$(sums plain)"
check_equal "as most, and at the peak of all" "10000 1000 10000 1000" "$(sums plain mb mbk gb gbk)"
check_equal "and gone at the end" "0 0" "$(sums plain eb ebk)"
check_match "the summary says how much" '^ +1[0-9.]+ kB in 1[0-9]+ blocks; at most 1[0-9.]+ kB at once, [0-9]+ bytes at the end' "$stderr"
check_match "by which function" '^ +[0-9.]+ % +10\.0 kB  give \(heap_ways\.h:[0-9]+\)$' "$stderr"
check_match "and what to do next" '^ +more: tracelet top --metric peak tracelet-out/heap_.*\.dhat\.json$' "$stderr"
check_match "frames have lines" '0x[0-9A-F]+: give \(heap_ways\.h:[0-9]+\)' profile.json
check_equal "a stack is whole" "1000 10000" "$(sums _start)"

profile "$heap" resized
check_equal "a block that is resized counts again, where it came from" "3 24036 12 1" "$(sums give tbk tb eb ebk)"
check_equal "its most" "24000 1" "$(sums give mb mbk)"

profile "$heap" all-ways
check_equal "all ways to allocate" "8 723 0" "$(sums all_ways tbk tb eb)"

profile "$heap" empty
check_equal "a block without a byte is one" "1 0" "$(sums empty)"

profile "$heap" to-nothing
check_equal "a block that becomes nothing is gone" "1 77 0" "$(sums to_nothing tbk tb eb)"
profile "$heap" too-large
check_equal "after sizes that there are not, counting goes on" "33 3250 0" "$(sums too_large tbk tb eb)"
profile "$heap" to-the-brim
check_equal "blocks are the allocator's own, to their usable end" "0 598 0" "$status $(sums to_the_brim tbk eb)"

profile "$heap" peaks
check_equal "peaks of a point: its own, and what it had at that of all" "1200 400" "$(sums give mb gb)"

profile "$heap" threads
check_equal "threads that free each other's blocks" "40000 1920000 0" "$(sums in_thread tbk tb eb)"
check_equal "all at once" "1920000 40000" "$(sums in_thread mb mbk)"

profile "$heap" forks
check_equal "what children allocate is theirs" "5 500 0" "$(sums forks tbk tb eb)"

profile "$heap" exec plain
check_equal "after an exec it begins anew" "1000 10000" "$(sums main)"

profile "$heap" signals
check_equal "interrupted by signals" "100000 2000000 0" "$(sums signals tbk tb eb)"

profile "$heap" other-stack
check_equal "in a handler with a stack of its own" "10 3000" "$(sums on_signal)"
check_equal "called by the function it interrupted" "10 3000" "$(sums other_stack)"

profile "$heap" deep
check_equal "deeper than a stack is recorded" "100 5000" "$(sums deeper)"
check_equal "what is not so deep is whole" "50 2500" "$(sums deep)"

profile "$heap" destructors
check_equal "in destructors of threads" "80 8880" "$(sums at_thread_end)"

profile "$heap" outlived
check_equal "by threads that outlive the first one" "0 10 410" "$status $(sums give)"

HEAP_BEFORE_MAIN=yes profile "$heap"
check_equal "before main" "1 222" "$(sums before_main)"

profile "$heap" plain killed
check_equal "of a test that was killed" 137 "$status"
check_equal "there is what it had counted" "1001 14321 4321" "$(sums main tbk tb eb)"

HEAP_PLUGINS=$TRACELET_HELPERS profile "$heap" plugins
check_equal "libraries that come and go" "50 3200 50 3250" "$(sums give_first) $(sums give_second)"
check_equal "called from where they were" "50 3200" "$(sums give_first)"

profile "$heap" random
check_equal "as the program counts itself" "$(cat "$stdout")" "$(sums random_work tbk tb ebk eb)"

# ---- what is not ----

profile "$TRACELET_HELPERS/heap_static" plain
check_equal "a static program runs" 0 "$status"
check_match "without a profile, as reported" 'no heap profile: .*static' "$stderr"
check_equal "once" 1 "$(grep -c 'no heap profile' "$stderr")"
check_not "there is none" test -e profile.json

profile sh -c "$heap plain; exit 3"
check_equal "the status is the test's" 3 "$status"
check_equal "a child is not counted" "0 0" "$(sums plain)"

rm -rf tracelet-out
run "$TRACELET" run --heap --keep failed -- "$heap" plain
check_not "not kept where a trace is not" test -e tracelet-out/*.dhat.json

run env LD_PRELOAD= "$TRACELET" run --heap --quiet -- sh -c 'echo $LD_PRELOAD'
check_match "what was preloaded stays" '^/.*/libtracelet-heap\.so$' "$stdout"

# ---- compared with Valgrind ----

cat >compare.py <<'END'
# compare.py OURS THEIRS: lists the stacks, up to main, that differ in blocks or bytes.
import json, re, sys

def stacks(path):
    profile, sums = json.load(open(path)), {}
    for point in profile["pps"]:
        names = [re.sub(r"^0x[0-9A-F]+: (.*?)( \(.*\))?$", r"\1", profile["ftbl"][f]) for f in point["fs"]]
        if "main" not in names:
            continue
        names = names[: names.index("main")]
        while names and names[0] in ALLOCATORS:
            names.pop(0)
        blocks, bytes = sums.get(tuple(names), (0, 0))
        sums[tuple(names)] = blocks + point["tbk"], bytes + point["tb"]
    return sums

ALLOCATORS = {"malloc", "calloc", "realloc", "reallocarray", "memalign", "aligned_alloc", "posix_memalign", "valloc"}
ours, theirs = map(stacks, sys.argv[1:])
for stack in sorted(set(ours) | set(theirs)):
    if ours.get(stack) != theirs.get(stack):
        print(" < ".join(stack), "ours", ours.get(stack), "theirs", theirs.get(stack))
END
if command -v valgrind >/dev/null && [ -z "${ASAN_OPTIONS-}" ]; then
	for way in plain resized all-ways forks peaks to-nothing; do
		run valgrind --tool=dhat --num-callers=40 --dhat-out-file=valgrind.%p.json "$heap" $way
		theirs=$(sed -n 's/.*Total: *\([0-9,]*\) bytes in \([0-9,]*\) blocks.*/\1 \2/p' "$stderr" | tail -n 1)
		file=valgrind.$(sed -n 's/^==\([0-9]*\)==.*/\1/p' "$stderr" | head -n 1).json
		profile "$heap" $way
		check_equal "valgrind counts the same: $way" "${theirs//,/}" "$(sums _start tb tbk)"
		check_equal "stack by stack: $way" "" "$(python3 compare.py profile.json "$file")"
	done
else
	skip "valgrind counts the same" "there is no valgrind"
fi
done_testing
