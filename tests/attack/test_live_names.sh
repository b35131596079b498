# A running test names its program, threads, files and arguments as it likes: nothing hostile reaches what people
# read, and what programs read stays well-formed.
. "$(dirname "$0")/lib.sh"
need_bpf
need_command python3 jq
hostile=$source/tests/attack/helpers/hostile.py

odd=$(printf 'a\n::error::pwned\033[31m##vso[x]</script><script>window.pwned=1</script>\377')
mkdir -p "${odd%%/*}"
folder=${odd%%/*}
cp "$helpers/heap" "$folder/heap"
cat >names.py <<'END'
import ctypes, os, sys, threading
libc = ctypes.CDLL(None)
def named(name):
    libc.prctl(15, name, 0, 0, 0)
    os.close(os.open(name.replace(b"/", b"_") + b".file", os.O_CREAT | os.O_WRONLY))
    sum(range(200000))
for name in (b"\x1b[31mred", b"::error::pwned", b"##vso[x]pwned", b"</script>", b"a\nb", b"\xff\xfe\xc3", b'"\\', b"\xe2\x80\xaegnp"):
    thread = threading.Thread(target=named, args=(name,))
    thread.start()
    thread.join()
END
plain() { # DESCRIPTION FILE...
	local description=$1 file
	shift
	for file in "$@"; do
		check "$description: $(basename "$file" | tr -dc 'a-z.')" python3 "$hostile" check "${kind:-text}" "$file"
	done
}

run "$TRACELET" run --sample --off-cpu --profile default+embedded --output-dir out --name threads --json said.json -- python3 names.py "$odd"
check_equal "a test with hostile threads and files" 0 "$status"
plain "its summary" "$stderr"
kind=json plain "its JSON" said.json
kind=jsonl plain "its manifest" out/manifest.jsonl
trace=$(echo out/threads_*.pb)
check "its trace is well-formed" "$TRACELET" check "$trace"
kind=xml plain "its flame graph" out/threads_*.svg
for words in "info" "top" "dump" "table"; do
	run "$TRACELET" $words "$trace" $([ $words != table ] || echo threads)
	plain "$words" "$stdout"
done
"$source/tests/perfetto/tp" --json --health "$trace" "select name from thread where name is not null" >names.json 2>complaint
status=$?
if [ $status = 77 ]; then
	skip "Perfetto's importer" "it cannot be had here"
else
	check_equal "Perfetto's importer takes it" 0 $status
	[ $status = 0 ] || note "$(head -c 2000 complaint)"
	kind=json plain "... with names that are text" names.json
fi

run "$TRACELET" run --heap --heap-leaks --output-dir out --name heap --json said.json -- "$folder/heap" plain
plain "a heap profile's summary" "$stderr"
kind=json plain "the profile for DHAT's viewer" out/heap_*.dhat.json
for file in out/heap_*.leaks.txt; do
	[ ! -e "$file" ] || plain "the list of leaks" "$file"
done
run "$TRACELET" flame -o - out/heap_*.dhat.json
kind=xml plain "its flame graph" "$stdout"
run "$TRACELET" run --timeout 1 --grace 1 --output-dir out --name slow -- bash -c 'exec -a "$1" sleep 1000' bash "$odd"
plain "after a time limit" "$stderr" out/slow_*.stacks.txt
done_testing
