# Recordings from elsewhere, read by tracelet.exe.
begin
native=$source/build
"$native/tests/etl/make_etl" sample.etl 2>/dev/null || skip "a native build is there" "no $native"
if [ -e sample.etl ]; then
	for words in "info sample.etl" "dump sample.etl" "table sample.etl cpu" "table sample.etl" "info --json sample.etl"; do
		# shellcheck disable=SC2086
		"$native/tracelet" $words >expected 2>expected.err
		wanted=$?
		# shellcheck disable=SC2086
		check_run "$words ends as on Linux" "$wanted" tracelet $words
		check "$words prints the same" cmp expected "$stdout"
	done
	check_run "an .etl file becomes a Perfetto trace" 0 tracelet convert sample.etl sample.pb
	"$native/tracelet" convert sample.etl expected.pb
	check "the same as on Linux" cmp expected.pb sample.pb
	check_run "the trace is good" 0 tracelet check sample.pb
	check_run "binary data goes through pipes" 0 bash -c \
		"timeout 60 wine '$build/tracelet.exe' convert --to perfetto - - <sample.etl >piped.pb"
	check "and comes out the same" cmp expected.pb piped.pb
	mkdir "Überprüfung 日本"
	cp sample.etl "Überprüfung 日本/Aufzeichnung é.etl"
	check_run "names of files in any language" 0 tracelet convert "Überprüfung 日本/Aufzeichnung é.etl" "Überprüfung 日本/ü.pb"
	check "both ways" cmp expected.pb "Überprüfung 日本/ü.pb"
	part=$(printf 'x%.0s' {1..100})
	mkdir -p "$part/$part/$part"
	cp sample.etl "$part/$part/$part/sample.etl"
	check_run "long names" 0 tracelet convert "$part/$part/$part/sample.etl" "$part/$part/$part/sample.pb"
	check "of more than 260 characters" cmp expected.pb "$part/$part/$part/sample.pb"
fi
printf 'main;work;a 3\nmain;work;b 5\n' >stacks.folded
for words in "top stacks.folded" "fold stacks.folded" "flame stacks.folded" "diff stacks.folded stacks.folded"; do
	# shellcheck disable=SC2086
	"$native/tracelet" $words >expected 2>/dev/null
	# shellcheck disable=SC2086
	check_run "$words" 0 tracelet $words
	check "$words prints the same" cmp expected "$stdout"
done
printf 'PERFILE2 and then nothing' >broken
check_run "a broken file is refused" 2 tracelet info broken
check_lines "in one line" 1 "$stderr"
check_run "a file that is not there, too" 2 tracelet info missing.etl
check_match "which says so" "missing.etl: cannot be read: No such file" "$stderr"
"$native/tracelet" profile export >expected
check_run "the built-in profile is exported" 0 tracelet profile export
check "the same as on Linux" cmp expected "$stdout"
check_run "each verb has a help" 0 tracelet help run
check_not "that offers nothing that is not there" grep -q -- '--heap\|Perfetto' "$stdout"
check_run "an unknown verb is reported" 2 tracelet nosuch
check_match "with where to look" "no verb 'nosuch' on Windows; 'tracelet --help' lists them" "$stderr"
check_run "an option that is not there, too" 2 tracelet run --nosuch
check_match "in the name of the program" '^tracelet: unknown option -- nosuch' "$stderr"
check_run "doctor" 0 tracelet doctor
check_match "finds wpr.exe" '^wpr.exe +works +Z:.*wpr.exe, answers in [0-9]+ ms' "$stdout"
TRACELET_WPR='Z:\nowhere\wpr.exe' run tracelet doctor --json
check_equal "or not" "1 none missing" "$status $(jq -r '[.recording, (.checks[] | select(.name == "wpr.exe") | .verdict)] | join(" ")' "$stdout")"
check_run "what a plain run records" 0 tracelet profile show
check_match "is shown" '^embedded.Verbose.File' "$stdout"
if [ -e sample.etl ] && python3 -c 'import zipfile; zipfile.ZipFile("sample.etl.zip", "w", zipfile.ZIP_DEFLATED).write("sample.etl")'; then
	check_run "an .etl.zip file" 0 tracelet convert sample.etl.zip zipped.pb
	check "is read, too" cmp expected.pb zipped.pb
fi
