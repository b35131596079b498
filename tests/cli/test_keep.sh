# What is kept from a session, and the limits of an output folder.
. "$(dirname "$0")/lib.sh"
need_root

manifest=tracelet-out/manifest.jsonl

# traces: the names of the tests that have a trace here, sorted.
traces() {
	ls tracelet-out | sed -n 's/_[0-9]*_[0-9]*\(_[0-9]*\)\?\.pb$//p' | sort | tr '\n' ' '
}

# ---- --keep ----

check_run "a test that passes" 0 "$TRACELET" run --name good -- true
check_equal "is kept" "good " "$(traces)"
check_run "in CI it is" 0 env CI=true "$TRACELET" run --name ci-good --json summary.json -- true
check_equal "not" "good " "$(traces)"
check_match "the summary says so" '^  trace   not kept: the test passed \(--keep failed\)$' "$stderr"
check_equal "the JSON too" "the test passed (--keep failed)" "$(jq -r .not_kept summary.json)"
check_equal "the manifest has a line, without artifacts" 0 "$(tail -n1 "$manifest" | jq '.artifacts | length')"
check_run "one that fails in CI" 1 env CI=1 "$TRACELET" run --name ci-bad -- false
check_run "or where CI is 'false'" 0 env CI=false "$TRACELET" run --name ci-false -- true
check_run "or with --keep always" 0 env CI=true "$TRACELET" run --keep always --name ci-always -- true
check_equal "is kept" "ci-always ci-bad ci-false good " "$(traces)"
check_run "with --keep never" 1 "$TRACELET" run --keep never --keep-spool --name never -- false
check_equal "nothing is" "ci-always ci-bad ci-false good " "$(traces)"
check_match "as the summary says" '^  trace   not kept: --keep never$' "$stderr"
check_run "nor are stacks" 124 "$TRACELET" run --keep never --name never --timeout 0.1 -- sleep 1000
check_equal "there is no file of it" "" "$(ls tracelet-out | grep never)"
check_run "--keep sometimes is invalid" 2 "$TRACELET" run --keep sometimes -- true
check_match "and one line says what is" "\-\-keep: 'sometimes' is not 'always', 'failed' or 'never'" "$stderr"
check_equal "Azure is CI, too" "failed TF_BUILD" "$(TF_BUILD=True "$TRACELET" settings --json | jq -r '.keep | "\(.value) \(.from)"')"
check_equal "unless CI says that it is not" always "$(CI=false TF_BUILD=True "$TRACELET" settings --json | jq -r .keep.value)"
check_equal "the setting's origin is CI" "failed CI" "$(CI=yes "$TRACELET" settings --json | jq -r '.keep | "\(.value) \(.from)"')"

# ---- --max-total-size ----

