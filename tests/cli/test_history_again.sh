# What history has run again: the suspects of compare --confirm, and the git bisect line of trend, pasted into a shell.
. "$(dirname "$0")/lib.sh"
need_command git dd

# ---- --confirm ----

# A test of a suite, a project and a class of machines: what runs again must be the same test.
identity=(--suite unit --project gadget --machine-class quiet --name case)
for run in first second; do
	"$TRACELET" run --quiet --run $run "${identity[@]}" -- sh -c 'echo >>count; test $(wc -l <count) != 2'
done
run "$TRACELET" history compare first second --fail-on regression
check_equal "a new failure" 1 "$status"
run "$TRACELET" history compare first second --fail-on regression --confirm 3
check_equal "a test of a suite is run again under its own name" 0 "$status"
check_equal "there is one test" 1 "$("$TRACELET" history tests --json | jq '.tests | length')"
check_equal "on one class of machines" "quiet" "$("$TRACELET" history --json case | jq -r '.series[].machine_class')"

# Fails, then four times of five: the last one does not decide alone.
fresh
for run in first second; do
	"$TRACELET" run --quiet --run $run --name often -- sh -c 'echo >>count; case $(wc -l <count) in 1 | 7) ;; *) exit 1 ;; esac'
done
run "$TRACELET" history compare first second --fail-on regression --confirm 5
check_equal "most of the sessions decide: it fails" 1 "$status"
check_match "and is listed" "^  often  passed  failed" "$stdout"
fresh
for run in first second; do
	"$TRACELET" run --quiet --run $run --name seldom -- sh -c 'echo >>count; case $(wc -l <count) in 2 | 7) exit 1 ;; esac'
done
run "$TRACELET" history compare first second --fail-on regression --confirm 5
check_equal "most of the sessions decide: it passes" 0 "$status"

# ---- a test that is known to be flaky ----

fresh
mkdir tracelet-out
session() { # STATUS COMMIT RUN
	number=$((${number:-0} + 1))
	printf '{"version":2,"session":"01990000-0000-7000-8000-%012x","test":"t","name":"shaky","kind":"test","status":"%s","started":"2026-10-01T00:%02d:00.000Z","wall_seconds":0.01,"source":{"commit":"%040x","branch":"main"},"run":"run-%s"}\n' \
		$number "$1" $number "$2" "$3"
}
{
	for commit in 1 2 3; do
		session failed $commit $commit
		session passed $commit $commit
	done
	session passed 4 4
	session failed 5 5
} >tracelet-out/manifest.jsonl
run "$TRACELET" history compare run-4 run-5
check_match "compare says that it is flaky" "^  shaky  passed  failed  3 of 4$" "$stdout"
run "$TRACELET" history compare run-4 run-5 --json
check_equal "so does the JSON" "3 4" "$(jq -r '.outcomes[] | "\(.flaky_commits) \(.commits)"' "$stdout")"
run "$TRACELET" history compare run-4 run-5 --markdown
check_equal "the first line of the Markdown has the result" "### Tests: 1 new failure" "$(head -1 "$stdout")"

# ---- git bisect ----

# 60 commits of a program that needs 40 MB, and 60 MB from the 38th on; a third of them was tested.
fresh
export GIT_CONFIG_GLOBAL=$work/gitconfig GIT_CONFIG_SYSTEM=/dev/null TRACELET_MACHINE_CLASS=here
git config --global user.name tester
git config --global user.email tester@example.invalid
git init -q -b main repository
cd repository || exit
echo tracelet-out >.gitignore
cat >program <<'END'
#!/bin/sh
. ./size
exec dd if=/dev/zero of=/dev/null bs="$size"M count=1 2>/dev/null
END
chmod +x program
mkdir tracelet-out
for ((i = 1; i <= 60; i++)); do
	echo "size=$((i < 38 ? 40 : 60)) # $i" >size
	git add . && git commit -qm "commit $i"
	[ $i != 38 ] || first_bad=$(git rev-parse HEAD)
	[ $((i % 3)) = 0 ] || continue
	printf '{"version":2,"session":"01990000-0000-7000-8000-%012x","test":"p","name":"program","kind":"test","status":"passed","started":"2026-10-01T00:%02d:00.000Z","wall_seconds":0.01,"metrics":{"max_rss":%d},"machine_class":"here","source":{"commit":"%s","branch":"main"},"run":"r%d"}\n' \
		$i $((i - 1)) $(((i < 38 ? 43 : 64) * 1000000 + i * 7919 % 50000)) "$(git rev-parse HEAD)" $i >>tracelet-out/manifest.jsonl
done
run "$TRACELET" history trend --metric max_rss
check_match "trend finds the change" "^  program  max_rss " "$stdout"
sed -n 's/^  git bisect/git bisect/p' "$stdout" | sed "s|BUILD|true|; s|COMMAND|./program|; s|tracelet |\"$TRACELET\" |g" >paste
sed -i "s|--run|--quiet --run|" paste
check_lines "with one line to paste" 1 paste
run bash paste
check "which finds the commit" grep -q "^$first_bad is the first bad commit" "$stdout"
git bisect reset >bisect.log 2>&1
run "$TRACELET" history trend --metric max_rss --since 2020-01-01 --json
check_equal "and adds no change" 1 "$(jq '.changes | length' "$stdout")"

# What shrank is no regression: there is nothing that a bisection could look for.
sed -i 's/"max_rss":4/"max_rss":9/' tracelet-out/manifest.jsonl
rm tracelet-out/history.db
run "$TRACELET" history trend --metric max_rss
check_match "an improvement is found" "^  program  max_rss .* -3" "$stdout"
check_not "without a line to paste" grep -q bisect "$stdout"
cd ..
done_testing
