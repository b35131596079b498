# What fails a CI job with --fail-on regression, and what does not: a busy machine, and what was slow for a while.
. "$(dirname "$0")/lib.sh"

# 50 commits with a run each. From the 26th on each test takes 30 ms instead of 20:
#   busy      waits 10 ms longer for a CPU
#   computes  computes longer
#   crowded   computes longer in several threads, which wait for each other
#   locked    waits longer, but not for a CPU
#   mended    computes longer, up to the 38th commit
mkdir out
awk '
function line(name, wall, cpu, ready) {
	printf "{\"version\":2,\"session\":\"01990000-0000-7000-8000-%012x\",\"test\":\"t\",\"name\":\"%s\",\"kind\":\"test\",\"status\":\"passed\",", ++number, name
	printf "\"started\":\"2026-10-%02dT%02d:00:00.000Z\",\"run\":\"run-%d\",\"source\":{\"commit\":\"%040x\",\"branch\":\"%s\"},", 1 + commit / 2, 12 * (commit % 2), commit, commit, name
	printf "\"wall_seconds\":%.6f,\"cpu_seconds\":%.6f,\"metrics\":{%s}}\n", wall * noise / 1000, cpu * noise / 1000, ready ? sprintf("\"ready_ns\":%d", ready * 1e6) : ""
}
BEGIN {
	for (commit = 1; commit <= 50; commit++) {
		late = commit > 25
		noise = 1 + (commit * 7 % 5 - 2) / 200
		line("busy", late ? 30 : 20, late ? 20.5 : 20, late ? 9.5 : 0)
		line("computes", late ? 30 : 20, late ? 30 : 20, 0)
		line("crowded", late ? 30 : 20, late ? 60 : 40, late ? 40 : 20)
		line("locked", late ? 30 : 20, 10, 0)
		line("mended", late && commit <= 38 ? 30 : 20, late && commit <= 38 ? 30 : 20, 0)
	}
}' >out/manifest.jsonl
ask() { run "$TRACELET" history --output-dir out --until 2026-11-01 "$@"; }
gate() { # NAME EXPECTED WORDS...
	local name=$1 expected=$2
	shift 2
	ask "$@" --fail-on regression
	check_equal "$name" "$expected" "$status"
}

# ---- trend; the branch has the name of the test ----

gate "trend: a test that computes longer is a regression" 1 trend --branch computes
gate "so is one whose threads wait for each other" 1 trend --branch crowded
gate "and one that waits for something else" 1 trend --branch locked
gate "one that waits longer for a CPU is not" 0 trend --branch busy
check_match "but is shown" "^  busy +wall_ns +20.* 30.* \+50 % +machine load" "$stdout"
ask trend --branch busy --json
check_equal "in the JSON, too" "true true" "$(jq -r '.changes[] | "\(.alert) \(.load)"' "$stdout")"
gate "its CPU time did not change" 0 trend --branch busy --metric cpu_ns
gate "nor is one that is as fast as before" 0 trend --branch mended
check_equal "though both changes are shown" 2 "$(grep -c '^  mended' "$stdout")"
gate "it was one while it was slow" 1 trend --branch mended --until 2026-10-20

# ---- compare; the baseline is the branch of the older run ----

# All tests on the branch main.
rm out/history.db
sed -i 's/"branch":"[a-z]*"/"branch":"main"/' out/manifest.jsonl
gate "compare: tests that became slower" 1 compare run-25 run-26
check_equal "all of them are listed, the busy one as such" "busy machine load,computes,crowded,locked,mended" \
	"$(awk '/wall_ns/ { print $1 ($0 ~ /machine load/ ? " machine load" : "") }' "$stdout" | sort | paste -sd,)"
grep '"busy"' out/manifest.jsonl >only && mv only out/manifest.jsonl && rm out/history.db
gate "a busy machine alone fails no job" 0 compare run-25 run-26
check_match "and is listed" "busy.*machine load" "$stdout"
ask compare run-25 run-26 --markdown
check_equal "Markdown does not count it as slower" "### Tests: 1 changed by machine load" "$(head -1 "$stdout")"
ask compare run-25 run-26 --json
check_equal "JSON says so" true "$(jq '.times[0].load' "$stdout")"

# ---- no manifest ----

mkdir empty
for folder in empty missing; do
	run "$TRACELET" history --output-dir $folder
	check_equal "no manifest in $folder is an error" 2 "$status"
	check_lines "of one line" 1 "$stderr"
done
done_testing
