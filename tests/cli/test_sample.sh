# CPU samples: whole stacks of programs that have no frame pointers.
. "$(dirname "$0")/lib.sh"
need_root
[ "$(uname -m)" = x86_64 ] || skip_all "stacks are walked on x86-64 only"

chains=$TRACELET_HELPERS/chains
tp=$source/tests/perfetto/tp

# share PATTERN: how many percent of the samples of the last recording match.
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
check_match "the summary counts samples" 'of these [0-9,]+ samples' "$stderr"
chain recursion "${bottom}(recursion;)+burn"
check_equal "all 31 calls of it" 31 "$(grep -m 1 ';burn ' samples.folded | tr ';' '\n' | grep -c '^recursion$')"
# Larger than a copy: before the table is there (a busy machine takes its time) it cannot be walked.
chain large_frame "${bottom}large_frame;burn" 40
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

# ---- compilers at run time ----

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

# ---- the trace has the same ----

sampled trace "$chains" recursion
trace=${spool%.spool}.pb
check "the trace is good" "$TRACELET" check "$trace"
samples=$(jq -s 'last.samples' tracelet-out/manifest.jsonl)
"$tp" --health "$trace" "select count(*) from perf_sample" \
	"select count(*) > 0 from stack_profile_frame where name = 'recursion'" >answers
check_equal "healthy" 0 $?
check_equal "Perfetto has as many samples as the summary says" "$samples" "$(sed -n 1p answers)"
check_equal "with names" 1 "$(sed -n 2p answers)"

# ---- a flame graph beside it ----

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
check "those who have none are broken" test "$(share '_start;.*main;main;(recursion;)+burn')" -le 10
check "which is counted" test "$(broken)" -ge 50
check_match "and said" 'warning: [0-9.]+ % of the stacks are broken.*--call-graph auto' "$stderr"
walked tables dwarf "$chains"
check "tables lead to the end" test "$(share '_start;.*main;main;(recursion;)+burn')" -ge 90
check "none or few are broken" test "$(broken)" -le 5
check_not "no warning then" grep -q warning "$stderr"
check_run "another way is refused" 2 "$TRACELET" run --call-graph lbr -- true
check_lines "in one line" 1 "$stderr"

# ---- waiting ----

# waited FUNCTION: how long, in all stacks with it, in tenths of milliseconds.
waited() {
	awk -v pattern=";$1;" '$0 ~ pattern { weight += $NF } END { printf "%d\n", weight / 1e5 }' samples.folded
}
check_run "waits are recorded" 0 "$TRACELET" run --off-cpu --keep-spool --name waits -- "$TRACELET_HELPERS/waits"
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
check_match "the summary counts them" 'of these [0-9]+ waits' "$stderr"
waits=$(jq -s 'last.waits' tracelet-out/manifest.jsonl)
check_equal "no samples were asked for" null "$(jq -s 'last.samples' tracelet-out/manifest.jsonl)"
check_match "a flame graph of them" '<title>outer_sleep \(2[0-9][0-9] ms, ' "${spool%.spool}.off-cpu.svg"
check_not "none of the CPU" test -e "${spool%.spool}.svg"
check "the trace is good" "$TRACELET" check "${spool%.spool}.pb"
"$tp" --health "${spool%.spool}.pb" "select count(*) from perf_sample" >answers
check_equal "Perfetto has as many" "$waits" "$(cat answers)"

check_run "both together" 0 "$TRACELET" run --off-cpu --sample --keep-spool --name both -- "$chains" without_exec
spool=$(ls tracelet-out/both_*.spool)
"$TRACELET" fold -q "$spool" >samples.folded 2>/dev/null
check "samples come first" test "$(share ';without_exec;burn')" -ge 80
"$TRACELET" fold --event-filter cpu "$spool" >named.folded
check "by name, too" cmp samples.folded named.folded
"$TRACELET" fold --event-filter off-cpu "$spool" >samples.folded
check "or the parent, which waits" test "$(share ';without_exec;.*wait')" -ge 80
check_match "top tells which" 'samples of off-cpu' <("$TRACELET" top --event-filter off-cpu "$spool")
check "two flame graphs" test -s "${spool%.spool}.svg" -a -s "${spool%.spool}.off-cpu.svg"

run "$TRACELET" run -q --sample --profile system-calls --name ours -- dd if=/dev/zero of=/dev/null bs=1 count=300000
check_match "our own programs are known by name" 'bpf_prog_[0-9a-f]{16}_(on_sys_enter|on_sys_exit|emit)[; ]' <("$TRACELET" fold tracelet-out/ours_*.pb)

# ---- a kernel that does not take the program which names its addresses ----

check_run "it is left out" 0 env TRACELET_REFUSED=name_symbol "$TRACELET" run -v --sample --name refused -- \
	dd if=/dev/zero of=/dev/null bs=1 count=300000
check_match "which is told" 'by /proc/kallsyms' "$stderr"
check_match "and the names are there" ';(do_syscall_64|ksys_read|vfs_read)[; ]' <("$TRACELET" fold tracelet-out/refused_*.pb)

# ---- how many, and of whom ----

check "about one for each millisecond of 150" test "$samples" -gt 100 -a "$samples" -lt 220
event=cpu-clock
perf stat -e cycles true 2>&1 | grep -q 'not supported' || event=cycles
check_equal "of the best event that this machine has" $event "$(jq -rs 'last.sample_event' tracelet-out/manifest.jsonl)"
check_run "fewer on demand" 0 "$TRACELET" run --sample=99 -q --name few -- "$chains"
check "a tenth of it" test "$(jq -s 'last.samples' tracelet-out/manifest.jsonl)" -lt 30
check_run "none unless asked for" 0 "$TRACELET" run -q --name none -- "$chains"
check_equal "no word of them" null "$(jq -s 'last.samples' tracelet-out/manifest.jsonl)"
check_equal "no flame graph" "" "$(ls tracelet-out | grep '^none_.*svg$')"
for value in 0.5 -1 30000 often; do
	check_run "--sample=$value is refused" 2 "$TRACELET" run --sample=$value -- true
	check_lines "in one line" 1 "$stderr"
done

done_testing
