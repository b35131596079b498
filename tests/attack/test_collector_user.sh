# Root records for another user (--user) where a collector runs. The collector would record with root's rights, so it
# gets no such session: a tracer records, the recording is that user's, and nobody else's.
. "$(dirname "$0")/lib.sh"
. "$source/tests/cli/helpers/collector.sh"
need_bpf
need_command gcc jq
is_sanitized && skip_all "a sanitizer's program cannot be given to another user"
start_collector
export TRACELET_COLLECTOR_SOCKET
mkdir -m 777 out
person=$first_user:$first_user

cat >secret.c <<'END'
#include <stdlib.h>
#include <string.h>
int main(int argc, char **argv) {
	volatile char secret[6000];
	for (int i = 0; i < (int)sizeof(secret) / 3; i++) // it is nowhere in the file
		memcpy((char *)secret + 3 * i, (char[]){'c', "abcd"[i % 4], (char)('0' + argc)}, 3);
	abort();
}
END
gcc -O0 -o own secret.c
cp own set-user-id && chmod 4755 set-user-id
secret=ca2cb2cc2cd2

sessions() { grep -c 'session [0-9]* of uid' "$work_root/collector.log"; }
backend() { jq -r "select(.test == \"$1\") | .backend" "$2/manifest.jsonl"; }
# what_and_whose FOLDER: owners and modes of all in it, each once
what_and_whose() { find "$1" -printf '%U:%G %m\n' | sort -u | xargs; }
for_person() { run "$TRACELET" run --user $person --output-dir "$work/$folder" --keep-spool "$@"; }

# The control: a user's own run, and root's own, go to the collector.
as $first_user "$TRACELET" run --quiet --collector require --output-dir "$work/out/own" --name own -- true
"$TRACELET" run --quiet --output-dir "$work/out/root" --name root -- true
check_equal "the collector records here" "collector collector" "$(backend own out/own) $(backend root out/root)"
wait_until sh -c "[ \$(grep -c 'session [0-9]* of uid' '$work_root/collector.log') = 2 ]"

folder=out/person
for_person --quiet --name crash -- sh -c './own word; ./set-user-id word; id -u >&2; exit 6'
check_equal "root's run for a user: its status" 6 "$status"
check_match "and its user" "^$first_user\$" "$stderr"
check_equal "a tracer records it" bpf "$(backend crash $folder)"
check_equal "all files are the user's alone" "$person 600 $person 700" "$(what_and_whose $folder)"
check "the memory of his own program is in it" grep -aq "$secret" $folder/crash_*.spool
for_person --quiet --name set-user-id -- sh -c './set-user-id word; exit 0'
check_not "but none of one with root's rights" grep -aq "$secret" $folder/set-user-id_*.spool
check "he can read it" as $first_user test -r $folder/crash_*.pb
check_not "another one of the collector's users cannot" as $second_user cat $folder/crash_*.pb
check_not "nor list it" as $second_user ls $folder

for_person --collector require --name required -- sh -c 'exit 5'
check_equal "a collector that must be: the test runs" 5 "$status"
check_equal "one line says why there is no trace" 1 "$(grep -c 'no trace: .*it records only for the user who asks' "$stderr")"
check_equal "and there is none" 0 "$(find $folder -name 'required*.pb' -o -name 'required*.spool' | wc -l)"

SUDO_UID=$first_user SUDO_GID=$first_user run "$TRACELET" run --quiet --user sudo --output-dir "$work/out/sudo" --name sudo -- true
check_equal "sudo's user: a tracer, and his files" "bpf $person 600 $person 700" "$(backend sudo out/sudo) $(what_and_whose out/sudo)"

export TRACELET_STATE_DIR=$work/state
check_run "an operation" 0 "$TRACELET" start --user $person --output-dir "$work/out/step" step
check_run "ends" 0 "$TRACELET" stop step
check_equal "a tracer, and his files" "bpf $person 600 $person 700" "$(backend step out/step) $(what_and_whose out/step)"

# Root without the right to trace, as in a container: less is recorded, but not with root's rights.
run setpriv --bounding-set=-all,+setuid,+setgid,+chown --inh-caps=-all "$TRACELET" run --quiet --user $person --output-dir "$work/out/less" --name less -- true
check_equal "root without the right to trace" 0 "$status"
check_not "does not use it either" grep -q '"backend":"collector"' out/less/manifest.jsonl

check_equal "the collector had none of these sessions" 2 "$(sessions)"
check_equal "not even one that is open" 0 "$(collector_counter sessions)"
stop_collector
check_equal "it ends in peace" 0 $?
check_equal "and tells of none" 2 "$(sessions)"
done_testing
