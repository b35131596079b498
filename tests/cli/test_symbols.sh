# Names, lines and positions of functions, from files with much and with little information: the
# recording is generated, for a program that is compiled here.
. "$(dirname "$0")/lib.sh"
need_command gcc
need_command python3
need_command jq
tp=$source/tests/perfetto/tp

cat >prog.cc <<'END'
volatile int sum;
static inline __attribute__((always_inline)) int helper(int a) {
	asm volatile("mark_helper: nop");
	return a + 1;
}
struct Adder { int operator()(int a) const; };
__attribute__((noinline)) int Adder::operator()(int a) const {
	sum += a;
	return helper(a) + sum;
}
__attribute__((noinline)) static int plain(int a) {
	asm volatile("mark_plain: nop");
	return Adder()(a) + 2;
}
int main(int argc, char **argv) { return plain(argc); }
END
g++ -O2 -g -no-pie -fno-optimize-sibling-calls -o prog prog.cc || { skip "names" "no C++ compiler"; done_testing; }

# address NAME [OFFSET]
address() {
	printf '%x' $((0x$(nm prog | awk -v name="$1" '$3 == name { print $1 }') + ${2:-0}))
}
begin=$(readelf -lW prog | awk '$1 == "LOAD" { print substr($3, 3); exit }')
chain=$(address mark_helper),$(address mark_plain 1),$(address main 1)
python3 "$source/tests/cli/perf_data.py" "$PWD/prog" "$begin" "$chain" >whole.data

check_equal "operator() is a name, and what is inlined in it one more" \
	'a;main;plain;Adder::operator();helper_[i] 1000' "$("$TRACELET" fold whole.data)"
check_equal "without what is inlined" 'a;main;plain;Adder::operator() 1000' "$("$TRACELET" fold --no-inline whole.data)"
check_equal "inlined functions are the default" "$("$TRACELET" fold whole.data)" "$("$TRACELET" fold --inline whole.data)"
lined='a;main:prog.cc:15;plain:prog.cc:11;Adder::operator():prog.cc:7;helper:prog.cc:2_[i] 1000'
check_equal "lines of declarations" "$lined" "$("$TRACELET" fold --srcline whole.data)"
check_equal "lines of the code" 'a;main:prog.cc:15;plain:prog.cc:12;Adder::operator():prog.cc:9;helper:prog.cc:3_[i] 1000' \
	"$("$TRACELET" fold --context whole.data)"
check_equal "none are looked for without debug information" 'a;main;plain;Adder::operator() 1000' \
	"$("$TRACELET" fold --no-inline --srcline whole.data)"
"$TRACELET" top --srcline whole.data >top
check_match "top shows them" "helper_\[i\] \($PWD/prog\) at $PWD/prog.cc:2\$" top
"$TRACELET" top whole.data >top
check_match "if it is asked to" "helper_\[i\] \($PWD/prog\)\$" top
check_equal "and as JSON" "$PWD/prog.cc 11" \
	"$("$TRACELET" top --json whole.data | jq -r '.functions[] | select(.name == "plain") | "\(.file) \(.line)"')"
"$TRACELET" top --function plain --srcline whole.data >top
check_match "a function is asked for by its bare name" 'Adder::operator\(\)$' top
"$TRACELET" flame whole.data -o out.svg
check_match "in a picture without scripts" "<title>plain \(.*\) — $PWD/prog.cc:11</title>" out.svg
check_match "and for its script" '"sources":{"[^}]*prog.cc:11"' out.svg
"$TRACELET" flame --reverse whole.data -o reversed.svg
check_match "turned round" "<title>plain \(.*\) — $PWD/prog.cc:11</title>" reversed.svg
"$TRACELET" convert whole.data out.speedscope.json
check_equal "speedscope" "$PWD/prog.cc 7" \
	"$(jq -r '.shared.frames[] | select(.name == "Adder::operator()") | "\(.file) \(.line)"' out.speedscope.json)"
