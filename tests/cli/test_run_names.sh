# The files a run leaves: their names, which never replace other files, the manifest, the summary;
# and invalid options.
. "$(dirname "$0")/lib.sh"
. "$source/tests/cli/helpers/words.sh"
need_bpf

traced() {
	"$TRACELET" run --quiet "$@"
}
files() { # the names of all files in a folder except the manifest, with a readable time
	find "${1:-tracelet-out}" -mindepth 1 ! -name manifest.jsonl -printf '%f\n' |
		sed -E 's/_[0-9]{8}_[0-9]{6}/_TIME/' | sort | paste -sd ' '
}

# ---- names ----

traced -- /bin/true
check_equal "the default name is the program's, the default folder tracelet-out" "true_TIME.pb" "$(files)"
stamp=$(basename tracelet-out/true_*.pb .pb)
now=$(date +%s)
check "the time is the local one" test $((now - $(date -d "$(sed -E 's/true_(.{8})_(..)(..)(..)/\1 \2:\3:\4/' <<<"$stamp")" +%s))) -lt 30
safe_name() { # DESCRIPTION EXPECTED NAME
	fresh
	traced --name "$3" -- true
	check_equal "$1" "$2_TIME.pb" "$(files)"
	check_equal "$1, and nothing elsewhere" tracelet-out "$(ls -A)"
}
safe_name "--name" parser parser
safe_name ":: becomes __" "parser__deep__1" "parser::deep::1"
safe_name "slashes are no folders" "a_b_c" "a/b/c"
safe_name "no way up" "___.._etc" "../../etc"
safe_name "a lone .. is no folder" "__" ".."
safe_name "control characters go" "a_b_c_d_e" $'a\nb\tc\x1bd\x7fe'
safe_name "spaces, quotes and the shell's own go" "a_b__c__d_e_" "a b'\"c\$\`d;e*"
safe_name "not hidden" "_hidden" ".hidden"
safe_name "no option" "__rf" "--rf"
safe_name "an empty name gets one" "test" ""
safe_name "other alphabets stay" "prüfung-试验" "prüfung-试验"
fresh
check_run "a name of 5000 characters" 0 traced --name "$(printf 'x%.0s' {1..5000})" -- true
check "is cut to what a file system takes" test "$(basename tracelet-out/x*.pb | wc -c)" -le 160
fresh
traced --name "$(printf 'ü%.0s' {1..200})" -- true
check "and not inside a character" sh -c 'ls tracelet-out | iconv -f utf-8 -t utf-8'

fresh
check_run "--output-dir" 0 traced --output-dir "deep/er/and here" -- true
check_equal "is made with its parents" "true_TIME.pb" "$(files "deep/er/and here")"
check_equal "and the default one is not" deep "$(ls)"
check_run "an existing one" 0 traced --output-dir "deep/er/and here/" -- sh -c :
check_equal "is used" 2 "$(ls "deep/er/and here"/*.pb | wc -l)"
check_run "a test that changes its folder" 0 traced --output-dir relative -- sh -c 'cd /; exit 0'
check "does not move the artifacts" ls relative/sh_*.pb
fresh
(umask 077; traced -- true)
check_equal "artifacts have the rights that the umask leaves" "-rw-------" "$(stat -c %A tracelet-out/*.pb)"

# ---- existing names ----

fresh
for i in {1..16}; do
	traced --name same --json "json.$i" -- sh -c "exit $i" &
