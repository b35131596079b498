# One program, seen in four ways: samples, a heap profile, a crash and a hang name its functions and lines
# identically. It has an inlined function, a C++ name, a function without debug information and one without a name.
. "$(dirname "$0")/lib.sh"
. "$source/tests/cli/helpers/words.sh"
need_bpf
need_command g++ objcopy python3
[ "$(uname -m)" = x86_64 ] || skip_all "heap profiles are for x86-64 only"

cat >bare.c <<'END'
#include <stdlib.h>
#include <unistd.h>
static void nameless(char how);
void bare(char how);
void bare(char how) {
	nameless(how);
	__asm__ volatile("");
}
__attribute__((noinline, noclone)) static void nameless(char how) {
	if (how == 's')
		for (volatile unsigned i = 0; i < 500000000; i++);
	if (how == 'h')
		*(volatile char *)malloc(12345) = 1;
	if (how == 'c')
		abort();
	for (; how == 't';)
		pause();
	__asm__ volatile("");
}
END
# One function per line: then the line of the declaration, which samples show, is also the line that runs.
cat >prog.cc <<'END'
extern "C" void bare(char how);
struct Shelf { template <class T> __attribute__((noinline)) void put(T how); };
static inline __attribute__((always_inline)) void step(char how) { bare(how); asm volatile(""); }
template <class T> void Shelf::put(T how) { step(how); asm volatile(""); }
int main(int, char **words) { Shelf().put(*words[1]); return 0; }
END
flags='-O2 -fno-optimize-sibling-calls'
# shellcheck disable=SC2086 # several words
gcc $flags -fno-toplevel-reorder -fno-reorder-blocks-and-partition -c bare.c && objcopy --strip-symbol=nameless bare.o && g++ $flags -g -o prog prog.cc bare.o ||
	skip_all "no C++ compiler"

# Each prints the functions from the unnamed one to main(), with their lines if known.

of_samples() {
	"$TRACELET" fold --addrs --srcline "$1" 2>/dev/null | grep -o ';main:.*;bare;\[prog+0x[0-9a-f]*\]' | sort -u |
		tr ';' '\n' | sed '1d; s/_\[i\]$//; s/\(.*[^:]\):\([^:]*:[0-9]*\)$/\1 \2/' | tac
}

of_heap() {
	python3 - "$1" <<-'END'
		import json, re, sys
		profile = json.load(open(sys.argv[1]))
		stack, = (p["fs"] for p in profile["pps"] if p["tb"] == 12345)
		for frame in stack:
		    name = re.sub(r"^0x[0-9A-F]+: | \(in .*\)$", "", profile["ftbl"][frame])
		    print(re.sub(r" \(([^ ]*:\d+)\)$", r" \1", name))
		    if name.startswith("main "):
		        break
	END
}

# of_stack FILE: parses lines from tracelet-stacks.
of_stack() {
	sed -n 's/^ *#[0-9]* *0x[0-9a-f]* //p' "$1" | sed -n '/^\[prog/,/^main/p' |
		sed 's/\(+0x[0-9a-f]*\| (inlined)\)  [^ ]*+0x[0-9a-f]*/\1/; s/+0x[0-9a-f]*\(  \|$\)/\1/; s/ (inlined)//; s/  .*\// /'
}

run "$TRACELET" run --name sampled --sample -- ./prog s
of_samples "$(the_trace sampled)" >sampled
run "$TRACELET" run --name counted --heap -- ./prog h
of_heap tracelet-out/counted*.dhat.json >counted
run "$TRACELET" run --name crashed --json crash.json -- ./prog c
jq -r '.crashes[0].stack[]' crash.json >crash.txt
of_stack crash.txt >crashed
run "$TRACELET" run --name hung --timeout 1s -- ./prog t
of_stack tracelet-out/hung*.stacks.txt >hung

nameless=$(objdump -d prog | awk '/<bare>:/ { bare = 1 } bare && /call/ { print "0x" $(NF - 1); exit }')
cat >expected <<END
[prog+$nameless]
bare
step prog.cc:3
Shelf::put<char> prog.cc:4
main prog.cc:5
END
for way in counted crashed hung sampled; do
	check_equal "$way" "$(cat expected)" "$(cat $way)"
done
check_match "a crash says what was inlined" ' step \(inlined\)  .*/prog\+0x[0-9a-f]+  .*/prog\.cc:3$' crash.txt
check_match "and so does a hang" ' step \(inlined\)  .*/prog\+0x[0-9a-f]+  .*/prog\.cc:3$' tracelet-out/hung*.stacks.txt
check_equal "a heap profile folds to the same names" "$(cut -d ' ' -f 1 expected | sort)" \
	"$("$TRACELET" fold --addrs tracelet-out/counted*.dhat.json | grep -o ';main;.*;\[prog[^;]*\]' | sort -u | tr ';' '\n' | sed 1d | cut -d ' ' -f 1 | sort)"
for way in "$(the_trace sampled)" tracelet-out/counted*.dhat.json; do
	check_match "without addresses the one without a name is its module: ${way##*.}" ';bare;\[prog\][; ]' \
		<("$TRACELET" fold "$way" 2>/dev/null)
done

# ---- JIT-compiled code ----

cat >compiler.c <<'END'
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
int main(void) {
	void *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	char path[64];
	snprintf(path, sizeof(path), "/tmp/perf-%d.map", (int)getpid());
	FILE *map = fopen(path, "w");
	fprintf(map, "%lx 10 made_at_run_time\n", (unsigned long)page);
	fclose(map);
	puts(path);
	fflush(stdout);
	memcpy(page, "\x90\xeb\xfd", 3); // nop, and back to it
	((void (*)(void))page)();
}
END
gcc -o compiler compiler.c
run "$TRACELET" run --name looped --sample --timeout 1s -- ./compiler
map=$(cat "$stdout")
check_match "samples name it" ';made_at_run_time ' <("$TRACELET" fold "$(the_trace looped)" 2>/dev/null)
check_match "and so does a hang" " made_at_run_time\+0x[0-9a-f]+  $map\+0x" tracelet-out/looped*.stacks.txt
rm -f "$map"

done_testing
