# `tracelet report`, `run --report` and `each --report`: which tests get a page, what is in it, where it is.
. "$(dirname "$0")/lib.sh"
need_root
need_command jq

# kinds TEST: the kinds of its artifacts, in the newest line.
kinds() {
	jq -r --arg test "$1" 'select(.test == $test) | [.artifacts[].kind] | join(" ")' out/manifest.jsonl | tail -n 1
}

unset CI TF_BUILD
run "$TRACELET" run --output-dir out --name fails -- sh -c 'exit 1'
check_equal "usually no page" perfetto "$(kinds fails)"

# ---- which tests ----

run env CI=1 "$TRACELET" run --output-dir out --name fails -- sh -c 'exit 1'
check_equal "in CI a test that fails gets one" "perfetto report" "$(kinds fails)"
check_match "the summary has its path" "report +out/fails_.*\.html" "$stderr"
run env CI=1 "$TRACELET" run --output-dir out --keep always --name passes -- true
check_equal "... and one that passes does not" perfetto "$(kinds passes)"
run env CI=1 "$TRACELET" run --report=never --output-dir out --name fails -- sh -c 'exit 1'
check_equal "--report=never" perfetto "$(kinds fails)"
run "$TRACELET" run --report --output-dir out --name passes -- true
check_equal "--report" "perfetto report" "$(kinds passes)"
run "$TRACELET" run --report=sometimes --output-dir out -- true
check_equal "a bad value" 2 "$status"
page=$(jq -r 'select(.test == "fails").artifacts[] | select(.kind == "report").path' out/manifest.jsonl | head -n 1)
check_equal "a page is private" 600 "$(stat -c %a "$page")"
check_equal "and its sum is known" "$(sha256sum <"$page" | cut -d' ' -f1)" \
	"$(jq -r 'select(.test == "fails").artifacts[] | select(.kind == "report").sha256' out/manifest.jsonl | head -n 1)"

# ---- what is in it ----

"$TRACELET" run --output-dir out --name slow -- sh -c 'sleep 0.01' >/dev/null 2>&1
"$TRACELET" run --report --output-dir out --name slow -- sh -c 'printf "\033[31mbad\033[0m src/a<b.c:12: wrong\n"; sleep 0.3; exit 3' >printed.txt 2>/dev/null
check_equal "the test's output is untouched" "$(printf '\033[31mbad\033[0m src/a<b.c:12: wrong')" "$(cat printed.txt)"
page=$(echo out/slow_*.html)
check "the verdict" grep -qF '>failed: exit status 3</span>' "$page"
check "why" grep -q '<p class="why">slow failed: exit status 3.*slept' "$page"
check "the end of its output, where that is in a file" grep -qF 'bad src/a&lt;<mark>b.c:12</mark>: wrong' "$page"
check "what the last passing run did" grep -qF 'Against the last passing run' "$page"
check "a picture without JavaScript" grep -qF '<figure class="picture"><svg' "$page"
check "the trace itself" grep -q '<template class="file" data-name="slow_[^"]*\.pb">' "$page"
check_not "nothing from elsewhere is loaded" grep -Eq '(src|href)="?(https?:)?//[^u]' "$page"
check "a policy" grep -q "Content-Security-Policy\" content=\"default-src 'none'; script-src 'sha256-" "$page"

# ---- the verb ----

run "$TRACELET" report --output-dir out slow
check_equal "of a test" "0 out/slow.html" "$status $(cat "$stdout")"
run "$TRACELET" report "$(ls out/slow_*.pb | tail -n 1)" -o file.html
check_equal "of a file" "0 file.html" "$status $(cat "$stdout")"
check "a file next to a manifest has its verdict" grep -qF 'failed: exit status 3' file.html
cp "$(ls out/slow_*.pb | tail -n 1)" alone.pb
run "$TRACELET" report alone.pb -o -
check_equal "of a file alone, on standard output" 0 "$status"
check "it is a page" grep -q '</html>' "$stdout"
run "$TRACELET" report out
check_equal "of a directory" "0 out/report.html" "$status $(cat "$stdout")"
check "a run has counts" grep -qE '[0-9]+ failed</span>, <span class="passed">[0-9]+ passed' out/report.html
check "failed tests are inside" grep -q '<article class="test" data-name="slow">' out/report.html
run "$TRACELET" report --embed none out
check_not "--embed none" grep -q '<article' out/report.html
run "$TRACELET" report --embed-size 100 out
check_not "--embed-size" grep -q '<article' out/report.html
run "$TRACELET" report --output-dir out nothing
check_equal "an unknown test" 2 "$status"
check_match "says what is wrong" "nothing: neither a test in out, nor a file or directory" "$stderr"
run "$TRACELET" report --output-dir out slow alone.pb -o several.html
check_equal "several tests and files" 0 "$status"
check "are inside" test "$(grep -c '<article class="test" data-name="\(slow\|alone.pb\)">' several.html)" = 2
mkdir empty
run "$TRACELET" report empty
check_equal "a directory without a run" 2 "$status"
run "$TRACELET" report --embed some out
check_equal "a bad --embed" 2 "$status"

# ---- each ----

cat >suite <<'END'
#!/bin/sh
case $1 in
good) echo "ok 1 - good" ;;
bad) echo "here.c:7: it is bad"; echo "not ok 1 - bad"; exit 1 ;;
*) echo 1..2; echo "ok 1 - good"; echo "not ok 2 - bad" ;;
esac
END
chmod +x suite
run "$TRACELET" each --report=failed --once --framework tap --select '{}' --output-dir cases -- ./suite
check "each has a page" grep -qF 'cases/report.html' "$stdout"
check "with what failed and what it printed" grep -qF '<mark>here.c:7</mark>: it is bad' cases/report.html
check "and what passed" grep -qF '>1 failed</span>, <span class="passed">1 passed' cases/report.html
done_testing
