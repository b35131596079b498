#!/usr/bin/env bash
# Heap profiles, exact and sampled: how much slower and larger a program gets, compared with
# heaptrack and, once, valgrind's DHAT in the same run. Measures the CPU time of the program
# alone, also under the tracer without a profile, to see the cost of the library; and the wall
# time of everything that makes the profile.
#
# Sampling costs less than the noise of the machine, so its floor uses the minimum times; the medians are
# printed, too. Part of the cost is that of any library in front of malloc and free: for comparison, the cost
# of one that only forwards them is printed.
#
# The limit of sampling, measured on two CPUs at a load of 40 (minimum of 9; on a quiet machine, with another CPU, `allocate`
# was 1.055 times as slow, the forwarding library 1.04, sqlite 1.054): `allocate` makes 5 million pairs of malloc and
# free in 110 ms, 22 ns each. Forwarding both adds 0.65 ns to a pair (1.03 times as slow), our twelve instructions 1.1 ns
# (1.05; by medians 1.03). The library's start takes 0.2 ms, a five-hundredth of the program. So a program that does nothing
# else can reach 1.03 only if counting costs nothing; one that also uses its memory stays below it.
#
# `heap.sh PROGRAM...` measures only these programs: allocate, python, sqlite.
. "$(dirname "$0")/lib.sh"

cat >allocate.c <<-'END'
	#include <stdio.h>
	#include <stdlib.h>
	#include <string.h>

	__attribute__((noinline)) static void *make(size_t size) {
		char *block = malloc(size);
		block[0] = 1;
		return block;
	}

	int main(void) {
		void *blocks[64] = {0};
		for (size_t i = 0; i < 5000000; i++) {
			free(blocks[i % 64]);
			blocks[i % 64] = make(16 + i % 500);
		}
		FILE *status = fopen("/proc/self/status", "r");
		char line[256];
		while (status && fgets(line, sizeof(line), status))
			if (strncmp(line, "VmHWM:", 6) == 0)
				printf("%ld\n", atol(line + 6));
		return 0;
	}
END
gcc -O2 -o allocate allocate.c

# The cost of being in front of the allocator and doing nothing.
cat >between.c <<-'END'
	#include <dlfcn.h>
	#include <stddef.h>

	static void *(*next_malloc)(size_t size);
	static void (*next_free)(void *block);

	__attribute__((constructor)) static void find(void) {
		*(void **)&next_malloc = dlsym(RTLD_NEXT, "malloc");
		*(void **)&next_free = dlsym(RTLD_NEXT, "free");
	}

	void *malloc(size_t size) {
		if (!next_malloc)
			find();
		return next_malloc(size);
	}

	void free(void *block) {
		if (!next_free)
			find();
		next_free(block);
	}
END
gcc -O2 -fno-builtin -fPIC -shared -o between.so between.c

cat >load.py <<-'END'
	import json
	rows = [{"number": i, "names": [str(i)] * 3} for i in range(60000)]
	assert len(json.loads(json.dumps(rows))) == len(rows)
	print([line.split()[1] for line in open("/proc/self/status") if line.startswith("VmHWM:")][0])
END

cat >load.sql <<-'END'
	create table numbers (id integer primary key, name text);
	with recursive count(n) as (select 1 union all select n + 1 from count where n < 300000)
	insert into numbers select n, 'name ' || n from count;
	create index names on numbers (name);
	select count(*), sum(length(name)) from numbers where name like '%7%';
	select substr(name, 6, 2) as head, group_concat(id) from numbers group by head;
END

programs=("allocate=./allocate")
# Not a version manager's shim: the shim would be measured.
python=$(python3 -c 'import sys; print(sys.executable)' 2>/dev/null || true)
[ -z "$python" ] || programs+=("python=$python load.py")
[ -z "$(command -v sqlite3)" ] || programs+=("sqlite=sqlite3 :memory: '.read load.sql'")

wanted=" ${*:-allocate python sqlite} "
commands=()
for program in "${programs[@]}"; do
	name=${program%%=*} command=${program#*=}
	[[ $wanted == *" $name "* ]] || continue
	commands+=("$name=$command")
	commands+=("$name.heap=$TRACELET run --heap --quiet --output-dir out.$name -- $command")
	commands+=("$name.sample=$TRACELET run --heap-sample 512K --quiet --output-dir out.$name.sample -- $command")
	commands+=("$name.traced=$TRACELET run --quiet --output-dir out.$name.traced -- $command")
	[ -z "$(command -v heaptrack)" ] || commands+=("$name.heaptrack=heaptrack -o track $command")
done
[[ $wanted != *" allocate "* ]] || commands+=("allocate.between=env LD_PRELOAD=$PWD/between.so ./allocate")
table=$("$bench/measure.py" "$ROUNDS" "${commands[@]}")
echo "medians of $ROUNDS: wall s, CPU s (all processes)"
cut -d' ' -f1-3 <<<"$table" | sed 's/^/  /'
if command -v valgrind >/dev/null && [[ $wanted == *" allocate "* ]]; then
	begin=$(date +%s.%N)
	valgrind -q --tool=dhat --dhat-out-file=/dev/null ./allocate >/dev/null 2>&1
	echo "  allocate, valgrind's DHAT, once: $(calculate "$(date +%s.%N) - $begin") s"
fi

# of_test PROGRAM FIELD: the median of the manifest's value for the test alone.
of_test() {
	jq -s "map(.$2) | sort | .[length / 2 | floor]" "out.$1/manifest.jsonl"
}

least_of_test() {
	jq -s "map(.$2) | min" "out.$1/manifest.jsonl"
}

floor_of() { # PROGRAM TIMES
	[ -n "$(column "$1" 3)" ] || return 0
	floor "$1, times as slow" "$(calculate "$(of_test "$1" cpu_seconds) / $(column "$1" 3)")" "<=" "$2"
	floor "$1, times as slow with samples" \
		"$(calculate "$(least_of_test "$1.sample" cpu_seconds) / $(least_of_test "$1.traced" cpu_seconds)")" "<=" 1.03
	echo "      by medians: $(calculate "$(of_test "$1.sample" cpu_seconds) / $(of_test "$1.traced" cpu_seconds)")"
	floor "$1, seconds before the test and from its end to its profile" \
		"$(calculate "$(column "$1.heap" 2) - $(of_test "$1" wall_seconds)")" "<=" 0.5
	local peer
	peer=$(column "$1.heaptrack" 2)
	[ -z "$peer" ] || echo "      heaptrack: $(calculate "$peer / $(column "$1" 2)") times as slow"
}

floor_of allocate 5
[[ $wanted != *" allocate "* ]] ||
	echo "      a library that only forwards malloc and free: $(calculate "$(column allocate.between 3) / $(column allocate 3)") times as slow"
floor_of sqlite 1.3
floor_of python 1.6
# The largest size of the program itself, in kB.
more() { # COMMAND...
	plain=$("$@") with=$("$TRACELET" run --heap --quiet --output-dir out -- "$@" 2>/dev/null)
}
if [[ $wanted == *" allocate "* ]]; then
	more ./allocate
	floor "MB of memory added, allocate" "$(calculate "($with - $plain) / 1024")" "<=" 30
fi
if [[ -n $python && $wanted == *" python "* ]]; then
	more "$python" load.py
	floor "times the memory, python" "$(calculate "$with / $plain")" "<=" 1.25
fi
finish
