# Symbol files are the test's own, or anyone's. The process that reads them has no rights, and the tracer goes on
# whatever happens to it.
. "$(dirname "$0")/lib.sh"
need_command python3
confined=${TRACELET_CONFINED:-$source/build/tests/attack/confined}
fields() { grep -E "^($1)" | tr -s '\t ' ' '; }

# From inside: everything but reading what it was given, and answering, is refused.
run "$confined" try
check_equal "it has other rights, a filter and limits" "confined: 111" "$(head -1 "$stdout")"
check_equal "attempts" 23 "$(grep -c -v '^confined' "$stdout")"
check_equal "all are refused" "" "$(grep -v -e ': refused$' -e '^confined' "$stdout")"
check_not "and nothing is there afterwards" test -e /tmp/tracelet-confined

# The program that unwinds stacks attaches to processes and opens files, but changes nothing.
run "$confined" unwinder
check_equal "the unwinder's attempts" 22 "$(grep -c -v '^reading' "$stdout")"
check_equal "all are refused" "" "$(grep -v -e ': refused$' -e '^reading' "$stdout")"
check_match "it can read" '^reading: DONE' "$stdout"
check_not "nothing is there afterwards" test -e /tmp/tracelet-confined

# From outside, as it reads a program.
look() {
	run "$@" "$confined" status "$(command -v bash)"
	check_match "it reads a program" '^segments: [1-9]' "$stdout"
	check_equal "no capability, no new rights, a filter" "CapInh: 0000000000000000 CapPrm: 0000000000000000 CapEff: 0000000000000000 CapAmb: 0000000000000000 NoNewPrivs: 1 Seccomp: 2" \
		"$(fields 'CapInh|CapPrm|CapEff|CapAmb|NoNewPrivs|Seccomp:' <"$stdout" | xargs)"
	check_equal "no cores, files or processes" "0 0 0" \
		"$(sed -nE 's/^Max (core file size|file size|processes) +([0-9]+) +([0-9]+) .*/\3/p' "$stdout" | xargs)"
	is_sanitized || check_not "its memory is limited" grep -E '^Max data size +unlimited' "$stdout"
}
export HOME=$work # no debug files there
if [ "$(id -u)" = 0 ]; then
	look env
	check_equal "it is nobody, in no group" "Uid: 65534 65534 65534 65534 Gid: 65534 65534 65534 65534 Groups:" \
		"$(fields 'Uid|Gid|Groups' <"$stdout" | xargs)"
	check_equal "its socket and the file" "socket: $(realpath "$(command -v bash)")" \
		"$(grep '^descriptor' "$stdout" | sed 's/.*: //; s/:\[.*/:/' | sort -r | xargs)"
	check_not "it has no variables of ours" grep -a 'HOME=' "$stdout"
	look as_attacker env TRACELET="$TRACELET"
	check_not "its own user cannot look into it" grep '^descriptor' "$stdout"
else
	look env
fi

# A file that takes more memory than there is: its frames keep their addresses, others their names.
python3 "$source/tests/attack/helpers/large_elf.py" 1500000 >large
python3 "$source/tests/attack/helpers/large_elf.py" 1 >small
record() { python3 "$source/tests/cli/perf_data.py" "$work/$1" 1000 2000 >"$1.data"; }
record large
record small
run "$TRACELET" fold --quiet small.data -o small.folded
check_match "a small file has names" '^a;large ' small.folded
if is_sanitized; then
	skip "too large a file" "a sanitizer needs more memory than any limit"
else
	run sh -c 'ulimit -d 50000; exec "$1" fold --quiet large.data -o large.folded' sh "$TRACELET"
	check_equal "too large a file: fold goes on" 0 "$status"
	check_match "without a name" '^a;\[large\] ' large.folded
	check_equal "one line says so" 1 "$(grep -c . "$stderr")"
	check_match "which file, and what follows" "^tracelet: warning: no names for $work/large: .*; its frames keep their addresses" "$stderr"
