# Flame graphs and tables from profiles, as files; tests/browser opens them.
. "$(dirname "$0")/lib.sh"

cat >stacks.folded <<'END'
a;main;f 60
a;main;f;memcpy 20
b;main;<T>::g 20
END

check_run "a flame graph" 0 "$TRACELET" flame stacks.folded -o out.svg
check_lines "without a message" 0 "$stderr"
check "is XML" python3 -c 'import xml.dom.minidom; xml.dom.minidom.parse("out.svg")'
check_match "has the frames with their shares" '<title>f \(80 samples, 80.00%\)</title>' out.svg
check_match "names as text" '<text[^>]*>&lt;T&gt;::g</text>' out.svg
"$TRACELET" flame stacks.folded >again.svg
check "is the same every time" cmp out.svg again.svg
check_run "a page" 0 "$TRACELET" flame --title "A & B" stacks.folded -o out.html
check_match "by its name" '^<!DOCTYPE html>' out.html
check_match "with its title" '<h1>A &amp; B</h1>' out.html
check_not "that fetches nothing" grep -E '(src|href)=' out.html

printf 'a 1 1.5: 7 cycles:\n\t401000 f (/x)\n' >script
check_run "perf script's text" 0 "$TRACELET" flame script -o out.svg
check_match "is drawn at once, in its unit" '<title>f \(7 cycles' out.svg
check_run "from standard input" 0 "$TRACELET" flame -o out.svg <stacks.folded
check_match "too" '<title>f \(80 samples' out.svg
check_run "narrow frames are left out" 0 "$TRACELET" flame --min-width 30% stacks.folded -o out.svg
check_not "and not drawn" grep memcpy out.svg

check_run "a palette" 0 "$TRACELET" flame --cp stacks.folded -o out.svg
check_match "is written" '^memcpy->rgb\(' palette.map
echo 'memcpy->rgb(1,2,3)' >palette.map
check_run "and taken" 0 "$TRACELET" flame --cp stacks.folded -o out.svg
check_match "from there" '<title>memcpy .*fill="rgb\(1,2,3\)"' out.svg

cat >after.folded <<'END'
a;main;f 30
a;main;f;memcpy 50
b;main;<T>::g 20
END
check_run "a differential one" 0 "$TRACELET" flame --diff stacks.folded after.folded -o out.svg
check_match "shows the change" '<title>memcpy \(50 samples, 50.00%; \+30.00%\)' out.svg
printf 'a;f 10 30\na;g 30 10\n' >two.folded
check_run "from lines with two numbers" 0 "$TRACELET" flame two.folded -o out.svg
check_match "too" '<title>f \(30 samples, 75.00%; \+50.00%\)' out.svg

check_run "top" 0 "$TRACELET" top stacks.folded
check_match "has self and total" '^ +60.00% +60 +80.00% +80 +f$' "$stdout"
printf 'a;f;g;f;g 10\n' >deep.folded
check_equal "recursion counts once" "f 10 g 10" \
	"$("$TRACELET" top --json deep.folded | jq -r '.functions | sort_by(.name) | map(select(.name != "a") | "\(.name) \(.total)") | join(" ")')"
check_run "callers and callees" 0 "$TRACELET" top --function f stacks.folded
check_match "of one function" '25.00% of it  memcpy' "$stdout"
check_run "a function that is not there" 2 "$TRACELET" top --function nothing stacks.folded
check_lines "is reported in one line" 1 "$stderr"

check_run "diff" 0 "$TRACELET" diff stacks.folded after.folded
check_match "has what grew" '^ +20.00% +50.00% +\+30.00% \*\*\* .*memcpy' "$stdout"
check_match "and what did not" '^ +20.00% +20.00% +\+0.00% +20.00% .*<T>::g' "$stdout"
check_run "fails if that is asked for" 1 "$TRACELET" diff --fail-above 10 stacks.folded after.folded
check_run "draws, too" 0 "$TRACELET" diff -o out.html stacks.folded after.folded
check_match "a page" '^<!DOCTYPE html>' out.html

"$TRACELET" convert stacks.folded out.speedscope.json
check_equal "speedscope has each stack" "60 a;main;f,20 a;main;f;memcpy,20 b;main;<T>::g" \
	"$(jq -r '. as $all | .profiles[0] | [.weights, .samples] | transpose | sort_by(.[1] | length) | map("\(.[0]) " + ([.[1][] | $all.shared.frames[.].name] | join(";"))) | sort_by(.[3:]) | join(",")' out.speedscope.json)"
"$TRACELET" convert stacks.folded out.gecko.json
check_equal "a profile for Firefox is whole" "" "$(jq -r -f "$source/tests/cli/gecko.jq" out.gecko.json 2>&1)"
check_equal "and has each stack" "60 a;main;f,20 a;main;f;memcpy,20 b;main;<T>::g" \
	"$(jq -r '.shared as $s | def path: if . == null then [] else ($s.stackTable.prefix[.] | path) + [$s.stringArray[$s.funcTable.name[$s.stackTable.frame[.]]]] end;
		.threads[0].samples | [.weight, .stack] | transpose | map("\(.[0]) \(.[1] | path | join(";"))") | sort_by(.[3:]) | join(",")' out.gecko.json)"
"$TRACELET" convert script out.pprof
check_match "pprof has the names" 'samples.*count.*cycles.*/x' <(tr '\n\0' '  ' <out.pprof)
check "and its strings end with nothing" test -s out.pprof

# Samples on a clock: 3 of them, 6 ms.
for time in 1.1 1.2 1.3; do printf 'a 1 %s: 2000000 cpu-clock:\n\t401000 f (/x)\n\n' $time; done >clock
"$TRACELET" flame clock -o out.svg
check_match "time is drawn in milliseconds" '<title>f \(6 ms, 100' out.svg
run "$TRACELET" top clock
check_match "top says how many samples and how long" '^3 samples of cpu-clock, 0.006 s$' "$stdout"
check_match "of each function, too" ' 6\.000 .* 6\.000 +3  f' "$stdout"
check_equal "also as JSON" '["nanoseconds",6000000,3]' \
	"$("$TRACELET" top --json clock | jq -c '[.unit, (.functions[] | select(.name == "f") | .self, .self_samples)]')"
"$TRACELET" convert clock out.speedscope.json
check_equal "speedscope has both" '[["cpu-clock","nanoseconds",6000000,[6000000]],["samples","none",3,[3]]]' \
	"$(jq -c '[.profiles[:2][] | [.name, .unit, .endValue, .weights]]' out.speedscope.json)"
"$TRACELET" convert clock out.pprof
check_match "pprof has both" 'samples.*count.*cpu-clock.*nanoseconds' <(tr '\n\0' '  ' <out.pprof)

rm -f out.*
: >empty
for verb in "flame -o out.svg" "top" "diff stacks.folded"; do
	check_run "$verb of nothing fails" 2 "$TRACELET" $verb empty
	check_lines "in one line" 1 "$stderr"
done
check_not "and leaves nothing" ls out.*
check_run "an unknown theme" 2 "$TRACELET" flame --colors pink stacks.folded -o out.svg
check_match "is named" pink "$stderr"
check_run "a folder that is not there" 2 "$TRACELET" flame stacks.folded -o no/out.svg
check_lines "is reported in one line" 1 "$stderr"
done_testing
