# artifact and check --landed: what a folder's manifest lists, and whether it exists.
begin
native=$source/build
landed() {
	tracelet check --landed tracelet-out --name "$@"
}

# check_says DESCRIPTION REGEX: one line that has everything it should.
check_says() {
	check_lines "$1: one line" 1 "$stderr"
	check_match "$1: what was expected, found, and where to look" "expected.*found.*look at" "$stderr"
	check_match "$1: $2" "$2" "$stderr"
}

check_run "artifact of a folder that is not there" 1 tracelet artifact some
check_match "says what it looked for" "no artifact 'etl' for some" "$stderr"
check_lines "in one line" 1 "$stderr"
check_run "what landed in it" 1 landed some
check_says "no folder" "no manifest"
if "$native/tests/etl/make_etl" sample.etl 2>/dev/null; then
	WPR_ETL=$(win "$work/sample.etl")
	export WPR_ETL
	check_run "a test leaves a trace" 0 tracelet run --quiet --name 'Prüfung ü' -- "$child" exit 0
	check_run "artifact" 0 tracelet artifact 'Prüfung ü'
	path=$(tr -d '\r' <"$stdout")
	check_equal "prints its path" "$(trace)" "${path#./}"
	check_run "by its kind" 0 tracelet artifact 'Prüfung ü' etl
	check_equal "too" "$path" "$(tr -d '\r' <"$stdout")"
	check_run "of another kind" 1 tracelet artifact 'Prüfung ü' dump
	check_match "there is none" "no artifact 'dump' for" "$stderr"
	check_run "in another folder" 0 tracelet artifact --output-dir "$(win "$work/tracelet-out")" 'Prüfung ü'
	check_match "as it is called" '^Z:.*tracelet-out/Prüfung_ü_[0-9_]*\.etl' "$stdout"
	check_run "it has landed" 0 landed 'Prüfung ü'
	check_match "as reported" 'tracelet-out/Prüfung_ü_[0-9_]*\.etl: ok, the trace of Prüfung_ü \(passed\)' "$stdout"
	check_run "another one has not" 1 landed other
	check_says "another test" "session of other"
	check_run "it may be too small" 1 landed 'Prüfung ü' --min-size 100000000
	check_says "too small" "at least 100000000 bytes"
	"$native/tracelet" check --landed tracelet-out --name 'Prüfung ü' >expected
	check_match "Linux finds it in the same folder" 'etl: ok' expected
	check_equal "and its path" "$path" "$("$native/tracelet" artifact 'Prüfung ü')"

	truncate -s -1 "$path"
	check_run "a trace that was cut off" 1 landed 'Prüfung ü'
	check_says "cut off" "expected $(stat -c %s sample.etl) bytes, found"
	cp sample.etl "$path"
	printf '\x0b' | dd of="$path" bs=1 seek=1000 conv=notrunc status=none
	check_run "a trace that was changed" 1 landed 'Prüfung ü'
	check_says "changed" "SHA-256"
	rm "$path"
	check_run "a trace that is gone" 1 landed 'Prüfung ü'
	check_says "gone" "No such file"
	unset WPR_ETL
else
	skip "a native build is there" "no $native"
fi
tracelet run --quiet --name text -- "$child" exit 0 2>/dev/null
check_run "a file that is no recording" 1 landed text --min-size 1
check_says "no recording" "begins with a session header"
tracelet run --quiet --keep never --name kept -- "$child" exit 0 2>/dev/null
check_run "a trace that was not kept" 1 landed kept
check_says "not kept" "look at --keep"
WPR_START_CODE=c5585011 tracelet run --quiet --name denied -- "$child" exit 0 2>/dev/null
check_run "a test without a trace" 1 landed denied
check_says "nothing was recorded" "that nothing was recorded; look at the tracer's permissions"
check_equal "as its line in the manifest says" 'passed 0 null 0' \
	"$(jq -r 'select(.test == "denied") | "\(.result) \(.exit) \(.backend) \(.artifacts | length)"' tracelet-out/manifest.jsonl)"
tracelet start running 2>/dev/null
check_run "artifact of what is recording" 0 tracelet artifact running
check_match "is where it will be" '^Z:.*\\running_[0-9_]*\.etl' "$stdout"
tracelet cancel running 2>/dev/null

