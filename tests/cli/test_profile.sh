# Profiles: what they contain, what a .wprp file may look like, and how 'run' uses them.
. "$(dirname "$0")/lib.sh"
need_command jq
sizes=

# profile NAME KEYWORDS...: a file with one profile of that name; $sizes go into its collector.
profile() {
	local name=$1 keyword
	shift
	echo '<WindowsPerformanceRecorder Version="1.0"><Profiles>'
	echo "<SystemCollector Id=\"SC\" Name=\"NT Kernel Logger\">$sizes</SystemCollector>"
	echo '<SystemProvider Id="SP"><Keywords>'
	for keyword in "$@"; do
		echo "<Keyword Value=\"$keyword\"/>"
	done
	echo '</Keywords></SystemProvider>'
	echo "<Profile Id=\"$name.Verbose.File\" Name=\"$name\" DetailLevel=\"Verbose\" LoggingMode=\"File\">"
	echo '<Collectors><SystemCollectorId Value="SC"><SystemProviderId Value="SP"/></SystemCollectorId>'
	echo '</Collectors></Profile></Profiles></WindowsPerformanceRecorder>'
}

# ---- list, show ----

check_run "list exits with 0" 0 "$TRACELET" profile list
check_equal "and lists all" "default embedded light cpu memory io system-calls verbose" \
	"$(cut -d ' ' -f 1 "$stdout" | xargs)"
for name in $(cut -d ' ' -f 1 "$stdout"); do
	check_run "$name can be shown" 0 "$TRACELET" profile show "$name"
	check_match "what is recorded" '^  CSwitch +recorded: sched_switch$' "$stdout"
	check_run "exported" 0 "$TRACELET" profile export "$name" -o "$name.wprp"
	check_run "checked" 0 "$TRACELET" profile check "$name.wprp"
	"$TRACELET" profile show --json "$name" >before
	"$TRACELET" profile show --json "$name.wprp" >after
	check_equal "and is the same when read back" "$(jq -S 'del(.file, .keywords[].state)' before)" \
		"$(jq -S 'del(.file, .keywords[].state)' after)"
done
check_run "what is recorded is shown" 0 "$TRACELET" profile show system-calls
check_match "so" '^  SystemCall +recorded: sys_enter, sys_exit$' "$stdout"
check_run "without a name it is what run records" 0 "$TRACELET" profile show
check_match "which is the default one" '^default.Light.File, built in' "$stdout"
check_run "export writes to standard output" 0 "$TRACELET" profile export light
check "the same" cmp "$stdout" light.wprp
check_run "one that is not there" 2 "$TRACELET" profile show nothing
check_lines "is reported in one line" 1 "$stderr"
check_run "one that is nearly called so" 2 "$TRACELET" profile show embeded
check_match "is asked for" "did you mean 'embedded'\\?" "$stderr"
check_run "nothing is like this one" 2 "$TRACELET" profile show nothing
check_not "so nothing is asked" grep -q 'did you mean' "$stderr"
check_run "export to a folder that is not there" 2 "$TRACELET" profile export -o no/such/file
check_lines "too" 1 "$stderr"

# ---- selection ----

profile Mine Interrupt Registry Pool >mine.wprp
check_run "a file" 0 "$TRACELET" profile show mine.wprp
check_match "recorded" '^  Interrupt +recorded: irq_handler' "$stdout"
check_match "too" '^  Pool +recorded: kmalloc' "$stdout"
check_match "never" '^  Registry +Linux has nothing like it$' "$stdout"
check_run "a profile of it" 0 "$TRACELET" profile show 'mine.wprp!mine.verbose'
check_run "one that it does not have" 2 "$TRACELET" profile show 'mine.wprp!Yours'
check_match "its profiles are listed" "mine.wprp: it has no profile 'Yours'; it has Mine.Verbose.File" "$stderr"

# ---- sizes ----

sizes='<BufferSize Value="512"/><Buffers Value="4"/><MaximumFileSize Value="1" FileMode="Sequential"/>'
profile Small SystemCall >small.wprp
sizes='<BufferSize Value="1024"/><Buffers Value="8"/><MaximumFileSize Value="3" FileMode="Circular"/>'
profile Round SystemCall >round.wprp
sizes='<BufferSize Value="1024"/><Buffers Value="5"/>'
profile Ring SystemCall | sed 's/\.File/.Memory/; s/"File"/"Memory"/' >ring.wprp
sizes=
check_run "sizes of a file are shown" 0 "$TRACELET" profile show small.wprp
check_match "buffers" '^  --buffer-size 2M +between kernel and tracer' "$stdout"
check_match "and the limit" '^  --max-size 1M +recording stops then' "$stdout"
check_run "a circular file" 0 "$TRACELET" profile show round.wprp
check_match "is a flight recorder" '^  --type memory +flight recorder' "$stdout"
check_match "of its size" '^  --ring-size 3M +its capacity: MaximumFileSize' "$stdout"
check_equal "so are a profile's buffers in memory" '{"type":"memory","ring_size":5242880}' \
	"$("$TRACELET" profile show --json ring.wprp | jq -c .linux)"
