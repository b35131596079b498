# Heap profiles of programs other than C with glibc's allocator: C++ with other allocators' operators,
# musl, sanitizers, and programs that exec others.
. "$(dirname "$0")/lib.sh"
. "$source/tests/cli/heap.sh"
! is_sanitized || skip_all "other allocators cannot be loaded into a sanitized tracelet"

# ---- C++ ----

operators() { # NAME ARGUMENT [LIBRARY]
	if [ -n "${3-}" ] && [ ! -e "$3" ]; then
		skip "operators of $1" "it is not here"
		return
	fi
	LD_PRELOAD=${3-} profile ./operators $2
	check_equal "operators of $1: the program runs" 0 "$status"
	check_equal "operators of $1: each block, where it was wanted" "700 28000 0" "$(sums operators tbk tb eb)"
	check_equal "operators of $1: what is left" "1 40 1 40" "$(sums leaking tbk tb ebk eb)"
	[ -n "$2" ] || check_match "operators of $1: exceptions pass" thrown "$stdout"
	check_not "operators of $1: without a warning" grep -q warning: "$stderr"
}
if command -v g++ >/dev/null; then
	g++ -std=c++17 -O1 -g -o operators "$source/tests/cli/helpers/heap_operators.cc"
	operators libstdc++ ""
	operators jemalloc "" /usr/lib/x86_64-linux-gnu/libjemalloc.so.2
	operators tcmalloc "" /usr/lib/x86_64-linux-gnu/libtcmalloc_minimal.so.4
	operators mimalloc no-exceptions /usr/lib/x86_64-linux-gnu/libmimalloc.so.2.0
	g++ -std=c++17 -O1 -g -shared -fPIC -o libplugin.so -xc++ - <<-'END'
		static int *volatile number;
		extern "C" int plugin() { number = new int(3); int got = *number; delete number; return got; }
	END
	gcc -g -o loader -xc - <<-'END'
		#include <dlfcn.h>
		#include <unistd.h>
		int main(void) {
			for (int i = 0; i < 3; i++) {
				void *library = dlopen("./libplugin.so", RTLD_NOW | RTLD_LOCAL);
				int (*plugin)(void) = (int (*)(void))dlsym(library, "plugin");
				if (plugin() != 3)
					return 1;
				dlclose(library);
			}
			return chdir("/");
		}
	END
	profile ./loader
	check_equal "C that loads a library of C++" 0 "$status"
	check_equal "which is counted, and found where it was" "3 12 0" "$(sums plugin tbk tb eb)"
else
	skip "operators of C++" "there is no g++"
fi

# ---- another C library ----

if command -v musl-gcc >/dev/null; then
	musl-gcc -O1 -g -fno-omit-frame-pointer -DHEAP_STATIC -D_GNU_SOURCE -o of_musl "$source/tests/cli/helpers/heap.c" 2>/dev/null
	options=--heap-children
	profile ./of_musl plain resized all-ways threads forks
	cp "$(ls tracelet-out/*.dhat.json | grep -v '\.[0-9]*\.dhat')" profile.json
	check_equal "musl: the program runs" 0 "$status"
	check_equal "every block is counted" "1000 10000 0" "$(sums plain tbk tb eb)"
	check_equal "resized" "3 24036 12" "$(sums give tbk tb eb | awk '{ print $1 - 1000 - 1 - 40000 - 5, $2 - 10000 - 77 - 1920000 - 500, $3 }')"
	check_equal "all ways" "8 723 0" "$(sums all_ways tbk tb eb)"
	check_equal "threads" "40000 1920000 0" "$(sums in_thread tbk tb eb)"
	check_equal "children that were forked" 5 "$(ls tracelet-out/*.[0-9]*.dhat.json | wc -l)"
	options=--heap
else
	skip "musl" "there is no musl-gcc"
fi

# ---- allocators inside programs ----

cat >own.c <<'END'
#include <stddef.h>
static char memory[1 << 16];
static size_t used;
void *malloc(size_t size) { used += (size + 15) / 16 * 16; return memory + used - (size + 15) / 16 * 16; }
void free(void *block) { (void)block; }
void *volatile kept;
int main(void) { kept = malloc(5); return 0; }
END
gcc -O1 -fno-builtin -rdynamic -o own own.c
profile ./own
check_equal "a program with a malloc() of its own runs" 0 "$status"
check_match "the consequence is reported" 'heap profile is empty: the program has its own allocator \(its own malloc\(\)\)' "$stderr"
if printf 'int main(void) { return 0; }\n' | clang -fsanitize=address -o sanitized -xc - 2>/dev/null; then
	profile ./sanitized
	check_match "of a sanitizer's, too" 'has its own allocator \(a sanitizer' "$stderr"
else
	skip "of a sanitizer's, too" "there is no clang with sanitizers"
fi

# ---- exec ----

gcc -g -o becomes -xc - <<'END'
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
static void *volatile kept;
int main(int argc, char **argv) {
	const char *way = argv[1], *path = argv[2];
	char *words[] = {"heap", "plain", NULL}, *none[] = {NULL};
	kept = malloc(77);
	execl("/no/such/program", "it", "fails", NULL);
	if (strcmp(way, "execl") == 0) execl(path, "heap", "plain", NULL);
	if (strcmp(way, "execlp") == 0) execlp(path, "heap", "plain", NULL);
	if (strcmp(way, "execle") == 0) execle(path, "heap", "plain", NULL, environ);
	if (strcmp(way, "execv") == 0) execv(path, words);
	if (strcmp(way, "execvp") == 0) execvp(path, words);
	if (strcmp(way, "execve") == 0) execve(path, words, environ);
	if (strcmp(way, "fexecve") == 0) fexecve(open(path, O_RDONLY), words, environ);
	if (strcmp(way, "without") == 0) execvpe(path, words, none);
	if (strcmp(way, "vfork") == 0 && vfork() == 0) { execve(path, words, none); _exit(9); }
	return 5;
}
END
for way in execl execlp execle execv execvp execve fexecve; do
	profile ./becomes $way "$heap"
	check_equal "$way: the new program is counted" "0 1000 10000" "$status $(sums plain)"
done
options=--fail-on-leak
profile ./becomes without "$heap"
check_equal "without our environment: what was before is no leak of it" 0 "$status"
check_match "the missing counts are reported" 'no heap profile: ./becomes exec.d a program that did not load' "$stderr"
check_not "there is no profile of the replaced program" test -e profile.json
options=--heap
profile ./becomes execv "$TRACELET_HELPERS/heap_static"
check_match "nor of one that exec'd a static program" 'no heap profile: ./becomes exec.d a program that did not load' "$stderr"
profile ./becomes vfork "$heap"
check_equal "a child of vfork() that leaves changes nothing" "5 1 77" "$status $(sums main)"
done_testing
