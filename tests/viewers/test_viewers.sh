#!/usr/bin/env bash
# Profiles as their viewers read them: Firefox Profiler's own command line, speedscope's schema of its format, pprof.
# Two threads of one process, whose samples are mixed in time.
. "$(dirname "$0")/../cli/lib.sh"
need_command node jq
cat >two.script <<'END'
app 10/10 [000] 1.000000:     250000 cpu-clock:
	          401000 work+0x1 (/bin/app)
	          402000 main+0x1 (/bin/app)

helper 10/11 [001] 1.001000:     250000 cpu-clock:
	          403000 help+0x1 (/bin/app)

app 10/10 [000] 1.002000:     500000 cpu-clock:
	          402000 main+0x2 (/bin/app)

helper 10/11 [001] 1.003000:     250000 cpu-clock:
	          403000 help+0x1 (/bin/app)

END
for format in gecko speedscope pprof; do
	"$TRACELET" convert --quiet --to $format two.script two.$format
done

# ---- Firefox Profiler ----

here=$source/tests/viewers
if modules=$("$here/setup" 2>reason)/node_modules && [ -d "$modules" ]; then
	export PROFILER_CLI_SESSION_DIR=$PWD/sessions PROFILER_CLI_NO_SYMBOLICATE=1 HOME=$PWD
	mkdir sessions
	firefox() { timeout 60 node "$modules/@firefox-devtools/profiler-cli/dist/profiler-cli.js" "$@"; }
	# Its `load` gives its server half a second; here the server has its time.
	timeout 120 node "$modules/@firefox-devtools/profiler-cli/dist/profiler-cli.js" --daemon "$PWD/two.gecko" --session one >daemon.log 2>&1 &
	while [ ! -S sessions/one.sock ] && kill -0 $! 2>/dev/null; do sleep 0.05; done
	check_run "Firefox Profiler loads a profile" 0 firefox thread list --session one
	check_match "with its threads" '^\*? *t-[01] +app +.* 10 ' "$stdout"
	check_match "all of them" '^\*? *t-[01] +helper +.* 10 ' "$stdout"
	run firefox thread functions --session one
	check_match "times of functions are those of their samples" 'main - self: 500μs \(66\.7%\), total: 750μs \(100' "$stdout"
	firefox stop one >/dev/null 2>&1
	wait $!

	# ---- speedscope ----

	check "speedscope's schema accepts a profile" node -e '
		const [modules, file] = process.argv.slice(1), fs = require("fs"), Ajv = require(modules + "/ajv");
		const schema = JSON.parse(fs.readFileSync(modules + "/speedscope/dist/release/file-format-schema.json"));
		delete schema.$schema; // an older one than the validator has
		const valid = new Ajv({ strict: false, validateSchema: false }).compile(schema);
		if (!valid(JSON.parse(fs.readFileSync(file)))) { console.log(valid.errors); process.exit(1); }
	' "$modules" two.speedscope
else
	skip "Firefox Profiler and speedscope" "$(cat reason)"
fi
check_equal "speedscope: a profile for each thread, in the order of time" 'app 10 250000,500000 helper 11 500000' \
	"$(jq -r '[.profiles[2:][] | .name, (.weights | join(","))] | join(" ")' two.speedscope)"

# ---- pprof ----

if command -v go >/dev/null && go tool pprof -raw two.pprof >raw 2>/dev/null; then
	check_match "pprof: samples and what they weigh" '^ +2 +500000: ' raw
	check_match "places have addresses" '0x401000 M=1 work' raw
	check_match "and how long it took" '^Duration: (3ms|0\.00)' raw
else
	skip "pprof" "there is no go tool pprof"
fi
done_testing
