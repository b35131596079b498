# CPU samples: complete stacks of programs without frame pointers.
. "$(dirname "$0")/lib.sh"
need_root
[ "$(uname -m)" = x86_64 ] || skip_all "stacks can be walked only on x86-64"

chains=$TRACELET_HELPERS/chains
tp=$source/tests/perfetto/tp

# share PATTERN: percentage of the samples in the last recording that match.
share() {
	awk -v pattern="$1" '{ weight = $NF; all += weight; if ($0 ~ pattern) matching += weight }
		END { printf "%d\n", all ? matching * 100 / all : 0 }' samples.folded
}
sampled() { # NAME COMMAND...
	name=$1
	shift
	check_run "$name is recorded" 0 "$TRACELET" run --sample --keep-spool --name "$name" -- "$@"
	spool=$(ls -t tracelet-out/"$name"_*.spool | head -n 1)
	"$TRACELET" convert "$spool" samples.folded
}
chain() { # NAME PATTERN [PERCENT]
	sampled "$1" "$chains" "$1"
	check "nearly all samples have the chain of $1" test "$(share "$2")" -ge "${3:-90}"
	[ "$(share "$2")" -ge "${3:-90}" ] || sort -k 2 -n -t ' ' samples.folded | tail -n 5 | sed 's/^/# /'
}

bottom='_start;.*main;main;'
chain plain "${bottom}burn"
check_match "the summary counts samples" 'including [0-9,]+ samples' "$stderr"
"$TRACELET" convert "$spool" out.gecko.json
check_equal "as a profile for Firefox they are whole" "" "$(jq -r -f "$source/tests/cli/gecko.jq" out.gecko.json 2>&1)"
check_equal "of the test's thread, in milliseconds, in the time that it ran" "chains true tracing-ms true" \
	"$(jq -r '.threads[] | "\(.name) \(.isMainThread) \(.samples.weightType) \((.samples.timeDeltas | add) as $last | (.samples.weight | add) as $sum | $sum > 0 and $sum < 1.2 * $last)"' out.gecko.json)"
chain recursion "${bottom}(recursion;)+burn"
check_equal "all 31 calls of it" 31 "$(grep -m 1 ';burn ' samples.folded | tr ';' '\n' | grep -c '^recursion$')"
# Larger than a copy: it cannot be walked before the table is there, which takes time on a busy machine, and with a
# sanitizer most of the program's.
late=10
! is_sanitized || late=1
chain large_frame "${bottom}large_frame;burn" $late
chain huge_frame "${bottom}huge_frame;burn" $late
# few_broken WHAT: fewer than one of ten stacks of the last recording.
few_broken() {
	check "none or few stacks are broken: $1" test "$(jq -s 'last.broken_stacks * 10 <= last.samples' tracelet-out/manifest.jsonl)" = true
}
# Before the table is there, a copy of the stack is walked, which may be too small for all frames.
chain deep "${bottom}(recursion;)+\\[frames left out\\];(recursion;)+burn" $late
few_broken "more frames than are kept"
check_equal "127 of the innermost, and 128 of the outermost" 127,128 "$(grep -m 1 'left out.*;burn ' samples.folded | tr ';' '\n' | sed 's/ [0-9]*$//' |
	awk '/_start|start_call|start_main|^main$/ { outer++ } /^recursion|^burn$/ { count++ } /left out/ { outer += count; count = 0 } END { print count "," outer }')"
check_match "the summary counts them" 'with cut stacks\)' "$stderr"
# Until the unwind tables are ready, stacks are walked in a copy of their top, which ends earlier.
chain deepest '^chains;\[cut at [0-9]+ frames\];(recursion;)+(\[frames left out\];(recursion;)+)?burn'
check "with the tables, both ends are there" test \
	"$(share '^chains;\[cut at 1024 frames\];(recursion;)+\[frames left out\];(recursion;)+burn')" -ge 5
few_broken "more frames than are walked"
check "the manifest counts them" test "$(jq -s 'last.cut_stacks * 10 >= last.samples * 4' tracelet-out/manifest.jsonl)" = true
chain coroutine '^chains;[^;]*;in_coroutine;burn'
few_broken "of a coroutine"
if command -v musl-gcc >/dev/null && musl-gcc -O2 -static -o of_musl "$source/tests/cli/helpers/chains_of_musl.c"; then
	for chain in main thread; do
		sampled "musl-$chain" ./of_musl $chain
		check "the chain of a static program of musl ($chain)" test "$(share 'middle;burn')" -ge 90
		few_broken "of musl, $chain"
	done
else
	skip "a static program of musl" "there is no musl-gcc"
