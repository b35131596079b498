# Has the trace of a test landed? `check --landed` and the library's functions.
. "$(dirname "$0")/lib.sh"
need_root

landed() {
	"$TRACELET" check --landed tracelet-out --name "$@"
}

# check_says DESCRIPTION REGEX: one line that has everything it should.
check_says() {
	check_lines "$1: one line" 1 "$stderr"
	check_match "$1: what was expected, found, and where to look" "expected.*found.*look at" "$stderr"
	check_match "$1: $2" "$2" "$stderr"
}

check_run "no folder" 1 landed some
check_says "no folder" "no manifest"
run "$TRACELET" run --quiet --name some -- true
check_run "a good trace has landed" 0 landed some
check_match "it is named" "some_.*pb: ok" "$stdout"
check_run "another test's has not" 1 landed other
check_says "another test" "session of other"
check_run "a test of another variant has not" 1 landed some --variant a=b
check_says "another variant" "other variants"
check_run "too small" 1 landed some --min-size 100000000
check_says "too small" "at least 100000000 bytes"

trace=$("$TRACELET" artifact some)
cp "$trace" good
truncate -s -1 "$trace"
check_run "a trace that was cut off" 1 landed some
check_says "cut off" "good packets up to the last"
cp good "$trace"
printf '\x0b' | dd of="$trace" bs=1 seek=100 conv=notrunc status=none
check_run "a trace that was changed" 1 landed some
check_says "changed" "SHA-256"
rm "$trace"
check_run "a trace that is gone" 1 landed some
check_says "gone" "No such file"

mkfifo go
"$TRACELET" run --quiet --name goes-on -- sh -c 'echo >begun; read -r line <go' &
until [ -s begun ]; do sleep 0.01; done
check_run "a session that goes on" 1 landed goes-on
check_match "is not taken for one whose tracer died" "goes-on_.*spool, which is being recorded; wait for the end" "$stderr"
echo >go
wait
check_run "when it has ended, its trace has landed" 0 landed goes-on
: >tracelet-out/killed_20260102_030405.spool
check_run "the spool of a tracer that died" 1 landed killed
check_says "its spool" "look at why the tracer died"

run "$TRACELET" run --quiet --keep never --name kept -- true
check_run "a trace that was not kept" 1 landed kept
check_says "not kept" "look at --keep"

printf '%s\n' '{"test":"vm","result":"not run","started":"2026-01-02T03:04:05.000Z","artifacts":[],"guest_failed":"panic: x"}' \
	>>tracelet-out/manifest.jsonl
check_run "a machine that failed is no missing trace" 3 landed vm
check_match "it is reported as such" "virtual machine of vm failed: panic: x" "$stderr"
check_run "a name is needed" 2 "$TRACELET" check --landed tracelet-out

# The library's side.
fresh
: >log
if cc -I "$source/include" -o asks -x c - -x none "$(dirname "$TRACELET")/src/api/libtracelet.so" -Wl,-rpath,"$(dirname "$TRACELET")/src/api" <<-'END' 2>log; then
	#include <stdio.h>
	#include <tracelet/tracelet.h>
	int main(int argc, char **argv) {
		char path[4096];
		if (argc > 2)
			tl_assert_trace(argv[2]);
		int error = tl_artifact_path(argv[1], "perfetto", path, sizeof(path));
		if (error)
			return 1;
		tl_assert_trace(path);
		puts(path);
		return 0;
	}
END
	./asks >>log 2>&1
fi
if [ -x asks ] && ! grep -q ASan log; then
	run "$TRACELET" run --quiet --name mine -- true
	check_run "a program asks for the path and asserts the trace" 0 env LSAN_OPTIONS=detect_leaks=0 ./asks mine
	check_match "the path" "^tracelet-out/mine_.*\.pb$" "$stdout"
	check_run "a name that is not there" 1 env LSAN_OPTIONS=detect_leaks=0 ./asks yours
	check_run "an assertion that fails ends the program" 134 bash -c 'ulimit -c 0; ./asks mine no-such.pb'
	check_match "with one line" "tl_assert_trace: no-such.pb: expected a trace, found" "$stderr"
else
	skip "the library's functions" "it cannot be linked here (a sanitized one)"
fi

done_testing
