# Heap profiles from us, Valgrind and Rust's dhat: what is shown is what they contain.
. "$(dirname "$0")/lib.sh"
need_command python3

# ---- a profile from Rust with known numbers ----

cat >rust.json <<'END'
{
  "dhatFileVersion": 2, "mode": "rust-heap", "verb": "Allocated", "bklt": true, "bkacc": false,
  "tu": "µs", "Mtu": "s", "tuth": 10, "cmd": "target/debug/app", "pid": 4711, "tg": 200, "te": 1000,
  "pps": [
    {"tb": 1000, "tbk": 10, "tl": 50, "mb": 300, "mbk": 3, "gb": 200, "gbk": 2, "eb": 100, "ebk": 1, "fs": [1, 3]},
    {"tb": 24, "tbk": 2, "tl": 7, "mb": 12, "mbk": 1, "gb": 12, "gbk": 1, "eb": 0, "ebk": 0, "fs": [2, 3]},
    {"tb": 0, "tbk": 5, "tl": 5, "mb": 0, "mbk": 1, "gb": 0, "gbk": 0, "eb": 0, "ebk": 0, "fs": [4, 3]}
  ],
  "ftbl": ["[root]",
    "0x55d0: <alloc::vec::Vec<T> as core::clone::Clone>::clone (src/vec.rs:12:34)",
    "0x55d1: app::caf\u00e9::{{closure}} (src/main.rs:7:1)",
    "0x55d2: app::main (src/main.rs:3:5)",
    "0x55d3: void (anonymous namespace)::f()"]
}
END
cp rust.json rust-before.json
sed -i 's/"tb": 1000/"tb": 400/; s/"eb": 100/"eb": 60/' rust-before.json

check_equal "bytes allocated, which is what is shown" \
	"app::main;<alloc::vec::Vec<T> as core::clone::Clone>::clone 1000 app::main;app::café::{{closure}} 24" \
	"$("$TRACELET" fold rust.json | paste -sd ' ')"
for metric in allocated:1024 blocks:17 peak:212 peak-blocks:3 leaked:100 leaked-blocks:1 most:312 most-blocks:5 lifetime:62; do
	check_equal "the metric ${metric%:*}" "${metric#*:}" \
		"$("$TRACELET" fold --metric "${metric%:*}" rust.json | awk '{ sum += $NF } END { print sum }')"
done
check_run "a metric that the file does not have" 2 "$TRACELET" flame --metric read rust.json -o none.svg
check_not "leaves no picture" test -e none.svg
check_run "a metric that there is not" 2 "$TRACELET" top --metric bytes rust.json
check_match "those that there are" "unknown metric 'bytes'; known: allocated blocks peak .* written$" "$stderr"

run "$TRACELET" info rust.json
check_match "info: the whole" '^allocated  1024 bytes in 17 blocks$' "$stdout"
check_match "the peak" '^peak       212 bytes in 3 blocks$' "$stdout"
check_match "the end" '^at end     100 bytes in 1 blocks$' "$stdout"
check_match "when" 'after 200 µs$' "$stdout"
check_equal "info as JSON" "17 rust-heap 3" "$("$TRACELET" info --json rust.json |
	python3 -c 'import json, sys; i = json.load(sys.stdin); print(i["metrics"]["blocks"], i["mode"], i["places"])')"

run "$TRACELET" top rust.json
check_match "top: the whole, with its unit" '^1024 bytes allocated in total, from 3 places$' "$stdout"
check_match "a function, with bytes" '97\.66% +1000 +97\.66% +1000  <alloc::vec' "$stdout"
check_equal "nothing of what has none" 0 "$(grep -c anonymous "$stdout")"
check_equal "no warning" "" "$(cat "$stderr")"
run "$TRACELET" top --metric blocks rust.json
check_match "blocks are called so" '^17 blocks allocated in total' "$stdout"
check_match "an argument list is no file" ' +5 +29\.41% +5  void \(anonymous namespace\)::f$' "$stdout"