fi
# As `go test` builds a test: without symbols and unwind information. The garbage collector and the scheduler run on
# stacks of their own.
mkdir -p of_go
printf 'module example\n\ngo 1.18\n' >of_go/go.mod
cat >of_go/example_test.go <<-'END'
	package example

	import (
		"sync"
		"testing"
	)

	type node struct{ left, right *node }

	func grow(depth int) *node {
		if depth == 0 {
			return &node{}
		}
		return &node{grow(depth - 1), grow(depth - 1)}
	}

	func TestAllocates(t *testing.T) {
		for i := 0; i < 6; i++ {
			if grow(17) == nil {
				t.Fatal()
			}
		}
	}

	func TestPasses(t *testing.T) {
		channel := make(chan int)
		var all sync.WaitGroup
		for i := 0; i < 4; i++ {
			all.Add(1)
			go func() {
				for range channel {
				}
				all.Done()
			}()
		}
		for i := 0; i < 200000; i++ {
			channel <- i
		}
		close(channel)
		all.Wait()
	}
END
if command -v go >/dev/null && (cd of_go && GOFLAGS=-mod=mod go test -c -ldflags='-s -w' -o ../of_go.test) 2>/dev/null; then
	sampled go ./of_go.test
	check "nearly no stacks are broken: of a stripped program of Go" test "$(jq -s 'last.broken_stacks * 50 <= last.samples' tracelet-out/manifest.jsonl)" = true
else
	skip "a program of Go" "there is no go, or it cannot build a test"
fi
run "$TRACELET" run --sample=10000 -q --name execs -- sh -c 'i=0; while [ $i -lt 100 ]; do /bin/true; i=$((i + 1)); done'
check "nearly no stacks are broken: of programs that are executed" test "$(jq -s 'last.broken_stacks * 25 <= last.samples' tracelet-out/manifest.jsonl)" = true
chain with_alloca "${bottom}with_alloca;burn"
chain raise_signal "${bottom}raise_signal;.*raise.*;on_signal;burn"
chain through_library "${bottom}through_library;.*qsort.*;compare;burn"
chain without_exec "${bottom}without_exec;burn"
chain tail_call "${bottom}tail_target;burn"
chain never_returns "${bottom}ends_with_a_call;never_returns;burn"
chain in_vdso "${bottom}in_vdso;.*(clock_gettime|\\[vdso\\])" 60
chain through_plt "${bottom}through_plt" 95
sampled short_threads "$chains" short_threads
check "threads that end at once have whole stacks" test "$(jq -s 'last.broken_stacks * 20 <= last.samples' tracelet-out/manifest.jsonl)" = true
check_match "of both sides" ';start_thread;.*in_short_thread' samples.folded
check_match "of their parent's, too" ';main;short_threads;.*clone' samples.folded
cp "$TRACELET_HELPERS/libchains_library.so" gone.so
sampled deleted_library "$chains" deleted_library "$PWD/gone.so"
"$TRACELET" fold "${spool%.spool}.pb" >samples.folded
check_not "the library is gone" test -e gone.so
check "its name is there" test "$(share "${bottom}deleted_library;call_from_library;burn")" -ge 90
cp "$TRACELET_HELPERS/libchains_library.so" gone.so
run "$TRACELET" run -q --sample --call-graph fp --name held -- "$TRACELET_HELPERS/chains_with_frame_pointers" deleted_library "$PWD/gone.so"
check_match "without tables too" 'call_from_library;burn' <("$TRACELET" fold tracelet-out/held_*.pb)
if unshare -m true 2>/dev/null; then
	sampled elsewhere unshare -m sh -c 'mkdir hidden && mount -t tmpfs none hidden && cp "$1" "$2" hidden && PATH= && exec hidden/chains deleted_library "$PWD/hidden/libchains_library.so"' \
		sh "$chains" "$TRACELET_HELPERS/libchains_library.so"
	"$TRACELET" fold "${spool%.spool}.pb" >samples.folded
	check "names of what only the test could see" test "$(share "${bottom}deleted_library;call_from_library;burn")" -ge 60
else
	skip "files in another mount namespace" "unshare is not allowed"
fi
chain with_thread '(clone3?|start_thread);.*in_thread;burn'

# ---- JIT compilers ----

cat >hot.js <<'END'
function innerHot(n) { let s = 0; for (let i = 0; i < n; i++) s += Math.sqrt(i) * (i % 7); return s; }
function outerHot(n) { let t = 0; for (let i = 0; i < 40; i++) t += innerHot(n); return t; }
console.log(outerHot(3000000) > 0);
END
if command -v node >/dev/null; then
	for option in --perf-basic-prof --perf-prof; do
		sampled "node$option" node $option --interpreted-frames-native-stack hot.js
		check "names of functions with $option" test "$(share ';[^;]*outerHot[^;]*;[^;]*innerHot[^;]*( |;)')" -ge 30
	done
	rm -f /tmp/perf-"$(sed -n 's/.*jit-\([0-9]*\).dump/\1/p' <<<"$(ls jit-*.dump)")".map
