# Root's run with --max-age in another user's directory: while the manifest is read, its owner puts a link in the place
# of the directory. What is deleted is in the directory that the manifest was read from.
. "$(dirname "$0")/lib.sh"
need_root
need_command python3
mkdir treasure out
echo precious >treasure/victim
cp treasure/victim out/old
python3 - >out/manifest.jsonl <<'PYTHON'
import hashlib, json
digest = hashlib.sha256(open("treasure/victim", "rb").read()).hexdigest()
line = {"schema": 1, "kind": "test", "test": "a", "result": "passed", "started": "2020-01-01T10:00:00Z", "wall_seconds": 0.1, "artifacts": []}
filler = json.dumps(line)
for _ in range(120000): # they take a moment to read
    print(filler)
for name in "victim", "old":
    line["artifacts"] = [{"kind": "perfetto", "path": name, "size": 9, "sha256": digest}]
    print(json.dumps(line))
PYTHON
chown -R nobody out
size=$(stat -c %s out/manifest.jsonl)
(
	while [ "$(stat -c %s out/manifest.jsonl)" = "$size" ]; do sleep 0.01; done # the line of the run: what follows reads it
	sleep 0.1
	mv out moved && ln -s treasure out
) &
check_run "the test runs" 0 "$TRACELET" run --quiet --max-age 1d --output-dir "$work/out" -- true
wait $!
check "the link was in place" test -L out
check "no file behind it is deleted" test -e treasure/victim
check_equal "nor made" victim "$(ls -A treasure)"
rm out && mv moved out
"$TRACELET" run --quiet --max-age 1d --output-dir "$work/out" -- true
check_not "what is in the directory is deleted" test -e out/old
done_testing