run "$TRACELET" diff rust-before.json rust.json -o diff.svg
check_match "diff: the whole" '^424 bytes allocated in total before, 1024 after; \+600$' "$stdout"
check_match "a function" '^ +400 +1000 +\+600 +400 +1000 +\+600  <alloc::vec' "$stdout"
check_match "as a picture" '<title>all \(1024 bytes, 100\.00%; \+58\.59%\)</title>' diff.svg
check_run "what grew too much" 1 "$TRACELET" diff --fail-above 1 rust-before.json rust.json
check_equal "diff of what is left" "60 100 bytes" "$("$TRACELET" diff --json --metric leaked rust-before.json rust.json |
	python3 -c 'import json, sys; d = json.load(sys.stdin); print(d["weight_before"], d["weight_after"], d["unit"])')"

run "$TRACELET" flame --metric peak rust.json -o peak.svg
check_match "flame: with the unit" '<title>app::main \(212 bytes, 100\.00%\)( — src/main\.rs:3)?</title>' peak.svg
check_match "and a title" 'Heap: at its peak' peak.svg
check_equal "from standard input" 1024 "$("$TRACELET" fold - <rust.json | awk '{ sum += $NF } END { print sum }')"

# ---- other units ----

cat >adhoc.json <<'END'
{"dhatFileVersion":2,"mode":"ad-hoc","verb":"Allocated","bklt":false,"bkacc":false,"bu":"unit","bsu":"units","bksu":"events",
"tu":"instrs","Mtu":"Minstr","cmd":"./a","pid":1,"te":5,"pps":[{"tb":300,"tbk":3,"fs":[1]}],"ftbl":["[root]","0x1: f (in /a)"]}
END
run "$TRACELET" top adhoc.json
check_match "units of its own" '^300 units allocated in total' "$stdout"
check_match "with the file" 'f \(/a\)$' "$stdout"
check_match "events for blocks" '^3 events allocated in total' <("$TRACELET" top --metric blocks adhoc.json)

# ---- other formats ----

for format in svg html folded speedscope.json pprof pb; do
	check_run "as $format" 0 "$TRACELET" convert rust.json "out.$format"
done
check_match "speedscope: bytes" '"unit":"bytes"' out.speedscope.json
check "the trace is right" "$TRACELET" check out.pb
if command -v go >/dev/null; then
	run go tool pprof -raw out.pprof
	check_match "pprof: what there is" 'alloc_space/bytes.*alloc_objects/count inuse_space/bytes inuse_objects/count' "$stdout"
	check_match "and a place" '1000 +10 +100 +1 +200 +2:' "$stdout"
else
	skip "pprof: what there is" "there is no go"
fi
if "$source/tests/perfetto/setup" >/dev/null 2>&1; then
	check "Perfetto is content" "$source/tests/perfetto/tp" --health out.pb
	check_equal "Perfetto: allocated and freed" "17|1024 -16|-924" "$("$source/tests/perfetto/tp" out.pb \
		"select sum(count), sum(size) from heap_profile_allocation where heap_name = 'heap' and count > 0" \
		"select sum(count), sum(size) from heap_profile_allocation where heap_name = 'heap' and count < 0" | paste -sd ' ')"
	check_equal "at the peak, by which function" "4711|app::café::{{closure}}|1|12" "$("$source/tests/perfetto/tp" out.pb \
		"select p.pid, f.name, a.count, a.size from heap_profile_allocation a join process p using (upid)
		join stack_profile_callsite c on c.id = a.callsite_id join stack_profile_frame f on f.id = c.frame_id
		where heap_name = 'heap at its peak' and a.size < 100")"
else
	skip "Perfetto is content" "its importer is not there"
fi

# ---- invalid files ----