"$TRACELET" convert whole.data out.gecko.json
check_equal "Firefox Profiler" "$PWD/prog.cc 7" "$(jq -r '.shared as $s | range($s.funcTable.length)
	| select($s.stringArray[$s.funcTable.name[.]] == "Adder::operator()")
	| "\($s.stringArray[$s.sources.filename[$s.funcTable.source[.]]]) \($s.funcTable.lineNumber[.])"' out.gecko.json)"
"$TRACELET" convert whole.data out.pprof
if command -v go >/dev/null && go tool pprof -raw out.pprof >raw 2>/dev/null; then
	check_match "pprof: a place with its address and line, and the line where its function begins" \
		"0x$(address mark_plain 1) M=1 plain $PWD/prog.cc:12 s=11" raw
	check_match "what is inlined is in the same place" "0x$(address mark_helper) M=1 helper $PWD/prog.cc:3 s=2" raw
	check_match "with the line of the call" "^ +Adder::operator $PWD/prog.cc:9 s=7\(Adder::operator\(\)\)" raw
	check_match "and the period" "^Period: 1000" raw
else
	skip "pprof" "there is no go tool pprof"
fi
check_run "a trace" 0 "$TRACELET" convert whole.data out.pb
check_equal "which shows them again" "$lined" "$("$TRACELET" fold --srcline out.pb)"
check_equal "and operator()" "$("$TRACELET" fold whole.data)" "$("$TRACELET" fold out.pb)"
if found=$("$tp" out.pb "select s.name, s.line_number from stack_profile_symbol s where s.source_file like '%/prog.cc' order by 1"); then
	check_equal "to Perfetto too" 'Adder::operator()|7
helper|2
main|15
plain|11' "$found"
else
	skip "to Perfetto too" "its importer is not here"
fi

# ---- files with less information ----

cp prog kept
objcopy --only-keep-debug prog prog.debug
strip prog
objcopy --add-gnu-debuglink=prog.debug prog
check_equal "a debug file beside it" "$lined" "$("$TRACELET" fold --srcline whole.data)"
rm prog.debug
check_equal "a stripped file is one name" 'a;[prog];[prog];[prog] 1000' "$("$TRACELET" fold whole.data)"
offset() {
	printf '[prog+0x%x]' 0x"$(nm kept | awk -v name="$1" '$3 == name { print $1 }')"
}
places="a;$(offset main);$(offset _ZL5plaini);$(offset _ZNK5AdderclEi)"
check_equal "its functions are known by where they begin" "$places 1000" "$("$TRACELET" fold --addrs whole.data)"
"$TRACELET" top whole.data >top
check_match "in top" "$(offset _ZNK5AdderclEi | sed 's/[][+]/\\&/g') " top
"$TRACELET" flame whole.data -o out.svg
check_match "in a picture" "<title>$(offset _ZNK5AdderclEi | sed 's/[][+]/\\&/g') " out.svg
check_run "in a trace" 0 "$TRACELET" convert whole.data stripped.pb
check_equal "which shows it again" "$places 1000" "$("$TRACELET" fold --addrs stripped.pb)"
check_equal "if it is asked to" 'a;[prog];[prog];[prog] 1000' "$("$TRACELET" fold stripped.pb)"
if found=$("$tp" stripped.pb "select f.name from stack_profile_frame f where f.rel_pc = $((0x$(nm kept | awk '$3 == "main" { print $1 }')))"); then
	check_equal "to Perfetto too" "$(offset main)" "$found"
else
	skip "to Perfetto too" "its importer is not here"
fi
rm prog
check_equal "without the file there is an address" "a;[prog <$(nm kept | awk '$3 == "main" { sub("^0*", "", $1); print $1 }')>] 1000" \
	"$(python3 "$source/tests/cli/perf_data.py" "$PWD/prog" "$begin" "$(nm kept | awk '$3 == "main" { print $1 }')" | "$TRACELET" fold --addrs)"
done_testing
