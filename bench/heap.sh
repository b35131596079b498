#!/usr/bin/env bash
# Heap profiles, exact and of samples: how much slower a program gets, and how much larger;
# in the same run heaptrack, and valgrind's DHAT once. CPU time of the program alone, also
# with the tracer but without a profile: what is measured is the library; and the wall time
# of all that makes the profile.
#
# What samples cost is less than what others do to a machine, so their floor is about the least times; what the
# medians say is printed, too. Any library that stands before malloc and free takes some of that: what one
# takes that only passes them on is printed for comparison.
#
# `heap.sh PROGRAM...` measures only these: allocate, python, sqlite.
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

# What it costs to stand before the allocator and do nothing there.
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
# Not a shim of a version manager: it would be what is measured.
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
echo "medians of $ROUNDS: wall s, CPU s (of all)"
cut -d' ' -f1-3 <<<"$table" | sed 's/^/  /'
if command -v valgrind >/dev/null && [[ $wanted == *" allocate "* ]]; then
	begin=$(date +%s.%N)
	valgrind -q --tool=dhat --dhat-out-file=/dev/null ./allocate >/dev/null 2>&1
	echo "  allocate, valgrind's DHAT, once: $(calculate "$(date +%s.%N) - $begin") s"
fi

# of_test PROGRAM FIELD: the median of what the manifest tells of the test alone.
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
	echo "      a library that only passes on malloc and free: $(calculate "$(column allocate.between 3) / $(column allocate 3)") times as slow"
floor_of sqlite 1.3
floor_of python 1.6
# The program's own largest size, in kB.
more() { # COMMAND...
	plain=$("$@") with=$("$TRACELET" run --heap --quiet --output-dir out -- "$@" 2>/dev/null)
}
if [[ $wanted == *" allocate "* ]]; then
	more ./allocate
	floor "MB of memory more, allocate" "$(calculate "($with - $plain) / 1024")" "<=" 30
fi
if [[ -n $python && $wanted == *" python "* ]]; then
	more "$python" load.py
	floor "times the memory, python" "$(calculate "$with / $plain")" "<=" 1.25
fi
finish