refused() { # DESCRIPTION FILE WORDS
	check_run "$1: refused" 2 "$TRACELET" fold "$2" -o refused.folded
	check_lines "$1: in one line" 1 "$stderr"
	check_match "$1: which says why" "$3" "$stderr"
	check_not "$1: nothing is left" test -e refused.folded
}
head -c 700 rust.json >cut.json
refused "cut off" cut.json 'truncated'
sed 's/"dhatFileVersion": 2/"dhatFileVersion": 1/' rust.json >old.json
refused "of another version" old.json 'version 1; tracelet reads version 2'
sed 's/"fs": \[4, 3\]/"fs": [4, 5]/' rust.json >frame.json
refused "a frame that is not there" frame.json 'a frame that does not exist'
sed 's/"tbk": 10/"tbk": -10/' rust.json >negative.json
refused "less than nothing" negative.json 'a place is malformed'
python3 -c 'print("{\"dhatFileVersion\":2,\"x\":" + "[" * 100000)' >deep.json
refused "nested without end" deep.json 'damaged'
echo '{"dhatFileVersion":2}' >bare.json
refused "without content" bare.json 'no places'
for size in $(seq 1 97 $(($(wc -c <rust.json) - 4))); do
	head -c "$size" rust.json >piece.json
	timeout 20 "$TRACELET" info piece.json >/dev/null 2>&1
	[ $? = 2 ] || echo "$size" >>survived
done
check_not "no piece of it is taken for the whole" test -e survived

# ---- large ones ----

python3 - <<'END'
import json
frames = ["[root]"] + [f"0x{i:X}: function_{i % 5000} (file.c:{i})" for i in range(1, 20001)]
places = [{"tb": 16, "tbk": 1, "tl": 1, "mb": 16, "mbk": 1, "gb": 16, "gbk": 1, "eb": 0, "ebk": 0,
	"fs": [1 + (i * k) % 20000 for k in range(1, 16)]} for i in range(20000)]
json.dump({"dhatFileVersion": 2, "mode": "heap", "verb": "Allocated", "bklt": True, "bkacc": False, "tu": "instrs",
	"Mtu": "Minstr", "tuth": 1, "cmd": "large", "pid": 5, "te": 1, "tg": 1, "pps": places, "ftbl": frames}, open("large.json", "w"))
END
check_equal "20000 places" 320000 "$("$TRACELET" fold large.json | awk '{ sum += $NF } END { print sum }')"

# ---- compared with Valgrind ----

heap=$TRACELET_HELPERS/heap
if command -v valgrind >/dev/null && [ -z "${ASAN_OPTIONS-}" ]; then
	for way in plain resized peaks; do
		run valgrind --tool=dhat --dhat-out-file=valgrind.json "$heap" $way
		theirs=$(sed -En 's/.*(Total|At t-gmax|At t-end): *([0-9,]*) bytes in ([0-9,]*) blocks.*/\2 \3/p' "$stderr" | tr -d , | paste -sd ' ')
		ours=$(for metric in allocated blocks peak peak-blocks leaked leaked-blocks; do
			"$TRACELET" fold --metric $metric valgrind.json | awk '{ sum += $NF } END { print sum + 0 }'
		done | paste -sd ' ')
		check_equal "valgrind's sums: $way" "$theirs" "$ours"
	done
	check_equal "its own functions are not shown" 0 "$("$TRACELET" fold valgrind.json | grep -c malloc)"
	check_match "what was read and written" '^accesses   [0-9]+ bytes read, [0-9]+ written$' <("$TRACELET" info valgrind.json)
	if [ "$(uname -m)" = x86_64 ]; then
		"$TRACELET" run --quiet --heap -- "$heap" peaks
		mv tracelet-out/*.dhat.json ours.json
		run "$TRACELET" diff valgrind.json ours.json
		check_match "ours of the same program: no change" 'bytes allocated in total before, [0-9]+ after; \+0$' "$stdout"
		check_match "function by function" ' ([0-9]+) +\1 +\+0 +([0-9]+) +\2 +\+0  give$' "$stdout"
	fi
else
	skip "valgrind's sums" "there is no valgrind"
fi
done_testing
