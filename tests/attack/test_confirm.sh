# `history compare --confirm` runs tests again, with the commands that the manifest has. A test that root ran as another
# user (--user) can write that manifest: root does not run what it says.
. "$(dirname "$0")/lib.sh"
need_root
need_command jq
mkdir -m 777 out
for_nobody() { "$TRACELET" run --quiet --user nobody --output-dir "$work/out" --name steady "$@"; }
mine() { "$TRACELET" run --quiet --output-dir mine --name steady "$@"; }
compare() { run "$TRACELET" history compare second third --fail-on regression --confirm 1 --output-dir "$1"; }
for record in for_nobody mine; do
	for name in first first first second; do $record --run $name -- true; done
	$record --run third -- false
done

# poison FOLDER RUN: another command in the last line of its manifest, as if it were of that run
poison() {
	tail -n 1 "$1/manifest.jsonl" | jq -c --arg run "$2" --arg file "$work/ran" '.run = $run | .command = ["touch", $file]
		| .session = "01999999-0000-7000-8000-000000000009"' >line
	cat line >>"$1/manifest.jsonl"
}

# The control: in root's own manifest, the commands of the run count.
cp -r mine other
compare mine
check_equal "a failure that stays" 1 "$status"
poison mine third
compare mine
check "root's own manifest: its command is run" test -e ran
rm -f ran
poison other fourth
compare other
check_equal "the same with a line of another run" 1 "$status"
check_not "its command is not run" test -e ran

poison out third
compare out
check_not "another user's manifest: nothing is run" test -e ran
check_equal "that is an error" 2 "$status"
check_match "and one line says why" '^tracelet: --confirm: .*manifest\.jsonl belongs to another user, or others can write it' "$stderr"
chown root out/manifest.jsonl && chmod 666 out/manifest.jsonl
compare out
check_not "nor from one that others can write" test -e ran
chmod 600 out/manifest.jsonl
mkdir linked && ln out/manifest.jsonl linked/manifest.jsonl
compare linked
check_not "nor from one that has another name" test -e ran
done_testing
