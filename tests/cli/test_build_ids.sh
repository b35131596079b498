# Which file a process has mapped: for programs that are replaced, deleted, end within a millisecond, are
# at a path that means something else to us, or are in no file system at all.
. "$(dirname "$0")/lib.sh"
need_root
need_command gcc
need_command python3

# program NAME: spins in a function of that name, for a quarter of a second or the given time
program() {
	gcc -O1 -static -fno-inline -Dspin="$1" -o "$1" -x c - <<-'END'
		#include <stdlib.h>
		#include <time.h>
		#include <unistd.h>
		volatile int turns;
		void spin(double seconds) {
			struct timespec begin, now;
			clock_gettime(CLOCK_MONOTONIC, &begin);
			do {
				for (int i = 0; i < 10000; i++)
					turns++;
				clock_gettime(CLOCK_MONOTONIC, &now);
			} while (now.tv_sec - begin.tv_sec + (now.tv_nsec - begin.tv_nsec) * 1e-9 < seconds);
		}
		int main(int argc, char **argv) {
			if (argc > 2)
				unlink(argv[2]);
			spin(argc > 1 ? atof(argv[1]) : 0.25);
			return 0;
		}
	END
}
id_of() {
	readelf -n "$1" | awk '/Build ID:/ { print $3 }'
}
# sampled COMMAND: leaves `dump` and `names`
sampled() {
	rm -rf tracelet-out
	check_run "it is recorded: $*" 0 "$TRACELET" run -q --sample --keep-spool -- sh -ec "$*"
	"$TRACELET" dump tracelet-out/*.spool >dump
	"$TRACELET" fold tracelet-out/*.pb >names
}
ids() { # PATTERN: of the files that it matches, in time order
	sed -nE "/task\\/mapping/s/.* file=\"?$1( \\(deleted\\)\")?( build_id=|\$)//p" dump | tr '\n' ' '
}
for name in first second third; do
	program $name
done
[ "$(id_of first)" ] || skip_all "programs have no build ids here"

sampled 'cp first program; ./program; cp second program; ./program; mv third program; ./program; cp program third'
check_equal "written over, and replaced: each its own" "$(id_of first) $(id_of second) $(id_of third) " "$(ids '.*\/program')"
check_match "names of what was replaced" 'main;second' names
check_match "names of what is there" 'main;third' names

sampled './first 0.25 first'
check_not "it has deleted itself" test -e first
check_match "its build id" "^[0-9a-f]{40} \$" <(ids '.*\/first')
check_match "its names" 'main;first' names

mkdir -p root bin
cp second root/program
cp third program
sampled "chroot root /program; cd root; ./program 0.1"
check_equal "where a path means something else" "$(id_of second) $(id_of second) " "$(ids '.*\/program')"
check_match "its names, too" 'main;second' names

sampled 'i=0; while [ $i -lt 100 ]; do cp second bin/$i; bin/$i 0; i=$((i + 1)); done'
check_equal "hundred programs that end at once" "100 $(id_of second)" "$(ids '.*\/bin\/[0-9]+' | tr ' ' '\n' | sort | uniq -c | xargs)"

cat >memory.py <<-'END'
	import os
	there = os.memfd_create("code", 0)
	os.write(there, open("third", "rb").read())
	os.execve(there, ["code"], {})
END
sampled python3 memory.py
check_equal "a program in memory" "$(id_of third) " "$(ids '\/memfd:code')"
check_match "with its names" 'main;third' names

if unshare -m sh -c 'mkdir low up work all && mount -t tmpfs none up && mkdir up/up up/work && mount -t overlay none -o lowerdir=low,upperdir=up/up,workdir=up/work all' 2>/dev/null; then
	cp second low/below
	cp second low/changed
	sampled 'unshare -m sh -ec "mount -t tmpfs none up; mkdir up/up up/work; mount -t overlay none -o lowerdir=low,upperdir=up/up,workdir=up/work all; cp third all/above; cp third all/changed; all/below; all/above; all/changed"'
	check_equal "file systems that have two numbers for a file" "$(id_of second) $(id_of third) $(id_of third) " "$(ids '.*\/all\/[a-z]+')"
	check_match "names from below" 'main;second' names
	check_match "names from above" 'main;third' names
else
	skip "file systems that have two numbers for a file" "there is no overlayfs"
fi

# A test can unmount the file system it ran from, even though we hold the file.
if unshare -m true 2>/dev/null; then
	mkdir aside
	rm -r tracelet-out
	check_run "a file system is unmounted by the test that ran there" 0 unshare -m "$TRACELET" run -q --sample -- \
		sh -ec 'mount -t tmpfs none aside; cp second aside/program; aside/program; umount aside'
	check_match "names of what was there" 'main;second' <("$TRACELET" fold tracelet-out/*.pb)
else
	skip "unmounting" "unshare is not allowed"
fi
done_testing
