# Root's `report` in another user's directory: while the manifest is read, its owner puts a link in the place of the
# directory. The page is written to the directory that the manifest was read from.
. "$(dirname "$0")/lib.sh"
need_root
need_command python3
mkdir treasure out
echo precious >treasure/victim.html
python3 - >out/manifest.jsonl <<'PYTHON'
import json
line = {"schema": 1, "kind": "test", "test": "other", "result": "passed", "started": "2020-01-01T10:00:00Z", "wall_seconds": 0.1, "artifacts": []}
filler = json.dumps(line)
for i in range(120000): # they take a moment to read
    print(filler[:-1] + ', "n": %d}' % i)
print(json.dumps(line | {"test": "victim"}))
PYTHON
chown -R nobody out

# Whether the process has begun to read the manifest.
reads() { grep -q "manifest\.jsonl" "/proc/$1/maps" 2>/dev/null; }

swap_while() {
	"$TRACELET" report --output-dir "$work/out" "$@" >report.out 2>report.err &
	local reader=$!
	while kill -0 "$reader" 2>/dev/null && ! reads "$reader"; do sleep 0.001; done
	mv out moved && ln -s treasure out
	wait "$reader"
	check "$*: the link was in place" test -L out
	rm out && mv moved out
}

swap_while victim
check_equal "the file behind the link stays" precious "$(cat treasure/victim.html)"
check "the page is beside the manifest" test -s out/victim.html
swap_while "$work/out"
check_equal "nothing is made behind the link" victim.html "$(ls -A treasure)"
check "the page of the run is beside the manifest" test -s out/report.html
done_testing