else
	skip "code of a compiler" "there is no node"
fi

# ---- the same in the trace ----

TRACELET_WAITS=no sampled trace "$chains" recursion # stacks of long waits are samples, too
trace=${spool%.spool}.pb
check "the trace is good" "$TRACELET" check "$trace"
samples=$(jq -s 'last.samples' tracelet-out/manifest.jsonl)
"$tp" --health "$trace" "select count(*) from perf_sample" \
	"select count(*) > 0 from stack_profile_frame where name = 'recursion'" >answers
check_equal "healthy" 0 $?
check_equal "Perfetto has as many samples as the summary says" "$samples" "$(sed -n 1p answers)"
check_equal "with names" 1 "$(sed -n 2p answers)"

# ---- the flame graph next to it ----

picture=${spool%.spool}.svg
check "the flame graph is there" test -s "$picture"
check "is well-formed" python3 -c "import xml.dom.minidom as xml; xml.parse('$picture')"
check_match "is named after the test" '>trace: CPU<' "$picture"
check_match "and has the chain" '<title>recursion \([0-9]+ ms, ' "$picture"
check_match "the summary names it" "flame +$picture \\([0-9.]+ kB\\)" "$stderr"
noted=$(jq -rs 'last.artifacts[] | select(.kind == "flame") | .path + " " + .sha256' tracelet-out/manifest.jsonl)
check_equal "so does the manifest" "$picture $(sha256sum "$picture" | cut -d ' ' -f 1)" "$noted"
run "$TRACELET" run --sample -q --keep failed --name kept -- "$chains"
check_equal "it is kept or not with the trace" "" "$(ls tracelet-out | grep ^kept_)"
run "$TRACELET" run --sample -q --max-total-size 1K --name large -- "$chains"
check_equal "and goes with it" "" "$(ls tracelet-out | grep '^large_.*[bg]$')"

# ---- the ways to walk ----

# walked NAME HOW PROGRAM: leaves the samples of a recursion.
walked() {
	check_run "--call-graph $2 of ${3##*/}" 0 "$TRACELET" run --sample --call-graph "$2" --keep-spool --name "$1" -- "$3" recursion
	"$TRACELET" fold "$(ls tracelet-out/"$1"_*.spool)" >samples.folded
}
broken() { jq -s 'last.broken_stacks' tracelet-out/manifest.jsonl; }
walked pointers fp "$TRACELET_HELPERS/chains_with_frame_pointers"
check "frame pointers lead to main()" test "$(share 'main;(recursion;)+burn')" -ge 90
walked without fp "$chains"
check "without them stacks are broken" test "$(share '_start;.*main;main;(recursion;)+burn')" -le 10
check "which is counted" test "$(broken)" -ge 50
check_match "and reported" 'warning: [0-9.]+ % of the stacks are broken.*--call-graph auto' "$stderr"
walked tables dwarf "$chains"
check "tables lead to the end" test "$(share '_start;.*main;main;(recursion;)+burn')" -ge 90
check "none or few are broken" test "$(broken)" -le 5
check_not "no warning then" grep -q warning "$stderr"
check_run "another way is refused" 2 "$TRACELET" run --call-graph lbr -- true
check_lines "in one line" 1 "$stderr"

# ---- waiting ----

# waited FUNCTION: how long, in all stacks with this function, in tenths of milliseconds.
waited() {
	awk -v pattern=";$1;" '$0 ~ pattern { weight += $NF } END { printf "%d\n", weight / 1e5 }' samples.folded
}
# beside OPTION... -- PROGRAM...: a run next to a process that spins, so that a waking task takes the CPU from one whose
# switches every kernel shows. Some kernels hide what follows certain processes of the machine.
beside() {
	local options=()
	while [ "$1" != -- ]; do
		options+=("$1")
		shift
	done
	shift
	rm -f spins
	"$TRACELET_HELPERS/sources" spin 1 &
	run "$TRACELET" run "${options[@]}" -- "$TRACELET_HELPERS/sources" beside "$@"
	kill $!
	wait $! 2>/dev/null
}
beside --off-cpu --keep-spool --name waits -- "$TRACELET_HELPERS/waits"
check_equal "waits are recorded" 0 "$status"
cp "$stdout" times
spool=$(ls tracelet-out/waits_*.spool)
"$TRACELET" fold "$spool" >samples.folded
while read -r name time; do
	real=$(awk "BEGIN { printf \"%d\", $time * 10 }") ours=$(waited "$name")
	check "$name took $real, $ours of it seen" test $((ours * 10)) -ge $((real * 9)) -a $((ours * 10)) -le $((real * 11))
