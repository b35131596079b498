# perf's own recordings: those of other machines by their numbers of samples, and
# ones made here by the call chains of a program that is known.
. "$(dirname "$0")/lib.sh"
need_command jq
corpus=${TRACELET_CORPUS:-$source/../shared/corpus}/perf-data

# samples FILE: how many there are, of all events.
samples() {
	"$TRACELET" top --all-events --json --limit 1 "$1" 2>/dev/null | jq .samples
}

# What `perf report --stats` says of each; of those that perf 6.1 cannot read, what newer ones do.
if [ -d "$corpus" ]; then
	while read -r file expected; do
		check_equal "$file" "$expected" "$(samples "$corpus/$file")"
	done <<-'END'
		perf.data.armv7.perf_3.14-3.8 700
		perf.data.callgraph-3.8 1768
		perf.data.callgraph_and_branch-3.4 923
		perf.data.ctx_switch_namespaces-4.14 2
		perf.data.group_desc-4.14 13
		perf.data.hw_and_sw-3.4 4941
		perf.data.hybrid_topology 7
		perf.data.i686-3.4 703
		perf.data.lost_samples-4.4 191
		perf.data.piped.header_features-4.16 2
		perf.data.piped.intel_pt-4.14 11
		perf.data.piped.no_attr_ids-4.14 7
		perf.data.piped.target-3.4 1414
		perf.data.proc.map.timeout-3.18 8
		perf.data.raw-3.4 441
		perf.data.remmap-3.2 198
		perf.data.singleprocess-3.8 13
		perf.data.true.v2 1
		sleep.compressed.data 8
		sleep.compressed.pipe.data 8
		sleep.compressed2.data 7
		sleep.data 7
	END
	check_run "a damaged one fails" 2 "$TRACELET" fold "$corpus/perf.data.piped.corrupted.zero_size_sample-3.2"
	check_lines "in one line" 1 "$stderr"
	check_run "what is left out is said" 0 "$TRACELET" fold "$corpus/perf.data.piped.intel_pt-4.14"
	check_match "as not supported" 'not supported: .*Intel PT' "$stderr"
	file=$corpus/perf.data.callgraph-3.8
	check_run "a file from a pipe" 0 sh -c '"$1" fold - <"$2" >piped' sh "$TRACELET" "$file"
	check "gives the same" cmp piped <("$TRACELET" fold "$file")
	for size in 0 7 8 50 104 300 5000 100000; do
		head -c $size "$file" >cut.data
		run "$TRACELET" fold cut.data
		check "cut off after $size bytes it is read or refused" test "$status" = 0 -o "$status" = 2
	done
else
	skip "recordings of other machines" "there is no $corpus"
fi

command -v perf >/dev/null && command -v gcc >/dev/null || {
	skip "recordings of this machine" "there is no perf or gcc here"
	done_testing
}
cat >chain.c <<'END'
#include <signal.h>
#include <string.h>
volatile double sum;
__attribute__((noinline)) void leaf(int n) { for (int i = 0; i < n; i++) sum += i; }
__attribute__((noinline)) void big(int n) { char room[3000]; memset(room, n, sizeof(room)); leaf(n); sum += room[5]; }
__attribute__((noinline)) void recurse(int depth, int n) {
	if (depth) recurse(depth - 1, n); else leaf(n);
	sum++;
}
__attribute__((noinline)) void variable(int n) { char room[n % 100 + 10]; memset(room, 1, sizeof(room)); leaf(n); sum += room[3]; }
static void handler(int signal) { leaf(1200000); }
int main(void) {
	signal(SIGUSR1, handler);
	for (int i = 0; i < 25; i++) { big(1200000); recurse(3, 1200000); variable(1200000 + i); raise(SIGUSR1); }
	return 0;
}
END
gcc -O2 -fomit-frame-pointer -fno-inline-functions -fno-optimize-sibling-calls -w chain.c -o chain
if ! perf record -q -F 1999 --call-graph dwarf -o dwarf.data ./chain >/dev/null 2>&1; then
	skip "recordings of this machine" "perf is not allowed to record"
	done_testing
fi
"$TRACELET" fold dwarf.data >dwarf.folded 2>warnings
check_match "a frame of 3000 bytes" '^chain;_start;.*;main;big;leaf ' dwarf.folded
check_match "recursion" ';main;recurse;recurse;recurse;recurse;leaf ' dwarf.folded
check_match "a frame of variable size" ';main;variable;leaf ' dwarf.folded
check_match "a signal handler" ';main;.*;handler;leaf ' dwarf.folded
check_equal "nearly all stacks reach _start" yes \
	"$(awk '{ all += $NF } /^chain;_start;/ { good += $NF } END { print (good > 0.98 * all ? "yes" : "no: " good " of " all) }' dwarf.folded)"
check_equal "each sample is there" "$(perf report --stats -i dwarf.data 2>/dev/null | awk '/SAMPLE events:/ { print $3; exit }')" \
	"$(samples dwarf.data)"

gcc -O1 -fno-omit-frame-pointer -fno-optimize-sibling-calls -w chain.c -o chain
perf record -q -F 1999 -g -o - ./chain 2>/dev/null | "$TRACELET" fold >pipe.folded 2>/dev/null
# leaf() has no frame pointer of its own, which hides its caller.
check_match "frame pointers, through a pipe" ';main;recurse;recurse;recurse;leaf ' pipe.folded
if perf record -q -z -F 1999 -g -o packed.data ./chain >/dev/null 2>&1; then
	"$TRACELET" fold packed.data >packed.folded 2>/dev/null
	check_match "compressed" ';main;recurse;recurse;recurse;leaf ' packed.folded
else
	skip "compressed" "this perf cannot"
fi
# Against perf's own names: equal but for aliases of one address.
perf record -q -F 1999 -g -o plain.data ./chain >/dev/null 2>&1
perf script --no-inline -i plain.data 2>/dev/null | "$TRACELET" fold | grep -o ';main;.*' | sort >by-perf
"$TRACELET" fold plain.data | grep -o ';main;.*' | sort >by-us
check "the same stacks as perf script" diff by-perf by-us
if [ "$(id -u)" = 0 ] && perf sched record -o sched.data -- sleep 0.2 >/dev/null 2>&1; then
	check_run "scheduling becomes a trace" 0 "$TRACELET" convert sched.data sched.pb
	check_run "without defects" 0 "$TRACELET" check sched.pb
fi
done_testing
