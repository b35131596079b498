# docs/tutorial.md, pasted from top to bottom into one shell. A block "sh fails" has to fail, a block "sh says WORD" to
# print that word.
. "$(dirname "$0")/lib.sh"
need_root
mkdir "$work_root/bin"
ln -s "$TRACELET" "$work_root/bin/tracelet"
export PATH=$work_root/bin:$PATH
unset GITHUB_ACTIONS GITHUB_STEP_SUMMARY GITLAB_CI TF_BUILD JENKINS_URL TRACELET_ENABLED

awk '/^```sh/ { block++; print substr($0, 7) >"kind" block; on = 1; next } /^```/ { on = 0 } on { print >"block" block }' \
	"$source/docs/tutorial.md"
count=$(ls block* | wc -l)
check "the tutorial has blocks" test "$count" -ge 8
blocks=$PWD
for ((i = 1; i <= count; i++)); do
	kind=$(cat "$blocks/kind$i") title=$(head -n 1 "$blocks/block$i")
	result=0
	# shellcheck disable=SC1090 # in this shell, as directories matter
	. "$blocks/block$i" >"$blocks/output" 2>&1 || result=$?
	case $kind in
	*fails*) check_equal "it fails: $title" 2 "$result" ;;
	*) check_equal "it works: $title" 0 "$result" ;;
	esac
	[ $result = 0 ] || [[ $kind = *fails* ]] || note "$(cat "$blocks/output")"
	[[ $kind != *says* ]] || check_match "it says ${kind#*says }" "${kind#*says }" "$blocks/output"
done
check "the page is there" grep -q '<html' cache_test.html
done_testing