# total: size of the existing artifacts in bytes.
total() {
	cat tracelet-out/*.pb | wc -c
}

# trace RESULT NAME OPTIONS...
trace() {
	local result=$1 name=$2
	shift 2
	"$TRACELET" run --quiet --name "$name" "$@" -- "$result" || true
}

fresh
trace false old-bad
trace true old-good
trace true new-good
trace false new-bad
# The newest may be a little larger than the one deleted for it, and does not fit otherwise.
size=$(($(total) + $(cat tracelet-out/old-good_*.pb | wc -c) / 2))
trace true newest --max-total-size $size
check_equal "the oldest that passed goes first" "new-bad new-good newest old-bad " "$(traces)"
check_equal "the manifest shows it" "old-good perfetto max-total-size" \
	"$(tail -n1 "$manifest" | jq -r '"\(.deleted[].test) \(.deleted[].kind) \(.why)"')"
check_equal "by the name that it had" "$(jq -r 'select(.test == "old-good") | .artifacts[0].path' "$manifest")" \
	"$(tail -n1 "$manifest" | jq -r '.deleted[].path')"
trace false again
failed=$(cat tracelet-out/*bad_*.pb tracelet-out/again_*.pb | wc -c)
trace true unseen --keep never --max-total-size "$failed"
check_equal "those that failed stay longer" "again new-bad old-bad " "$(traces)"
trace true unseen --keep never --max-total-size $((failed - 1))
check_equal "then the oldest of them" "again new-bad " "$(traces)"
trace true none --max-total-size 1
check_equal "and go last" "" "$(traces)"
run "$TRACELET" run --max-total-size 1 --name none -- true
check_match "a trace without room is not kept, which is reported" '^  trace   not kept: the folder.s limits' "$stderr"
check_equal "every line of the manifest is JSON" "$(wc -l <"$manifest")" "$(jq -c . "$manifest" | wc -l)"

# ---- only what we wrote ----

fresh
for name in plain changed linked folder; do
	trace true $name
done
echo precious >tracelet-out/foreign.pb
echo precious >tracelet-out/foreign.spool
echo precious >outside.pb
sed -i 's/./X/' "$(echo tracelet-out/changed_*.pb)" # same size, different content
linked=$(echo tracelet-out/linked_*.pb) folder=$(echo tracelet-out/folder_*.pb)
mv "$linked" aside.pb
ln -s "$PWD/aside.pb" "$linked"
rm "$folder"
mkdir "$folder"
{
	echo '{"test":"x","result":"passed","started":"2020-01-01T00:00:00Z","artifacts":[{"path":"../outside.pb","kind":"perfetto","size":9}]}'
	echo '{"test":"x","result":"passed","started":"2020-01-01T00:00:00Z","artifacts":[{"path":"tracelet-out/..","size":0},{"path":"tracelet-out/manifest.jsonl","size":0}]}'
	echo '{"test":"x","artifacts":[{"path":"tracelet-out/foreign.pb","size":9}]}' # no session: it has no time
	echo 'not JSON'
	echo '{"artifacts":7,"deleted":{}}'
	echo '[]'
	head -c 100000 /dev/zero | tr '\0' '['
	echo
} >>"$manifest"
trace true last --max-total-size 1 --max-age 1d
check_equal "what we did not write stays: changed, a link, a folder, foreign files" "changed_ folder_ foreign. foreign. linked_ manifest. " \
	"$(ls tracelet-out | sed 's/\([_.]\).*/\1/' | tr '\n' ' ')"
check "nothing outside is touched" test -s outside.pb -a -s aside.pb
check_equal "only deleted files are reported" "last plain " \
	"$(grep '"deleted":\[' "$manifest" | jq -r '.deleted[].test' | sort | tr '\n' ' ')"

# ---- --max-age ----

fresh
trace true old
trace false old-bad
trace true young
sed -i '/"test":"old/s/"started":"....-/"started":"2020-/' "$manifest"
trace true new --max-age 7d
check_equal "what is too old goes, passed or not" "new young " "$(traces)"
check_equal "and the manifest says why" max-age "$(tail -n1 "$manifest" | jq -r .why)"
trace true new --max-age 7d
check_equal "once" 1 "$(grep -c '"deleted":\[' "$manifest")"

# ---- running sessions ----

fresh
trace true before
"$TRACELET" run --quiet --name running -- sh -c 'touch up; until [ -e go ]; do sleep 0.01; done' &
until [ -e up ]; do sleep 0.01; done
trace true after --max-total-size 1 --max-age 0.001
check "a running session's file is left alone" test -e "$(echo tracelet-out/running_*.spool)"
touch go
wait
check_equal "and it ends well" "running " "$(traces)"

fresh
for i in 1 2 3 4 5 6 7 8; do
	trace true "parallel$i" --max-total-size 8K &
done
wait
check "parallel sessions keep the limit" test "$(total)" -le 8192
check_equal "their manifest is whole" "$(wc -l <"$manifest")" "$(jq -c . "$manifest" | wc -l)"
check_equal "each deleted file is reported exactly once" "" \
	"$(jq -r '.deleted[]?.path' "$manifest" | sort | uniq -d)"
check_equal "and each is either reported or there" 8 \
	"$({ jq -r '.deleted[]?.path' "$manifest"; ls tracelet-out/*.pb; } | sort -u | wc -l)"

done_testing
