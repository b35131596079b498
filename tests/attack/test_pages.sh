# Flame graphs and reports of hostile recordings, opened in a real browser: no script of the attacker may run.
. "$(dirname "$0")/lib.sh"
need_command python3
modules=$("$source/tests/browser/setup") || {
	[ $? = 77 ] && skip_all "there is no browser to test with"
	exit 1
}
python3 "$source/tests/attack/helpers/hostile.py" make || exit 1
for file in hostile.dhat.json hostile.perf hostile.folded; do
	for format in svg html; do
		"$TRACELET" flame -o "$file.$format" "$file" 2>/dev/null || exit 1
	done
done
"$TRACELET" flame --palette colours.txt -o palette.svg hostile.folded || exit 1
for file in hostile.dhat.json hostile.perf hostile.folded hostile.pb; do
	"$TRACELET" report -o "report-$file.html" "$file" >/dev/null 2>&1 || exit 1
done
"$TRACELET" view -o report-view.html hostile.dhat.json hostile.perf hostile.folded hostile.pb >/dev/null 2>&1 || exit 1
# Everything that a manifest can say, and a run of such tests with such artifacts.
python3 "$source/tests/attack/helpers/hostile.py" manifest >manifest.jsonl || exit 1
"$TRACELET" report -o report-run.html --embed all . >/dev/null || exit 1
check_run "the pages are harmless" 0 env "PLAYWRIGHT=$modules/node_modules/playwright-core/index.mjs" \
	node "$source/tests/attack/helpers/pages.mjs" ./*.svg ./*.html
note "$(cat "$stdout" "$stderr")"
done_testing
