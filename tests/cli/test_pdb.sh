#!/usr/bin/env bash
# Names of Windows programs: built here with clang and lld, sampled in an ETL file made by hand, and named
# as LLVM's own symbolizer names them.
. "$(dirname "$0")/lib.sh"
need_command clang lld-link llvm-symbolizer llvm-pdbutil llvm-readobj
tools=$(dirname "$TRACELET")/tests/etl

cat >app.cpp <<'END'
namespace geo {
struct Shape {
  int sides;
  Shape(int n) : sides(n) {}
  __declspec(noinline) int area(int k);
  int twice(int x) { return x * 2 + sides; }
};
static inline int helper(int a) {
  volatile int b = a + 3;
  return b * b;
}
__declspec(noinline) int Shape::area(int k) {
  int sum = 0;
  for (int i = 0; i < k; i++)
    sum += helper(i) + twice(i);
  return sum;
}
namespace {
__declspec(noinline) int hidden(int x) { volatile int y = x; return y * 7 + helper(y); }
}
template <class T> __declspec(noinline) T biggest(T a, T b) { volatile T c = a; return c > b ? c : b; }
}
extern "C" __declspec(dllexport) __declspec(noinline) int exported(int x) {
  geo::Shape shape(x);
  return shape.area(x) + geo::hidden(x) + geo::biggest<int>(x, 5);
}
extern "C" int second(int);
extern "C" int start(void) { return exported(41) + second(4); }
END
cat >second.c <<'END'
static __attribute__((noinline)) int local(int x) { volatile int y = x; return y + 1; }
int second(int x) {
  return local(x) + local(x + 1);
}
END
target=--target=x86_64-pc-windows-msvc
clang $target -O2 -g -gcodeview -c app.cpp -o app.obj && clang $target -O1 -g -gcodeview -c second.c -o second.obj &&
	lld-link /nodefaultlib /entry:start /subsystem:console /debug /pdb:app.pdb /out:app.exe app.obj second.obj
check "there are a program and its PDB file" test -s app.exe -a -s app.pdb

guid=$(llvm-pdbutil dump --summary app.pdb | sed -n 's/.*GUID: {\(.*\)}/\1/p')
key=$(echo "${guid//-/}1")
time=$(llvm-readobj --file-headers app.exe | sed -n 's/.*TimeDateStamp:.*(\(0x.*\))/\1/p')
size=$(llvm-readobj --file-headers app.exe | sed -n 's/.*SizeOfImage: //p')
code_size=$(llvm-readobj --sections app.exe | sed -n '/Name: .text/,/VirtualAddress/s/.*VirtualSize: //p')

# ---- every address of the program, against LLVM's symbolizer ----

for ((i = 0; i < code_size; i++)); do printf '0x%x\n' $((0x1000 + i)); done >addresses
"$tools/pdb_names" app.pdb <addresses >ours
llvm-symbolizer --obj=app.exe --functions=short --relative-address <addresses | sed 's/:[0-9]*$//' >theirs
# Paragraphs as lines. Between functions it has a function without a name.
paragraphs() {
	awk '{ line = $0 == "" && !begun ? "??" : $0 }
		line == "" { print text; text = ""; begun = 0; next }
		{ text = text (begun ? " | " : "") line; begun = 1 }' "$1"
}
paragraphs ours >ours.lines
paragraphs theirs >theirs.lines
names() { sed 's/ | [^|]*:[0-9]* | / | /g; s/ | [^|]*:[0-9]*$//' "$1"; }
check_equal "each address has an answer" "$(wc -l <addresses)" "$(wc -l <ours.lines)"
check "there are inlined functions among them" grep -q 'geo::helper' ours.lines
check_equal "all functions have the names that LLVM gives them" "$(names theirs.lines)" "$(names ours.lines)"
check_equal "and so have all lines, without inlined functions" "$(grep -v ' | .* | ' theirs.lines)" "$(grep -v ' | .* | ' ours.lines)"
# Inside a row of an inlined function LLVM 14 gives the line of the next row; at its begin they agree.
begins() { paste ours.lines theirs.lines -d '\t' | awk -F'\t' -v side="$1" '$1 != before { print $side } { before = $1 }'; }
check_equal "where a line begins, also with them" "$(begins 2)" "$(begins 1)"
check_not "another file is not one" "$tools/pdb_names" app.exe </dev/null