check_equal "a built-in one says nothing of sizes" '{"type":"file","sample":999}' \
	"$("$TRACELET" profile show --json cpu | jq -c .linux)"
check_run "one to leave on" 0 "$TRACELET" profile show embedded
check_match "samples seldom" '^  --sample=249 +samples a second: SampledProfile along with page faults' "$stdout"

# ---- several ----

check_run "several are shown" 0 "$TRACELET" profile show io small.wprp
check_match "as one" '^io\+Small\.Verbose\.File, built in, small\.wprp$' "$stdout"
check_match "the first's" '^  DiskIO ' "$stdout"
check_match "and the second's" '^  SystemCall ' "$stdout"
cp "$stdout" several
check_run "a plus is the same" 0 "$TRACELET" profile show io+small.wprp
check "all of it" cmp several "$stdout"
check_equal "larger buffers win" 8388608 \
	"$("$TRACELET" profile show --json small.wprp round.wprp | jq .linux.buffer_size)"
cp small.wprp a+b.wprp
check_run "a file with a plus in its name" 0 "$TRACELET" profile show a+b.wprp light
check_match "is one file" '^Small\+light\.Verbose\.File, a\+b\.wprp, built in$' "$stdout"
check_run "one of several that is not there" 2 "$TRACELET" profile show light+nothing
check_lines "is reported" 1 "$stderr"
check_lines "and nothing shown" 0 "$stdout"
check_run "with --strict it is an error" 125 "$TRACELET" run --strict --profile light --profile nothing -- touch ran
check_not "before the test" test -e ran

# ---- check ----

check_run "a good file" 0 "$TRACELET" profile check mine.wprp light.wprp
check_lines "a line for each" 2 "$stdout"
printf '<WindowsPerformanceRecorder>\n  <Profiles>\n</Wrong>\n' >broken.wprp
check_run "a broken one" 1 "$TRACELET" profile check broken.wprp
check_equal "line and column" "tracelet: broken.wprp:3:3: mismatched tag" "$(cat "$stderr")"
check_lines "and nothing else" 0 "$stdout"
profile Typo VirtualAlloc >typo.wprp
check_run "a word that WPR does not know" 1 "$TRACELET" profile check typo.wprp
check_equal "is reported" "tracelet: typo.wprp:4:1: WPR has no Keyword 'VirtualAlloc' (did you mean 'VirtualAllocation'?)" "$(cat "$stderr")"
check_run "the good ones are checked all the same" 1 "$TRACELET" profile check typo.wprp mine.wprp
check_match "the good one" '^mine.wprp: valid, 1 profile$' "$stdout"
check_run "one that cannot be read" 2 "$TRACELET" profile check typo.wprp missing.wprp
cat >bomb.wprp <<'END'
<!DOCTYPE b [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;"><!ENTITY c SYSTEM "file:///etc/passwd">]>
<WindowsPerformanceRecorder>&b;&c;</WindowsPerformanceRecorder>
END
check_run "entities are refused" 1 "$TRACELET" profile check bomb.wprp
check_match "so" 'bomb.wprp:1:[0-9]+: DOCTYPE is not allowed' "$stderr"
check_run "not XML at all" 1 "$TRACELET" profile check "$TRACELET"
check_lines "one line" 1 "$stderr"
check_run "check needs a file" 2 "$TRACELET" profile check
check_run "profile needs a word" 2 "$TRACELET" profile
check_run "which must be known" 2 "$TRACELET" profile make
check_run "list has no JSON" 2 "$TRACELET" profile list --json

# ---- the document ----

sed -e '1,/^## Keywords/d' -e '/^## Stacks/,$d' "$source/docs/profiles.md" >table
# shellcheck disable=SC2046 # one word for each keyword
profile All $(sed -n 's/^| `\([A-Za-z]*\)` |.*/\1/p' table) >all.wprp
check_equal "docs/profiles.md has every keyword, and says of each what the program says" \
	"$("$TRACELET" profile show --json all.wprp | jq -r '.keywords[] | "\(.name): \(.state)"' | sort)" \
	"$(sed -n 's/^| `\([A-Za-z]*\)` | .* | \([^|]*\) |$/\1: \2/p' table | sort)"
sed '1,/^## Stacks/d' "$source/docs/profiles.md" | sed -n 's/^| `\([A-Za-z]*\)` | \(.*\) |$/\1: \2/p' >table
profile All CSwitch | sed "s|</Keywords>|&<Stacks>$(sed 's|\([A-Za-z]*\):.*|<Stack Value=\"\1\"/>|' table | tr -d '\n')</Stacks>|" >stacks.wprp
check_equal "and of every stack at what it is taken" "$(sort table)" \
	"$("$TRACELET" profile show --json stacks.wprp | jq -r '.stacks[] | "\(.name): \(.state)"' |
		sed -E -e 's/: (recorded|not available):? ?/: /' -e 's/ \(.*//' | sort)"