done <times
check_lines "three of them" 3 times
check_match "in the chain that it was" '^waits;_start;.*;main;timed;outer_sleep;nap;.*nanosleep;.*;schedule;__schedule [0-9]+$' samples.folded
check_match "of threads too" '(clone3?|start_thread);.*other;nap;' samples.folded
check_match "the summary counts them" 'including [0-9]+ waits' "$stderr"
waits=$(jq -s 'last.waits' tracelet-out/manifest.jsonl)
check_equal "no samples were asked for" null "$(jq -s 'last.samples' tracelet-out/manifest.jsonl)"
check_match "a flame graph of them" '<title>outer_sleep \(2[0-9][0-9] ms, ' "${spool%.spool}.off-cpu.svg"
check_not "none of the CPU" test -e "${spool%.spool}.svg"
check "the trace is good" "$TRACELET" check "${spool%.spool}.pb"
"$tp" --health "${spool%.spool}.pb" "with recursive ready(id) as (
		select c.id from stack_profile_callsite c join stack_profile_frame f on c.frame_id = f.id where f.name = '[ready]'
		union select c.id from stack_profile_callsite c join ready on c.parent_id = ready.id)
	select count(*) from perf_sample where coalesce(callsite_id, -1) not in (select id from ready)" >answers
check_equal "Perfetto has as many" "$waits" "$(cat answers)"

beside --off-cpu --sample --keep-spool --name both -- "$chains" without_exec
check_equal "both together" 0 "$status"
spool=$(ls tracelet-out/both_*.spool)
"$TRACELET" fold -q "$spool" >samples.folded 2>/dev/null
check "samples come first" test "$(share ';without_exec;burn')" -ge 80
"$TRACELET" fold --event-filter cpu "$spool" >named.folded
of_program() { # FILE: without the kernel's frames, some of which lose their names when other sessions end
	sed -E 's/;(entry_|asm_|bpf_prog_|\[+kernel|__pi_)[^ ]* / /' "$1" | awk '{ sum[$1] += $NF } END { for (stack in sum) print stack, sum[stack] }' | sort
}
check_equal "by name, too" "$(of_program samples.folded | md5sum)" "$(of_program named.folded | md5sum)"
"$TRACELET" fold --event-filter off-cpu "$spool" >samples.folded
check "or the parent, which waits" test "$(share ';without_exec;.*wait')" -ge 80
check_match "top names them" 'samples of off-cpu' <("$TRACELET" top --event-filter off-cpu "$spool")
check_equal "and starts at the functions that wait, not at the scheduler" 0 \
	"$("$TRACELET" top --json --event-filter off-cpu --limit 0 "$spool" | jq '[.functions[] | select(.name | test("^_*(io_)?schedule")) ] | length')"
check "two flame graphs" test -s "${spool%.spool}.svg" -a -s "${spool%.spool}.off-cpu.svg"

run "$TRACELET" run -q --sample --profile system-calls --name ours -- dd if=/dev/zero of=/dev/null bs=1 count=300000
check_match "our own programs are known by name" 'bpf_prog_[0-9a-f]{16}_(on_sys_enter|on_sys_exit|emit)[; ]' <("$TRACELET" fold tracelet-out/ours_*.pb)

# ---- a kernel that rejects the program which names its addresses ----

check_run "it is left out" 0 env TRACELET_REFUSED=name_symbol "$TRACELET" run -v --sample --name refused -- \
	dd if=/dev/zero of=/dev/null bs=1 count=300000
check_match "which is reported" 'using /proc/kallsyms' "$stderr"
check_match "and the names are there" ';(do_syscall_64|ksys_read|vfs_read)[; ]' <("$TRACELET" fold tracelet-out/refused_*.pb)

# ---- how many samples, and from which tasks ----

check "about one for each millisecond of 150" test "$samples" -gt 75 -a "$samples" -lt 300
event=cpu-clock
perf stat -e cycles true 2>&1 | grep -q 'not supported' || event=cycles
check_equal "of the best event that this machine has" $event "$(jq -rs 'last.sample_event' tracelet-out/manifest.jsonl)"
check_run "fewer on demand" 0 "$TRACELET" run --sample=99 -q --name few -- "$chains"
check "a tenth of it" test $(($(jq -s 'last.samples' tracelet-out/manifest.jsonl) * 5)) -lt "$samples"
check_run "none unless asked for" 0 "$TRACELET" run -q --name none -- "$chains"
check_equal "no word of them" null "$(jq -s 'last.samples' tracelet-out/manifest.jsonl)"
check_equal "no flame graph" "" "$(ls tracelet-out | grep '^none_.*svg$')"
for value in 0.5 -1 30000 often; do
	check_run "--sample=$value is refused" 2 "$TRACELET" run --sample=$value -- true
	check_lines "in one line" 1 "$stderr"
done

done_testing
