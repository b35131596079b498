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
check "why" grep -q '<p class="why"><span>slow failed: exit status 3.*<strong>.*For [0-9.]* m\?s' "$page"
check "where the time went, as a bar" grep -q '<div class="shares"><svg width="100%".*<rect x=' "$page"
check "the end of its output, where that is in a file" grep -qF 'bad src/a&lt;<mark>b.c:12</mark>: wrong' "$page"
check "what the last passing run did" grep -qF 'Against the last passing run' "$page"
check "its counters, too" grep -qE '<td>switches</td><td class="number">[0-9]+</td><td class="number">[0-9]+</td>' "$page"
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
check "a run has counts" grep -qE '<li class="failed"><b>[0-9]+</b> failed</li>' out/report.html
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

# ---- shards ----

# 120 tests, some of them twice; in 8 folders, every tenth session in two of them.
awk 'BEGIN { for (i = 0; i < 140; i++) printf "{\"version\":2,\"session\":\"%08d-0000-4000-8000-000000000000\",\"test\":\"case_%d\",\"kind\":\"test\",\"status\":\"%s\",\"result\":\"%s\",\"started\":\"2026-01-01T00:%02d:%02d.000Z\",\"wall_seconds\":%.3f,\"cpu_seconds\":0.001,\"artifacts\":[]}\n", i, i % 120, i % 7 ? "passed" : "failed", i % 7 ? "passed" : "failed: exit status 1", i / 60, i % 60, i / 1000 }' >all.jsonl
mkdir whole
cp all.jsonl whole/manifest.jsonl
for shard in 0 1 2 3 4 5 6 7; do
	mkdir "shard-$shard"
	awk -v s=$shard '(NR * 5 % 8) == s || NR % 10 == 0 && (NR + 3) % 8 == s' all.jsonl >"shard-$shard/manifest.jsonl"
done
check "some sessions are in two shards" test "$(cat shard-*/manifest.jsonl | wc -l)" -gt 140
"$TRACELET" report whole -o whole.html >/dev/null
"$TRACELET" report shard-* -o shards.html >/dev/null
if command -v node >/dev/null; then
	node "$source/tests/browser/runs.mjs" whole.html >whole.txt
	node "$source/tests/browser/runs.mjs" shards.html >shards.txt
	check_equal "a run of 120 tests" 120 "$(wc -l <whole.txt)"
	check "8 shards are the same run" cmp whole.txt shards.txt
else
	skip "8 shards are the same run" "no node"
fi
check_equal "with the same counts" "$(grep -E '^<li class=|<b>' whole.html | head -n 4)" "$(grep -E '^<li class=|<b>' shards.html | head -n 4)"

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
check "and what passed" test "$(grep -cE '<li class="(failed|passed)"><b>1</b>' cases/report.html)" = 2
done_testing