check_equal "all 68 of them" 68 "$("$TRACELET" profile show --json all.wprp | jq '.keywords | length')"

# ---- a run ----

check_run "an unknown profile is an error with --strict" 125 "$TRACELET" run --strict --profile nothing -- touch ran
check_not "and the test does not run" test -e ran
check_lines "one line says so" 1 "$stderr"
check_match "which" "profile nothing: no such profile" "$stderr"
check_run "so is a broken one" 125 "$TRACELET" run --strict --profile broken.wprp -- touch ran
check_match "with its place" "broken.wprp:3:3: mismatched tag" "$stderr"
profile CSwitch | sed 's|</Keywords>|<Keyword Value="Nonsense"/>&|' >words.wprp
check_run "a word that 'profile check' refuses" 1 "$TRACELET" profile check words.wprp
check_run "is refused by --strict" 125 "$TRACELET" run --strict --profile words.wprp -- touch ran
check_not "the test does not run" test -e ran
check_lines "one line says so" 1 "$stderr"
check_match "which" "words.wprp:.*Nonsense.*--strict: the test was not run" "$stderr"
cat >windows.wprp <<-'END'
	<?xml version="1.0" encoding="utf-8"?>
	<WindowsPerformanceRecorder Version="1.0"><Profiles>
	<EventCollector Id="C" Name="c"><BufferSize Value="1024"/><Buffers Value="64"/></EventCollector>
	<EventProvider Id="P" Name="394f321c-5cf4-404c-aa34-4df1428a7f9c"/>
	<Profile Id="W.Verbose.File" Name="W" DetailLevel="Verbose" LoggingMode="File" Description="d"><Collectors>
	<EventCollectorId Value="C"><EventProviders><EventProviderId Value="P"/></EventProviders></EventCollectorId>
	</Collectors></Profile></Profiles></WindowsPerformanceRecorder>
END
if [ "$(id -u)" = 0 ]; then
	check_run "a profile with providers of Windows only" 3 "$TRACELET" run --quiet --profile windows.wprp -- sh -c 'exit 3'
	check_lines "is one line" 1 "$stderr"
	check_match "that says what is recorded, and what to add" \
		"windows.wprp: .*recording only processes .*--profile windows.wprp\+default" "$stderr"
	check_run "with that" 3 "$TRACELET" run --quiet --profile windows.wprp+default -- sh -c 'exit 3'
	check_lines "there is nothing to say" 0 "$stderr"
fi
check_run "without tracing profiles are not read" 0 "$TRACELET" run --strict --enabled no --profile nothing -- true
check_lines "nothing is printed" 0 "$stderr"

if [ "$(id -u)" != 0 ]; then
	skip "what is recorded" "this needs root"
	done_testing
