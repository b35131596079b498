# A user whose tracelet has CAP_BPF and CAP_PERFMON (as 'doctor' advises) traces a set-user-id program that keeps a
# secret on its stack and crashes: the recording must contain nothing of its memory.
. "$(dirname "$0")/lib.sh"
need_bpf
need_command gcc setcap
is_sanitized && skip_all "a sanitizer's program cannot be given to another user"

# Files may give this user privileges.
as_attacker() {
	setpriv --reuid "$attacker" --regid nogroup --clear-groups --inh-caps=-all "$@"
}

mkdir program && cp "$TRACELET" "$(dirname "$TRACELET")/tracelet-stacks" program/
setcap cap_bpf,cap_perfmon+ep program/tracelet 2>/dev/null || skip_all "files have no capabilities here"
cat >secret.c <<'END'
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
int main(int argc, char **argv) {
	char secret[64] = "";
	for (int i = 0; i < 4; i++) // it is nowhere in the file
		strcat(secret, (char[]){"canary-"[0] + 0, "abcd"[i], (char)('0' + geteuid() % 10), 0});
	if (setuid(geteuid()) != 0 || write(2, "", 0) < 0 || strlen(secret) == 0)
		return 1;
	abort();
}
END
gcc -O0 -o secret secret.c
cp secret plain
chown root secret && chmod 4755 secret
as_attacker ./secret 2>/dev/null
secret="ca0cb0cc0cd0"
[ "$(as_attacker ./secret 2>/dev/null; echo $?)" = 134 ] || skip_all "set-user-id programs do not run here"

mkdir -m 777 out
trace() { # NAME PROGRAM
	as_attacker env HOME="$work/out" program/tracelet run --quiet --output-dir "$work/out" --keep-spool --sample --name "$1" -- sh -c "$2; exit 0" 2>"$1.err"
}
trace own ./plain
check "his own program's stack is in his recording" grep -aq "ca4cb4cc4cd4" out/own_*.spool
trace others ./secret
check "there is a recording" test -s "$(echo out/others_*.spool)"
check_not "with nothing from the stack of a set-user-id program" grep -aq "$secret" out/others_*.spool
"$TRACELET" dump --json out/others_*.spool >events
check_not "nor its crash" grep -q '"event":"crash"' events
# From the moment its privileges have changed; while the kernel loads it, a sample has no user frame in it.
check_equal "nor a sample" 0 "$(jq -c 'select(.event == "cpu-clock" and (.process == "(other user)"))' events | wc -l)"
left() { "$TRACELET" dump --json "$1" | jq -r 'select(.event == "rename") | .fields.name' | grep -c '^(other user)$'; }
check_equal "the trace says that it left" 1 "$(left out/others_*.spool)"

# A group's rights are rights, too. The canary has the user's own digit in it then.
cp plain group && chgrp shadow group && chmod 2755 group
[ "$(as_attacker sh -c './group; echo $?' 2>/dev/null)" = 134 ] || note "the set-group-id program does not run"
trace groups ./group
check_not "nothing from the stack of a set-group-id program" grep -aq "ca4cb4cc4cd4" out/groups_*.spool
check_equal "it left, too" 1 "$(left out/groups_*.spool)"

# A recording of the whole machine has its events, but not its memory.
as_attacker env HOME="$work/out" program/tracelet run --quiet --scope system --output-dir "$work/out" --keep-spool --sample --name whole -- \
	sh -c "./plain; ./secret; exit 0" 2>/dev/null
check "his own program's stack is in a recording of the machine" grep -aq "ca4cb4cc4cd4" out/whole_*.spool
check_not "not that of a set-user-id program" grep -aq "$secret" out/whole_*.spool

# Root records for him (--user): what he gets must not hold more either.
for program in plain secret group; do
	"$TRACELET" run --quiet --user "$attacker" --output-dir "$work/given" --keep-spool --sample --name $program -- sh -c "./$program; exit 0" 2>/dev/null
done
check_equal "root records for him: the folder is his" "$attacker" "$(stat -c %U given)"
check "his own program's stack is in it" grep -aq "ca4cb4cc4cd4" given/plain_*.spool
check_not "not that of a set-user-id program" grep -aq "$secret" given/secret_*.spool
check_not "nor of a set-group-id program" grep -aq "ca4cb4cc4cd4" given/group_*.spool
check_equal "both left" "1 1" "$(left given/secret_*.spool) $(left given/group_*.spool)"
"$TRACELET" run --quiet --user "$attacker" --output-dir "$work/given" --name spaces -- unshare --user --map-root-user sh -c '/bin/true inside' 2>/dev/null
if [ -s "$(echo given/spaces_*.pb)" ] && unshare --user true 2>/dev/null; then
	check_equal "in a user namespace of his own he has no more rights: he stays" 0 "$(left given/spaces_*.pb)"
	"$TRACELET" dump given/spaces_*.pb >inside
	check_match "... and is recorded" '/bin/true inside' inside
else
	skip "a user namespace" "there are none here"
fi
# Root's own script is recorded for him; its memory is not.
TRACELET_STATE_DIR=$work/state "$TRACELET" start -q --user "$attacker" --output-dir "$work/operation" step
(./secret) 2>/dev/null
/bin/true root-was-here
TRACELET_STATE_DIR=$work/state "$TRACELET" stop step >/dev/null
"$TRACELET" dump operation/step_*.pb >operation.txt
check_match "an operation of root's for him has its processes" 'root-was-here' operation.txt
check_not "and no stack of one that crashed" grep -q crash operation.txt
done_testing
