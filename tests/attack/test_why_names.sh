# A test that fails with hostile names of threads, functions, files and processes on its critical path: the answer of
# `why` is in the summary, the manifest, JUnit and the files of CI systems, and nothing hostile gets there.
. "$(dirname "$0")/lib.sh"
need_bpf
need_command python3 jq gcc objcopy
hostile=$source/tests/attack/helpers/hostile.py
unset GITHUB_ACTIONS GITHUB_STEP_SUMMARY GITLAB_CI TF_BUILD JENKINS_URL

cat >slow.c <<'END'
#include <pthread.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>
static char *thread_name, *process_name;
__attribute__((noinline)) void wait_here(void) {
	usleep(60000);
	__asm__ volatile("");
}
static void *wait_there(void *unused) {
	(void)unused;
	prctl(PR_SET_NAME, thread_name);
	wait_here();
	return NULL;
}
int main(int argc, char **argv) {
	pthread_t thread;
	if (argc < 3)
		return 1;
	thread_name = argv[1];
	process_name = argv[2];
	pid_t child = fork();
	if (child == 0) {
		prctl(PR_SET_NAME, process_name);
		wait_here();
		_exit(0);
	}
	if (child < 0 || waitpid(child, NULL, 0) != child || pthread_create(&thread, NULL, wait_there, NULL) != 0)
		return 1;
	pthread_join(thread, NULL);
	return 3;
}
END
function=$(printf '\033[31m::error::pwned\n##vso[task.complete]</script><script>window.pwned=1</script>|`x`\377')
folder=$(printf 'a\n::error::pwned\033[31m##vso[x]|`')
mkdir "$folder"
gcc -g -O1 -pthread -c -o slow.o slow.c &&
	objcopy --redefine-sym "wait_here=$function" slow.o && gcc -pthread -o "$folder/slow" slow.o || exit 1

# tried VERB WORDS...: it fails, as it should; the names differ from time to time.
tried() { run "$TRACELET" "$@" -- "$folder/slow" "$thread" "$process"; }
plain() { # DESCRIPTION KIND FILE
	check "$1" python3 "$hostile" check "$2" "$3"
}

number=0
for pair in '\033[31mred|::error::pwned' '::error::pwned|##vso[x]pwned' '##[error]a|</script>' 'a\n::error::b|\377\376\303' \
	'|`c`<img>|a\rb' '\342\200\256gnp|"\\\\'; do
	fresh_name=bad$((number += 1))
	thread=$(printf "${pair%|*}x") && thread=${thread%x}
	process=$(printf "${pair##*|}x") && process=${process%x}
	tried run --sample --name $fresh_name --json said.json
	check_equal "pair $number: the status is the test's" 3 "$status"
	check_match "its summary says why" '^  why  ' "$stderr"
	plain "... without anything hostile" text "$stderr"
	plain "its JSON" json said.json
	check_equal "... has an answer and a digest" true "$(jq '(.explanation | length > 20) and (.time_digest.segments | length > 0)' said.json)"
	jq -r .explanation said.json >words
	plain "... in plain words" text words
	trace=$(the_trace $fresh_name)
	run "$TRACELET" why --limit 0 "$trace"
	plain "why" text "$stdout"
	run "$TRACELET" why --json "$trace"
	plain "why --json" json "$stdout"
	jq -r .text "$stdout" >words
	plain "... has plain words, too" text words
	check "the trace, with its track of the path, is well-formed" "$TRACELET" check "$trace"
done
run "$TRACELET" flame --path "$trace" -o -
plain "flame --path" xml "$stdout"
run "$TRACELET" diff tracelet-out/bad1_*.pb tracelet-out/bad2_*.pb
plain "diff of two paths" text "$stdout"
run "$TRACELET" diff --json tracelet-out/bad1_*.pb tracelet-out/bad2_*.pb
plain "diff --json" json "$stdout"
plain "the manifest" jsonl tracelet-out/manifest.jsonl

# ---- what CI systems get ----

tried each --junit results.xml
plain "JUnit with why" xml results.xml
check_match "... which has the answer" 'For [0-9.]+ ms' results.xml
thread='::error::pwned' process='##vso[x]pwned'

GITHUB_STEP_SUMMARY=$work/summary.md GITHUB_ACTIONS=true tried run --name github
plain "GitHub's summary" text summary.md
check_match "... has the answer" 'For [0-9.]+ ms' summary.md
check_not "... and no element but our own" grep -qP '(?<!\\)<(?!!-- tracelet -->|br>)' summary.md
plain "GitHub's log" text "$stderr"

TF_BUILD=True tried run --name azure
plain "Azure's summary" text tracelet-out/tracelet-summary.md
check_match "... has the answer" 'For [0-9.]+ ms' tracelet-out/tracelet-summary.md
check_not "... and no element but our own" grep -qP '(?<!\\)<(?!!-- tracelet -->|br>)' tracelet-out/tracelet-summary.md
grep -avE "^##vso\[(artifact.upload containerfolder=tracelet;artifactname=tracelet|task.uploadsummary)\]$work/tracelet-out/[a-z0-9_.-]+$" "$stderr" >left
plain "Azure gets no orders but our own" text left

GITLAB_CI=true tried run --name gitlab
sed -E 's/\x1b\[0Ksection_(start|end):[0-9]+:tracelet_[a-z0-9_]+(\[collapsed=true\])?\r\x1b\[0K//' "$stderr" >left
plain "GitLab gets no section but our own" text left
check_match "... with the answer" 'For [0-9.]+ ms' left
done_testing