# A manifest from Linux, from a folder that was copied; and arbitrary lines.
mkdir copied
printf 'x' >copied/left_20260102_030405.spool
cat >copied/manifest.jsonl <<-'END'
	{"test":"vm","result":"not run","started":"2026-01-02T03:04:05.000Z","artifacts":[],"guest_failed":"panic: \u00fc"}
	{"test":"one","result":"passed","started":"2026-01-02T03:04:05.000Z","backend":"bpf","artifacts":[{"kind":"perfetto","path":"/elsewhere/one.pb"}]}
	{"test":"one","repro":true,"result":"passed","started":"2026-01-02T03:04:05.000Z","backend":7,"artifacts":[{"kind":"perfetto","path":"..\\..\\again.pb"}]}
	{"test":"one","variant_hash":"36ceceea5c2beda7","started":"2026-01-02T03:04:05.000Z","artifacts":[{"kind":"perfetto","path":"variant.pb"}]}
	{"test":"out","started":"2026-01-02T03:04:05.000Z","artifacts":[{"kind":"perfetto","path":"x/.."}]}
	{"test":"etl","result":"passed","started":"2026-01-02T03:04:05.000Z","backend":"wpr","artifacts":[{"kind":"etl","path":"C:\\out\\x.etl"}]}
	{"test":"one","result":
END
check_run "a machine that failed" 3 tracelet check --landed copied --name vm
check_match "is reported as such" "virtual machine of vm failed: panic: ü" "$stderr"
check_run "a trace of Linux" 0 tracelet artifact --output-dir copied one
check_equal "is found beside the manifest" copied/one.pb "$(tr -d '\r' <"$stdout")"
check_run "the run after a failed one" 0 tracelet artifact --output-dir copied --repro one
check_equal "is another" copied/again.pb "$(tr -d '\r' <"$stdout")"
check_run "no path leads out of the folder" 1 tracelet artifact --output-dir copied out
check_run "what a dead tracer has left" 1 tracelet check --landed copied --name left
check_says "left over" "but copied/left_20260102_030405.spool; look at why the tracer died"
check_run "a variant of Linux" 0 tracelet artifact --output-dir copied --variant '{"topology":"1n1l1c1t","work_type":"","sysctls":[],"scheduler":"eevdf","payload":null,"kargs":[]}' one
check_equal "has the same hash here" copied/variant.pb "$(tr -d '\r' <"$stdout")"
check_run "another one" 1 tracelet check --landed copied --name one --variant a=b
check_says "another variant" "only 2 of other variants; look at --variant here"
check_run "what is no variant" 2 tracelet check --landed copied --name one --variant nothing
check_match "is reported" "^tracelet: --variant: 'nothing' is not KEY=VALUE or a JSON object" "$stderr"
check_lines "in one line" 1 "$stderr"
check_run "a test of a variant" 0 tracelet run --quiet --name sibling --variant 'scheduler=größer "1"' --variant cpus=2 -- "$child" exit 0
line=$(jq -c 'select(.test == "sibling")' tracelet-out/manifest.jsonl)
check_equal "is in the manifest" '{"cpus":"2","scheduler":"größer \"1\""}' "$(jq -c .variant <<<"$line")"
check_match "its hash is in the name of its trace" "^sibling-$(jq -r .variant_hash <<<"$line")_[0-9_]*\.etl$" <(ls tracelet-out)
check_run "it is found by it" 0 tracelet artifact --variant cpus=2 --variant 'scheduler=größer "1"' sibling
check_run "and by nothing else" 1 tracelet artifact sibling
"$native/tracelet" run --quiet --output-dir there --name sibling --variant 'scheduler=größer "1"' --variant cpus=2 -- true 2>/dev/null
check_equal "Linux calls it the same" "$(jq -r .variant_hash <<<"$line")" "$(jq -r .variant_hash there/manifest.jsonl)"
tracelet start --quiet --variant a=b operated
check_run "an operation of a variant" 0 tracelet stop operated
check_equal "keeps it to its end" '{"a":"b"}' "$(jq -c 'select(.test == "operated").variant' tracelet-out/manifest.jsonl)"
if [ -e sample.etl ]; then
	"$native/tracelet" convert sample.etl copied/one.pb
	check_run "a Perfetto trace" 0 tracelet check --landed copied --name one
	truncate -s -1 copied/one.pb
	check_run "is looked at to its last byte" 1 tracelet check --landed copied --name one
	check_says "a Perfetto trace" "good packets up to the last"
	cp sample.etl copied/x.etl
	check_run "a recording whose size is not noted" 0 tracelet check --landed copied --name etl
	truncate -s -1 copied/x.etl
	check_run "is looked at to its last byte, too" 1 tracelet check --landed copied --name etl
	check_says "a recording" "whole buffers up to the last byte"
fi
check_run "a name is needed" 2 tracelet check --landed copied

# Verbs that exist only on Linux.
for verb in stat heap vm guest agent; do
	check_run "$verb is rejected with a reason" 2 tracelet "$verb" --help
	check_match "$verb: as not there" "no verb '$verb' on Windows; .*(tracelet|Linux)" "$stderr"
	check_lines "$verb: in one line" 1 "$stderr"
done