fi
# traced PROFILE: leaves $stderr, and the trace's events in the file "events".
traced() {
	rm -rf tracelet-out
	run "$TRACELET" run --quiet --profile "$1" --output-dir tracelet-out -- sh -c 'sleep 0.01; i=0; while [ $i -lt 100000 ]; do i=$((i+1)); done; exit 3'
	"$TRACELET" dump tracelet-out/*.pb >events
}
traced nothing
check_equal "an unknown profile: the test runs all the same" 3 "$status"
check_lines "one warning" 1 "$stderr"
check_match "says what is recorded" "recording with embedded" "$stderr"
check_equal "as in the manifest" embedded "$(jq -r .profile tracelet-out/manifest.jsonl)"
check_match "and it is" 'sched' events
check_equal "standard input stays the test's" "for the test" \
	"$(echo for the test | "$TRACELET" run --quiet --profile - -- cat 2>/dev/null)"
traced /dev/zero
check_equal "a profile without end holds up no test" 3 "$status"
traced default
check_lines "the default says nothing" 0 "$stderr"
check_not "has no flame graph" ls tracelet-out/*.svg
check_match "and has interrupts" ' (irq|softirq)/(entry|exit) ' events
traced cpu
check_lines "cpu says nothing" 0 "$stderr"
check "and has one" ls tracelet-out/*.svg
traced light
check_lines "light says nothing" 0 "$stderr"
check_match "has switches" 'sched' events
check_not "no interrupts" grep -Eq ' (irq|softirq)/(entry|exit) ' events
traced mine.wprp
check_match "a file's missing words are listed in one warning" \
	"profile mine.wprp: not recorded here: Registry" "$stderr"
check_lines "only one" 1 "$stderr"
check_not "no switches where none were asked for" grep -Eq 'sched.*switch' events
check_equal "the test's status" 3 "$status"
# ring_of OPTIONS...: the size of the ring between kernel and tracer, which is the test's sibling. Smaller
# rings only ask for interrupts.
ring_of() {
	# shellcheck disable=SC2016 # the inner shell's
	"$TRACELET" run --quiet --output-dir tracelet-out "$@" -- bash -c '
		for process in $(cat /proc/$PPID/task/*/children); do
			for map in /proc/"$process"/fdinfo/*; do
				grep -qs "^map_type:.27$" "$map" && sed -n "s/^max_entries:.//p" "$map"
			done
		done; true' 2>/dev/null | sort -n | tail -n 1
}
check_equal "a profile's buffers are the ring's size" 2097152 "$(ring_of --profile small.wprp)"
check_equal "a flag is stronger" 4194304 "$(ring_of --profile small.wprp --buffer-size 4M)"
# copies OPTIONS...: runs a test with many system calls; leaves $stderr and a spool.
copies() {
	rm -rf tracelet-out
	run "$TRACELET" run --quiet --keep-spool --output-dir tracelet-out "$@" -- \
		dd if=/dev/zero of=/dev/null bs=1 count=100000 status=none
}
copies --profile small.wprp
check_equal "a test goes on when its recording is full" 0 "$status"
check_match "which is reported" 'recording stopped after 1\.05 MB' "$stderr"
check_lines "in one line" 1 "$stderr"
check_equal "the manifest says why and when" '"--max-size" true' "$(jq -r '.recording_stopped.after_seconds as $after |
	"\"\(.recording_stopped.by)\" \($after > 0 and $after < .wall_seconds)"' tracelet-out/manifest.jsonl)"
check_equal "so does the trace, where it ends" "--max-size 1" "$("$TRACELET" info tracelet-out/*.pb | sed -n 's/^recording-stopped //p') $(
	"$TRACELET" dump tracelet-out/*.pb | tail -n 100 | grep -c 'recording stopped')"
check "it is as large as it may be" test "$(stat -c %s tracelet-out/*.spool)" -le $((1100 << 10))
check "and not smaller" test "$(stat -c %s tracelet-out/*.spool)" -ge $((512 << 10))
check_run "its trace is whole" 0 "$TRACELET" check tracelet-out/*.pb
copies --profile small.wprp --max-size 1G
check_not "a flag is stronger here, too" grep -q 'recording stopped' "$stderr"
check "so there is more" test "$(stat -c %s tracelet-out/*.spool)" -gt $((1100 << 10))
copies --profile round.wprp
check_not "of a circular one nothing is left if the test passes" ls tracelet-out/*.pb
traced round.wprp
check "and a trace if it fails" test -s events
rm -rf tracelet-out
"$TRACELET" run --quiet --profile light --profile small.wprp --output-dir tracelet-out -- true 2>"$stderr"
check_lines "several at once" 0 "$stderr"
check_equal "are in the manifest" "light+$(realpath small.wprp)" "$(jq -r .profile tracelet-out/manifest.jsonl)"
"$TRACELET" dump tracelet-out/*.pb >events
check_match "what the first records" 'sched' events
check_match "and the second" 'sys_exit' events
traced light+nothing
check_match "one that is not there is a warning" 'nothing: no such profile.*; recording without it' "$stderr"
check_lines "one" 1 "$stderr"
check_equal "the others are recorded" light "$(jq -r .profile tracelet-out/manifest.jsonl)"
mkdir -p project/below
profile Own ProcessThread >project/own.wprp
echo 'profile = own.wprp!Own' >project/tracelet.ini
(cd project/below && "$TRACELET" run --quiet -- true) 2>"$stderr"
check_lines "a profile in tracelet.ini is found from a folder below" 0 "$stderr"
check_equal "and is in the manifest" "$(realpath project/own.wprp)!Own" \
	"$(jq -r .profile project/below/tracelet-out/manifest.jsonl)"
echo 'profile = light+own.wprp!Own' >project/tracelet.ini
rm -r project/below/tracelet-out
(cd project/below && "$TRACELET" run --quiet -- true) 2>"$stderr"
check_equal "also one of several" "light+$(realpath project/own.wprp)!Own" \
	"$(jq -r .profile project/below/tracelet-out/manifest.jsonl)"
run "$TRACELET" start --profile nothing --quiet x
check_match "an operation warns as well" "recording with embedded" "$stderr"
"$TRACELET" cancel x >/dev/null 2>&1

done_testing
