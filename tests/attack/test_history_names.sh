# Manifests in which every name is hostile, through `history`, `store` and `view`: escape sequences, orders to CI systems,
# commits that are shell commands, paths out of the directory.
. "$(dirname "$0")/lib.sh"
need_command python3
hostile=$source/tests/attack/helpers/hostile.py

# made DESCRIPTION KIND COMMAND...: its output is valid for that kind, and its messages hold nothing hostile.
made() {
	local description=$1 kind=$2
	shift 2
	run "$@"
	cp "$stdout" made.out
	check_equal "$description" 0 "$status"
	check "... nothing hostile in it, nor in its messages" python3 "$hostile" check "$kind" made.out text "$stderr"
}

# ---- history ----

mkdir out
python3 "$hostile" history >out/manifest.jsonl || exit 1
ask() { "$TRACELET" history --output-dir out --until 2026-10-05 "$@"; }
for question in "" tests runs trend slow flaky "functions --recent 1d" "compare latest --baseline main"; do
	made "history $question" text ask $question
	made "history $question --json" json ask $question --json
	made "history $question --markdown" markdown ask $question --markdown
done
ask trend >made.out
check "there are changes, and a line to paste for none of these commits" sh -c 'grep -q "^  .*wall_ns" made.out && ! grep -q "git bisect" made.out'

# Names that are asked for: those that are there, and those that are not, which a message repeats.
long=$(printf 'x%.0s' {1..10000})
for name in ::error::pwned '##vso[task.setvariable variable=x]pwned' '&pwned;' __proto__ \
	../../../etc/passwd -x trend; do
	for form in --json --markdown; do
		made "history of ${name@Q} $form" ${form#--} ask $form -- "$name"
	done
	made "why ${name@Q} is flaky" text ask flaky --why "$name"
done
refused() { # DESCRIPTION COMMAND...: with one line of plain text
	local description=$1
	shift
	run timeout 60 "$@"
	check "$description: refused" test "$status" != 0
	check "... in one line" test "$(wc -l <"$stderr")" = 1
	cat "$stderr" >>refusals
}
for name in "$long" $'\033[2Jnone' $'none\n::error::pwned' '##vso[x]none' $'\377\376' $'\u202enone'; do
	for words in "--" "flaky --why" "compare latest --baseline"; do
		refused "no $(printf %.20q "$name"): $words" "$TRACELET" history --output-dir out $words "$name"
	done
done
odd=$(printf 'a\n::error::pwned\033[31m##vso[x]')
mkdir "$odd"
cp out/manifest.jsonl "$odd"
made "a directory with such a name" text "$TRACELET" history --output-dir "$odd" tests
refused "one that is not there" "$TRACELET" history --output-dir "$odd/none"

# ---- view ----

python3 "$hostile" make || exit 1
for file in hostile.dhat.json hostile.pb hostile.perf hostile.folded; do
	made "view: $file" page "$TRACELET" view -o - $file
done
made "view: all of them" page "$TRACELET" view -o - hostile.dhat.json hostile.pb hostile.perf hostile.folded
printf '{"tables":[{"table":"</script><script>window.pwned=1</script>","group":["\\u001b[31m"]}]}' >preset.json
made "view: a preset" page "$TRACELET" view -o - --preset preset.json hostile.pb
for name in "$odd.pb" '</title><script>window.pwned=1</script>.pb' '"><img src=x onerror=pwned>.pb' $'\377\376.pb' '../.pb'; do
	mkdir -p "$(dirname "$name")"
	cp hostile.pb "$name"
	made "view: ${name@Q}" page "$TRACELET" view -o - "$name"
	made "report: ${name@Q}" page "$TRACELET" report -o - "$name"
done
# Without -o the page gets a name from the recording's, in a directory of its own.
unset DISPLAY WAYLAND_DISPLAY
mkdir temporary
made "view: a page of its own" text env TMPDIR="$work/temporary" "$TRACELET" view "$odd.pb"
check_equal "is in a new directory" 1 "$(find temporary -mindepth 2 -type f | tr -dc '/' | wc -c | awk '{ print ($1 == 2) }')"
refused "one that is not there" "$TRACELET" view "none $odd"
refused "a preset that is not there" "$TRACELET" view -o - --preset "none $odd" hostile.pb

# ---- store ----

unset TRACELET_STORE TRACELET_OBJECTS
made "store export of a directory" csv "$TRACELET" store export --to out
made "store export --json" jsonl "$TRACELET" store export --json --to "$odd"
for words in "push out" init check export "sql 1"; do
	for address in "clickhouse+http://h/$odd" "none $odd"; do
		refused "store $words" "$TRACELET" store $words --to "$address"
	done
done
refused "a place" "$TRACELET" store push out --to clickhouse+http://127.0.0.1:1/ci --objects "s3://$odd"
run "$TRACELET" store push --to clickhouse+http://127.0.0.1:1/ci --patience 1 --strict "none $odd"
check_equal "a directory that is not there" 1 "$status"
cat "$stdout" "$stderr" >>refusals
check "what was refused, and why: plain text" python3 "$hostile" check text refusals
done_testing