done
wait
check_equal "16 parallel runs of one name: 16 traces" 16 "$(ls tracelet-out/same_*.pb | wc -l)"
check_not "no spool is left" ls tracelet-out/*.spool
check_not "no temporary file either" ls tracelet-out/*.tmp
check "numbered within the second" ls tracelet-out/same_*_1.pb
check_not "only with numbers that are needed" ls tracelet-out/same_*_16.pb
check_equal "the manifest has a line for each" 16 "$(wc -l <tracelet-out/manifest.jsonl)"
check_equal "all are JSON, with 16 different artifacts and exits" "16 16" \
	"$(jq -rs '[map(.artifacts[0].path), map(.exit)] | map(unique | length) | join(" ")' tracelet-out/manifest.jsonl)"
jq -r '.artifacts[] | "\(.sha256)  \(.path)"' tracelet-out/manifest.jsonl >sums
check "their sha256 are right" sha256sum --quiet -c sums
check_equal "and their sizes" "$(jq -r '.artifacts[] | "\(.path) \(.size)"' tracelet-out/manifest.jsonl | sort)" \
	"$(stat -c '%n %s' tracelet-out/*.pb | sort)"
check_equal "each run's JSON is a line of the manifest" 16 "$(cat json.* | sort | comm -12 - <(sort tracelet-out/manifest.jsonl) | wc -l)"

# planted DESCRIPTION COMMAND: what a hostile test does to the name of its own artifact, $stem.
planted() {
	fresh
	echo precious >precious
	# shellcheck disable=SC2016 # the test expands it
	run traced --name p -- sh -c 'stem=$(ls tracelet-out/*.spool | sed s/.spool//); '"$2"'; exit 3'
	check_equal "$1: the status is the test's" 3 "$status"
	check_equal "$1: nothing is overwritten" precious "$(cat precious)"
	check "$1: the trace has another name" "$TRACELET" check tracelet-out/p_*_1.pb
	check_equal "$1: which the manifest knows" "$(ls tracelet-out/p_*_1.pb)" "$(jq -r '.artifacts[0].path' tracelet-out/manifest.jsonl)"
}
# shellcheck disable=SC2016
{
	planted "a link at the trace's name" 'ln -s ../precious $stem.pb'
	check "the link is still one" test -L "$(ls tracelet-out/p_*[0-9].pb | grep -v _1.pb)"
	planted "a link that leads nowhere" 'ln -s ../nowhere $stem.pb'
	check_not "and nothing is made there" test -e nowhere
	planted "a file at the trace's name" 'echo mine >$stem.pb; ln $stem.pb other'
	check_equal "the file is as it was" mine "$(cat other)"
}
fresh
echo precious >precious
# Links at all names of the next seconds.
mkdir tracelet-out
for second in {0..20}; do
	for kind in pb spool; do
		ln -s ../precious "tracelet-out/q_$(date -d "+$second sec" +%Y%m%d_%H%M%S).$kind"
	done
done
run traced --name q -- true
check_equal "links planted before the run: the test passes" 0 "$status"
check_equal "nothing is overwritten" precious "$(cat precious)"
check "and there is a trace" "$TRACELET" check tracelet-out/q_*_1.pb
rm -r tracelet-out && mkdir tracelet-out && ln -s ../precious tracelet-out/manifest.jsonl
run traced -- true
check_equal "a link for a manifest: nothing is overwritten" precious "$(cat precious)"
check_match "and one line says so" "manifest.jsonl: cannot be written" "$stderr"

# ---- an output folder that cannot be written ----

fresh
echo precious >file
no_folder() { # DESCRIPTION FOLDER: the test runs, one line says why there is no trace
	check_run "$1: the test runs, with its status" 5 traced --output-dir "$2" -- sh -c 'echo ran; exit 5'
	check_equal "$1: its output is there" ran "$(cat "$stdout")"
	check_lines "$1: one line" 1 "$stderr"
	check_match "$1: that names the folder and what to do" "no trace.*$2.*--output-dir" "$stderr"
	check_run "$1: --strict does not run it" 125 traced --strict --output-dir "$2" -- sh -c 'echo ran; exit 5'
	check_equal "$1: indeed not" "" "$(cat "$stdout")"
}
no_folder "a file in place of the folder" file
no_folder "a file in the way" file/below
check_equal "the file is as it was" precious "$(cat file)"
mkdir read-only
if mount --bind read-only read-only 2>/dev/null && mount -o remount,ro,bind read-only; then
	no_folder "a read-only folder" read-only
	umount read-only
	check_equal "nothing is in it" "" "$(ls -A read-only)"
else
	skip "a read-only folder" "nothing can be mounted here"
fi

# ---- the summary, in words and as JSON ----

fresh
"$TRACELET" run --name words --json 5 -- sh -c 'exit 3' 2>stderr 5>five
check_match "the test, its result, wall time" '^tracelet: words failed: exit status 3 in [0-9.e-]+ s$' stderr
check_match "why it took so long" '^  why +For ' stderr
check_match "the artifact with its size" '^  trace +tracelet-out/words_[0-9_]+\.pb \([0-9.]+ (bytes|kB)\)$' stderr
check_match "events, and losses" '^  events +[0-9,]+, none lost' stderr
check_match "cost of the programs and of the tracer" '^  cost +BPF .*[0-9.]+ ms.*, tracer [0-9]+ ms of CPU time$' stderr
check_match "the next command" '^  next .*tracelet report tracelet-out/words_[0-9_]+\.pb$' stderr
check_lines "and no more" 6 stderr
check "the next command works" sh -c "$(sed -n 's/^  next.*or: tracelet/"$TRACELET"/p' stderr)"
check_match "no colours in a file" '^[^'$'\033'']*$' stderr
check_equal "--json 5: the basic facts" \
	"words sh,-c,exit 3 3 true true $(uname -n) $(uname -r) default tree bpf perfetto true 0 true" "$(jq -r '[
	.test, (.command | join(",")), .exit, (.started | test("^20..-..-..T..:..:..\\....Z$")), (.wall_seconds > 0), .host,
	.kernel, .profile, .scope, .backend, .artifacts[0].kind, (.events > 5), (.lost | add // 0),
	(.cost | .bpf_seconds > 0 and .tracer_cpu_seconds > 0)] | join(" ")' five)"
check_equal "sources without losses are not listed" "" "$(jq -r '.lost | keys | join(" ")' five)"
check "the manifest's line is the same" cmp five tracelet-out/manifest.jsonl
check_equal "which session it is, on which machine" "2 true failed $(nproc --all) true" "$(jq -r '[
	.version, (.session | test("^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$")), .status,
	.cpus, (.memory > 1e8)] | join(" ")' five)"
traced --json file.json -- sh -c 'kill -9 $$'
check_equal "--json FILE, a signal" "9 null crashed" "$(jq -r '"\(.signal) \(.exit) \(.status)"' file.json)"
CI_COMMIT_SHA=0123456789abcdef0123456789abcdef01234567 CI_COMMIT_REF_NAME=$'a\nb' CI_PIPELINE_ID=7 GITLAB_CI=true \
	traced --json file.json -- true
check_equal "the source and the run, from the CI system" \
	'["gitlab-7",{"commit":"0123456789abcdef0123456789abcdef01234567","ci":"gitlab"}]' "$(jq -c '[.run, .source]' file.json)"
TRACELET_RUN=mine traced --json file.json -- true
check_equal "the user's name of the run" mine "$(jq -r .run file.json)"

# A daemon is not waited for by the test, but its CPU time is the test's, and it may stay.
fresh
mkfifo done
# shellcheck disable=SC2016
spin='while :; do read -r _ _ _ _ _ _ _ _ _ _ _ _ _ user _ </proc/$$/stat; [ "$user" -lt 30 ] || break; done'
"$TRACELET" run --name daemon --json daemon.json -- sh -c '(setsid sh -c "$0; echo >done" &) ; read -r _ <done
	(sleep 1000 >/dev/null 2>&1 & echo $! >sleeper); read -r pid <sleeper
	until read -r name </proc/$pid/comm && [ "$name" = sleep ]; do :; done' "$spin" 2>stderr
sleeper=$(cat sleeper)
check_equal "CPU time of a daemon counts: 0.3 s in user mode" true "$(jq '.cpu_seconds > 0.2 and .cpu_seconds < 10 * .wall_seconds' daemon.json)"
note "$(jq .cpu_seconds daemon.json) s"
# On a busy machine the daemon, which is done, may still be there, too.
check_equal "the manifest names the process that outlives the test" "sleep ($sleeper)" \
	"$(jq -r '.outlived | map(select(startswith("sh ") | not)) | join(" ")' daemon.json)"
check_match "so does the summary" "^  left +(1 process|2 processes) still running: (sh \([0-9]+\), )?sleep \($sleeper\)$" stderr
kill "$sleeper"
"$TRACELET" run --name nothing --json nothing.json -- sh -c '/bin/true & wait' 2>stderr
check_equal "where nothing stays, nothing is named" null "$(jq .outlived nothing.json)"

fresh
echo old >file.json
traced --json file.json -- true
check_equal "a file the user named is replaced" passed "$(jq -r .result file.json)"
for target in - 1 /dev/stdout; do
	check_equal "--json $target is what the user asked for" "test ran passed" \
		"$(traced --json $target -- echo test ran | sed '2s/.*"result":"\([a-z]*\)".*/\1/' | paste -sd ' ')"