fi
run "$TRACELET" fold --quiet large.data -o large.folded
check_match "with enough memory it has names" '^a;large ' large.folded

# A file that is rewritten while it is read.
record changing
cp large changing
(while [ ! -e stop ]; do
	cat small >changing
	cat large >changing
	head -c 20000000 large >changing
done) &
writer=$!
for _ in 1 2 3 4 5 6; do
	"$TRACELET" fold --quiet changing.data -o changing.folded 2>>changing.log || echo "status $?" >>changing.failed
done
touch stop
wait "$writer"
check_not "a file that changes meanwhile: fold goes on" test -e changing.failed
check "and has its stacks" test -s changing.folded

# The reader is killed in the middle of a run.
if [ "$(id -u)" = 0 ]; then
	cat >kills <<-'END'
		# The readers of this run are children of its tracer, which is our sibling.
		find_readers() {
			for tracer in $(cat "/proc/$PPID/task/$PPID/children"); do
				for child in $(cat /proc/$tracer/task/*/children 2>/dev/null); do
					[ "$(tr '\0' ' ' <"/proc/$child/cmdline" 2>/dev/null)" != "tracelet-reader " ] || echo "$child"
				done
			done
		}
		for turn in $(seq 20000); do
			readers=$(find_readers)
			[ -z "$readers" ] || break
		done
		[ -n "$readers" ] || exit 1
		kill -9 $readers
		for turn in $(seq 200); do find_readers >/dev/null; done
		exit 7
	END
	run "$TRACELET" run --quiet --sample --output-dir out -- bash kills
	check_equal "a reader is killed: the status is the test's" 7 "$status"
	check "there is a trace" test -s "$(find out -name '*.pb')"
fi

# Names of compiled code come from /tmp/perf-PID.map, which the test makes: a link there leads to no file of root's.
if [ "$(id -u)" = 0 ] && [ "$(uname -m)" = x86_64 ] && command -v gcc >/dev/null && "$TRACELET" run --quiet --strict --output-dir try -- true 2>/dev/null; then
	cat >jit.c <<'END'
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
int main(int argc, char **argv) {
	static const unsigned char loop[] = {0xb9, 0, 0, 0, 8, 0xff, 0xc9, 0x75, 0xfc, 0xc3}; // counts down from 2^27
	char path[64], *code = mmap((void *)0x700000000000, 4096, PROT_READ | PROT_WRITE | PROT_EXEC,
				    MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
	snprintf(path, sizeof(path), "/tmp/perf-%d.map", (int)getpid());
	if (code == MAP_FAILED || argc < 2 || (*argv[1] == '/' && symlink(argv[1], path)) || (!strcmp(argv[1], "fifo") && mkfifo(path, 0600)))
		return 1;
	FILE *map = strcmp(argv[1], "own") ? NULL : fopen(path, "w");
	if (map && (fputs("700000000000 1000 name_in_a_file\n", map) < 0 || fclose(map)))
		return 1;
	memcpy(code, loop, sizeof(loop));
	((void (*)(void))code)();
	printf("%s\n", path);
	return 0;
}
END
	gcc -o jit jit.c
	(umask 077 && echo '700000000000 1000 name_in_a_file' >roots)
	rm -rf out && mkdir -m 777 out
	for map in own roots fifo; do
		run timeout -k 1 100 "$TRACELET" run --quiet --sample --user nobody --output-dir "$work/out" --name "map-$map" -- ./jit "$([ $map = roots ] && echo "$work/roots" || echo $map)"
		check_equal "a map ($map): the test runs" 0 "$status"
		rm -f "$(cat "$stdout")"
		"$TRACELET" fold --quiet out/map-"$map"_*.pb >"folded.$map"
		check "and was sampled" test -s "folded.$map"
	done
	check_match "the test's own file has names" name_in_a_file folded.own
	check_not "a link to one of root's has none" grep -q name_in_a_file folded.roots
else
	skip "a link as the map of compiled code" "it takes root, x86-64, gcc and BPF"
fi
done_testing
