# Every question of `tracelet history` about a small manifest whose numbers are simple: the answers are those of
# history_answers.txt, byte for byte. `? WORDS` is a question, `= N` its exit status, the rest the answer.
#
# 30 commits of main, one run each, every 12 hours from 2026-10-01 on; the run of commit N is run-N.
#   even       10 ms, half of it waiting for a mutex
#   step       20 ms, from commit 21 on 26 ms, give or take 2 %
#   shaky      5 ms; at every third commit it fails first and passes then; when it fails, it waits 80 ms
#   broken     fails from commit 27 on
#   exact      makes 50,000 system calls, from commit 21 on 60,000
#   spends     1 s of CPU time; 40 % of it in parse(), from commit 16 on 60 %
#   gone       is not part of the last run; fresh: of no other one
#   stat       is counted: kind stat. server: its heap is watched: kind heap, recorded
#   old        ran in August. A fork's run: step took 9 s
. "$(dirname "$0")/lib.sh"

mkdir out
awk '
function line(name, status, ms, more) {
	number++
	printf "{\"version\":2,\"session\":\"01990000-0000-7000-8000-%012x\",\"test\":\"%s\",\"name\":\"%s\",\"kind\":\"%s\",", number, name, name, kind
	printf "\"status\":\"%s\",\"started\":\"%s\",\"wall_seconds\":%.6f,\"project\":\"demo\",\"run\":\"%s\",", status, started, ms / 1000, run
	printf "\"source\":{\"commit\":\"%03d%037d\",\"branch\":\"%s\"%s},\"machine\":\"x86_64\",\"cpu\":\"C\",\"cpus\":2,\"memory\":8589934592%s}\n",
		commit, 0, branch, fork, more
}
function stat_line(instructions) { kind = "stat"; line("counted", "passed", 3, ",\"metrics\":{\"instructions\":" instructions "}"); kind = "test" }
BEGIN {
	kind = "test"; branch = "main"
	started = "2026-08-01T00:00:00.000Z"; commit = 0; run = "run-0"
	line("old", "passed", 1)
	for (commit = 1; commit <= 30; commit++) {
		run = "run-" commit
		started = sprintf("2026-10-%02dT%02d:00:00.000Z", 1 + int(commit / 2), 12 * (commit % 2))
		line("even", "passed", 10, ",\"cpu_seconds\":0.005,\"metrics\":{\"lock_ns\":5000000,\"blocked_ns\":5000000},\"waited\":{\"mutex\":[1,5000000,5000000]}")
		line("step", "passed", (commit <= 20 ? 20 : 26) * (1 + (commit * 7 % 5 - 2) / 100))
		if (commit % 3 == 0)
			line("shaky", "failed", 5, ",\"metrics\":{\"blocked_ns\":80000000},\"waited\":{\"futex\":[2,80000000,60000000]}")
		line("shaky", "passed", 5, ",\"metrics\":{\"blocked_ns\":1000000},\"waited\":{\"futex\":[1,1000000,1000000]}")
		line("broken", commit < 27 ? "passed" : "failed", 2)
		line("exact", "passed", 4, ",\"metrics\":{\"syscalls\":" (commit <= 20 ? 50000 : 60000) "}")
		line("spends", "passed", 1000, ",\"cpu_seconds\":1,\"functions\":{\"samples\":100,\"self\":{\"parse\":" (commit <= 15 ? 40 : 60) ",\"read\":30}}")
		line(commit < 30 ? "gone" : "fresh", "passed", 1)
		stat_line(1000000 + commit)
	}
	commit = 30
	kind = "heap"
	line("server", "recorded", 9000, ",\"metrics\":{\"heap_peak\":4096,\"heap_total\":1048576}")
	kind = "test"; branch = "topic"; run = "run-31"; commit = 31; fork = ",\"fork\":true"
	started = "2026-10-16T12:00:00.000Z"
	line("step", "passed", 9000)
}' >out/manifest.jsonl

answer() {
	local words=()
	if [[ $1 == "-- "* ]]; then
		words=(-- "${1#-- }")
	else
		read -ra words <<<"$1"
	fi
	echo "? $1"
	status=0
	"$TRACELET" history --output-dir out --until 2026-10-17 "${words[@]}" 2>&1 || status=$?
	echo "= $status"
}

expected=$source/tests/cli/history_answers.txt
while IFS= read -r question; do
	answer "$question" >got
	awk -v wanted="? $question" '/^\? / { here = $0 == wanted } here' "$expected" >wanted
	check "${question:-the overview}" diff wanted got
done < <(sed -n 's/^? //p' "$expected")
check "every word is asked" test -z "$(for word in trend slow flaky compare functions runs tests; do
	grep -q "^? $word" "$expected" || echo "$word"
done)"
done_testing