done
check_equal "words that JSON must escape" $'a "b"\\\n\x01' \
	"$(traced --json - -- true $'a "b"\\\n\x01' | jq -r '.command[1]')"
run traced --json no/such/folder/file -- sh -c 'exit 4'
check_equal "--json to where nothing can be written: the status is the test's" 4 "$status"
check_match "and one line says so" "--json no/such/folder/file: cannot be written" "$stderr"
traced --keep-spool --json spool.json -- true
check_equal "--keep-spool keeps it, and the summary shows it" "$(ls tracelet-out/*.spool)" \
	"$(jq -r '.artifacts[] | select(.kind == "spool").path' spool.json)"
check_run "--verbose says more" 0 "$TRACELET" run --verbose -- true
check "on stderr" test "$(wc -l <"$stderr")" -gt 5
check_equal "only there" "" "$(cat "$stdout")"

# ---- invalid options ----

fresh
bad_value() { # OPTION VALUE
	check_run "$1 '$2' is bad usage" 2 "$TRACELET" run "$1=$2" -- touch started
	check_lines "one line" 1 "$stderr"
	check_match "that names it" "^tracelet: $1: '$2' is not " "$stderr"
}
bad_value --scope all
bad_value --scope ''
bad_value --duration x
bad_value --duration -1
bad_value --duration nan
bad_value --duration 1x
bad_value --wait-tree x
bad_value --wait-tree -1
bad_value --waits soon
bad_value --waits -1
bad_value --buffer-size x
bad_value --buffer-size 1
bad_value --buffer-size -1
bad_value --buffer-size 2G
bad_value --buffer-size 99999999999999999999
bad_value --buffer-size 1MM
bad_value --output-dir ''
bad_value --json ''
bad_value --json 77
check_run "an option that is not there" 2 "$TRACELET" run --no-such -- touch started
check_run "an option without its value" 2 "$TRACELET" run --name
check_equal "nothing was started or made" "" "$(ls -A)"
check_run "an option after the command is the command's" 0 "$TRACELET" run --quiet -- echo --scope all
check_equal "unchanged" "--scope all" "$(cat "$stdout")"
check_run "also without --" 0 "$TRACELET" run --quiet echo --scope all
check_equal "unchanged" "--scope all" "$(cat "$stdout")"

done_testing
