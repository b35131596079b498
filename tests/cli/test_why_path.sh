# The critical path as a track of the trace: the same path that `tracelet why` finds, which Perfetto shows and
# our own reader ignores.
. "$(dirname "$0")/lib.sh"
need_root
[ "$(uname -m)" = x86_64 ] || skip_all "stacks can be walked only on x86-64"

causes=$TRACELET_HELPERS/causes
perfetto=$source/tests/perfetto

# Where a switch is hidden, the trace says that it does not know, and the recorder's guess may be another.
run_whole "$TRACELET" run --verbose --off-cpu --sample --name mutex -- "$causes" mutex
! hidden || skip_all "this kernel did not report some switches in any of eight recordings"
trace=$(ls tracelet-out/mutex_*.pb)
check_match "it is found in no time" 'finding the critical path took [0-9]+ us' "$stderr"
check "the trace is whole" "$TRACELET" check "$trace"
"$TRACELET" why --json mutex >why.json

# ---- read by ourselves ----

"$TRACELET" dump "$trace" >dump.txt
check_equal "the track is no event of the test" 0 "$(grep -c -e 'sleep: hold_mutex' -e 'critical path' dump.txt)"
"$TRACELET" convert "$trace" again.pb
"$TRACELET" convert again.pb third.pb
check "a copy of the trace has the same track" cmp again.pb third.pb
check "and the same events" cmp dump.txt <("$TRACELET" dump again.pb)
check_equal "and the same answer" "$(jq -c '[.wall_ns, .segments]' why.json)" \
	"$("$TRACELET" why --json again.pb | jq -c '[.wall_ns, .segments]')"

# ---- read by Perfetto's importer ----

if "$perfetto/setup" >/dev/null 2>&1; then
	slices="from slice join track on slice.track_id = track.id where track.name = 'critical path'"
	for file in "$trace" again.pb; do
		check "the importer understands all of it" "$perfetto/tp" --health "$file"
		check_equal "one slice for each piece, without holes" "$(jq '[(.path | length), .wall_ns] | join("|")' -r why.json)" \
			"$("$perfetto/tp" "$file" "select count(*), sum(dur) $slices")"
		check_equal "the largest is the cause" "sleep: hold_mutex|holder" \
			"$("$perfetto/tp" "$file" "select slice.name, (select rtrim(string_value, ' ()0123456789') from args
				where args.arg_set_id = slice.arg_set_id and key = 'debug.thread') $slices order by dur desc limit 1")"
		check_equal "a flow wherever the path goes to another thread" \
			"$(jq '[.segments as $s | [.path[].segment | $s[.].tid] as $t | range(1; $t | length) | select($t[.] != $t[. - 1])] | length' why.json)" \
			"$("$perfetto/tp" "$file" 'select count(*) from flow')"
	done
else
	skip "the importer understands it" "Perfetto's importer is not here"
fi

# ---- as a flame graph ----

run "$TRACELET" flame --path "$trace" -o path.html
check_equal "a flame graph of the path" 0 "$status"
"$TRACELET" flame --path "$trace" -o path.svg
check_match "has its name as the title" '>Critical path<' path.svg
check_match "the thread" '<title>holder \([0-9]+ ms' path.svg
check_match "the reason" '<title>\[sleep\] \([0-9]+ ms' path.svg
check_match "and the functions" '<title>hold_mutex \([0-9]+ ms' path.svg
check_equal "the whole is the time of the test" "all ($(jq '.wall_ns / 1e6 | round' why.json) ms, 100.00%)" \
	"$(grep -o '<title>all [^<]*' path.svg | cut -c 8-)"
check_run "a profile without switches has no path" 2 "$TRACELET" flame --path --from folded <(echo "main;work 7") -o none.svg
check_equal "which is one line" "1 no context switches in this recording" \
	"$(wc -l <"$stderr") $(sed 's/.*: //' "$stderr")"
check_not "and no file" test -e none.svg

# ---- two traces ----

cat >phases.c <<'END'
#include <stdlib.h>
#include <time.h>
static void nap(int ms) { nanosleep(&(struct timespec){.tv_nsec = ms * 1000000l}, 0); }
__attribute__((noinline)) void load(int ms) { nap(ms); __asm__ volatile(""); }
__attribute__((noinline)) void store(int ms) { nap(ms); __asm__ volatile(""); }
int main(int argc, char **argv) { load(atoi(argv[1])); store(atoi(argv[2])); return 0; }
END
cc -g -O1 -o phases phases.c
"$TRACELET" run --quiet --off-cpu --name before --output-dir out -- ./phases 300 20
"$TRACELET" run --quiet --off-cpu --name after --output-dir out -- ./phases 20 500
run "$TRACELET" diff out/before_*.pb out/after_*.pb
check_equal "two traces can be compared" 0 "$status"
check_match "how long they took" '^critical path: [0-9.]+ m?s before, [0-9.]+ m?s after; \+' "$stdout"
check_match "what grew" '^ +[0-9.]+ ms +[0-9.]+ m?s +\+[0-9.]+ m?s ! phases +sleep +nap < store$' "$stdout"
check_match "what shrank" '^ +[0-9.]+ m?s +[0-9.]+ ms +-[0-9.]+ ms   phases +sleep +nap < load$' "$stdout"
check_match "and the functions" ' store$' "$stdout"
run "$TRACELET" diff --json out/before_*.pb out/after_*.pb
check_equal "as data" "nap store true,nap load false" \
	"$(jq -r '[.path.segments[] | select(.reason == "sleep") | "\(.function) \(.caller) \(.grew)"] | join(",")' "$stdout")"
check_equal "whose sums are the times" "true true" \
	"$(jq -r '.path | "\(([.segments[].before_ns] | add) <= .wall_before_ns) \(([.segments[].after_ns] | add) <= .wall_after_ns)"' "$stdout")"
"$TRACELET" run --quiet --name before --output-dir plain -- true
"$TRACELET" run --quiet --name after --output-dir plain -- sleep 0.1
run "$TRACELET" diff plain/before_*.pb plain/after_*.pb
check_equal "traces without samples have paths, too" "0 1" "$status $(grep -c '^critical path: ' "$stdout")"
echo "main;work 7" >folded
run "$TRACELET" diff --json folded folded
check_equal "profiles without switches have none" "0 null" "$status $(jq .path "$stdout")"

# ---- recordings that are of no test ----

if perf record -q -a -e sched:sched_switch -o sched.data -- true 2>/dev/null; then
	"$TRACELET" convert --quiet sched.data other.pb
	check_equal "have switches" true "$("$TRACELET" info --json other.pb | jq '.events["sched/switch"] > 0')"
	check_equal "but no such track" 0 "$(grep -c 'critical path' other.pb)"
else
	skip "recordings that are of no test" "perf cannot record sched events here"
fi

done_testing