# ---- a trace ----

sample() { "$tools/make_samples" app.etl 'C:\work\app.exe' 'D:\build\app.pdb' "${1:-$guid}" 1 "${2:-$time}" "$size" <samples; }
address() { grep -n "$1" ours.lines | sed -n "${2:-1}p" | cut -d: -f1 | xargs -I{} sed -n '{}p' addresses | cut -c3-; }
exported=$(address '^exported |' 30)
{
	echo "$(address 'geo::helper' 3) $exported $(address '^start ' 5)"
	address "^second "
	address "hidden" 3
} >samples
sample
fold() { "$TRACELET" fold app.etl "$@"; }
# (fold leaves out quotes)
named='app.exe;geo::`anonymous namespace::hidden 1000000
app.exe;second 1000000
app.exe;start;exported;geo::Shape::area;geo::helper_[i] 1000000'
mkdir -p plain store/app.pdb/"$key" small/app.pdb/"${key,,}" large/ap/app.pdb/"$key" library
for folder in plain store/app.pdb/"$key" small/app.pdb/"${key,,}" large/ap/app.pdb/"$key"; do cp app.pdb "$folder"; done
cp app.exe library
check_equal "without symbols a module is one function" 'app.exe;app.exe!? 2000000
app.exe;app.exe!?;app.exe!?;app.exe!? 1000000' "$(fold)"
# The caller's address is that after the call.
got=$(fold --symbol-path plain)
check_equal "a folder with the PDB file" "$named" "$got"
for folder in store small large; do
	check_equal "a symbol server's folder: $folder" "$named" "$(fold --symbol-path "nowhere;$folder")"
done
check_equal "_NT_SYMBOL_PATH, of which nothing is downloaded" "$named" \
	"$(_NT_SYMBOL_PATH="srv*$PWD/store*https://127.0.0.1:9/symbols" fold)"
check_equal "the program itself has the names that it exports" 'app.exe;app.exe!? 2000000
app.exe;app.exe!?;exported;app.exe!? 1000000' "$(fold --symbol-path library)"
cp app.pdb library
check_equal "the PDB file comes first" "$named" "$(fold --symbol-path library)"
sample -
check_equal "the program says which PDB file it has" "$named" "$(fold --symbol-path library)"
check_equal "without it, nobody knows whether the file fits" 'app.exe;app.exe!? 2000000' "$(fold --symbol-path plain | head -1)"
sample - 0x12345678
check_equal "a program of another build is not used" 'app.exe;app.exe!? 2000000' "$(fold --symbol-path library | head -1)"
sample 00000000-1111-2222-3333-444444444444 0x12345678
check_equal "nor is another PDB file" 'app.exe;app.exe!? 2000000' "$(fold --symbol-path library | head -1)"
sample

# ---- hostile files ----

mkdir hostile
head -c 5000 app.pdb >hostile/app.pdb
check_run "a truncated PDB file" 0 "$TRACELET" fold app.etl --symbol-path hostile
check_equal "has no names" 'app.exe;app.exe!? 2000000' "$(head -1 "$stdout")"
rm hostile/app.pdb
mkfifo hostile/app.pdb
check_run "a pipe is not opened" 0 timeout 60 "$TRACELET" fold app.etl --symbol-path hostile
"$tools/make_samples" app.etl '..\..\app.exe' '../../plain/app.pdb' "$guid" 1 "$time" "$size" <samples
mkdir deep
check_equal "a name in a trace leads out of no folder" 'app.exe;app.exe!? 2000000' "$(fold --symbol-path deep | head -1)"

done_testing
