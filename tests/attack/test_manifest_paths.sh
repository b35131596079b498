# A manifest from elsewhere: what is read and written because of it stays in its directory.
. "$(dirname "$0")/lib.sh"
need_command python3
mkdir out other
# manifest TEST PATH: one line, of the test TEST that is called "innocent", with the artifact PATH
manifest() {
	python3 - "$@" >out/manifest.jsonl <<'PYTHON'
import hashlib, json, os, sys
test, path = sys.argv[1:]
file = os.path.join("out", path)
digest = hashlib.sha256(open(file, "rb").read()).hexdigest() if os.path.isfile(file) else "0" * 64
artifact = {"kind": "perfetto", "path": path, "size": os.path.getsize(file) if os.path.exists(file) else 1, "sha256": digest}
print(json.dumps({"schema": 1, "test": test, "name": "innocent", "result": "failed", "status": "failed", "started": "2026-10-01T10:00:00Z",
	"seconds": 0.1, "session": "01999999-0000-7000-8000-000000000001", "artifacts": [artifact, {"kind": "perfetto"}, {}, {"path": None}]}))
PYTHON
}
python3 "$source/tests/attack/helpers/hostile.py" make || exit 1
cp hostile.pb out/a.pb
before() { echo precious >other/index.html; }
untouched() { check_equal "$1" "precious index.html" "$(head -c 20 other/index.html) $(ls other)"; }

for test in ../other/index "$work/other/index" ../out/../other/index; do
	manifest "$test" a.pb
	before
	check_run "report of a test called $test" 0 "$TRACELET" report --output-dir out innocent
	untouched "... is in its own directory"
	check_run "report of its file" 0 "$TRACELET" report out/a.pb
	untouched "... too"
	check_run "report of the directory" 0 "$TRACELET" report out
	untouched "... too"
	check_run "report of several" 0 "$TRACELET" report --output-dir out innocent out/a.pb
	untouched "... too"
done
before
ln -s "$work/other/index.html" out/link.html
manifest link a.pb
check_run "a link in the place of the page" 0 "$TRACELET" report --output-dir out innocent
untouched "... is replaced, not what it leads to"

# Files outside.
cp hostile.pb other/outside.pb
printf 'the secret' >other/secret
for path in ../other/outside.pb "$work/other/outside.pb" ../other/secret /etc/shadow . .. '' manifest.jsonl; do
	manifest innocent "$path"
	for words in "report --output-dir out innocent" "why --output-dir out innocent" "store push out --to file-none" "history --output-dir out" \
		"artifact --output-dir out innocent" "check --landed innocent --output-dir out"; do
		run timeout 20 "$TRACELET" $words
		check "path '$path': $words ends by itself" test "$status" -lt 124
		check_not "... and shows nothing from there" grep -aqE 'the secret|root:[*x!$]' "$stdout" "$stderr" out/innocent.html
	done
done
done_testing
