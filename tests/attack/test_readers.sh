# Only its owner can read a recording, whatever the umask; another user learns neither command lines nor
# kernel addresses.
. "$(dirname "$0")/lib.sh"
need_root
umask 022

modes() { find "$1" -type "$2" -printf '%m\n' | sort -u | xargs; }
traced() { "$TRACELET" run --quiet --output-dir "$@"; }
everything() { # FOLDER OPTIONS...: one of each kind of artifact
	local folder=$1
	shift
	run traced "$folder" "$@" --sample --off-cpu --heap --heap-leaks --keep-spool --name kinds -- "$helpers/heap" plain
	run traced "$folder" "$@" --timeout 1 --grace 1 --core --name slow -- sleep 60
	run traced "$folder" "$@" --repro --name again -- sh -c 'exit 3'
}

everything deep/out
check_equal "files" 600 "$(modes deep/out f)"
check_equal "their folder" 700 "$(stat -c %a deep/out)"
for kind in pb spool dhat.json svg stacks.txt repro.log jsonl; do
	check "among them .$kind" test -n "$(find deep/out -name "*.$kind" -print -quit)"
done
chmod 755 deep/out
check_not "another user cannot read a command line" as_attacker grep -rq . deep/out/manifest.jsonl
mkdir -m 755 given
run traced given -- true
check_equal "a folder that was there stays as it is" 755 "$(stat -c %a given)"

check_run "a group may read" 0 traced shared --artifact-group nogroup -- true
everything shared --artifact-group nogroup
check_equal "files" 640 "$(modes shared f)"
check_equal "their folder" 750 "$(modes shared d)"
check_equal "the group" nogroup "$(find shared -printf '%g\n' | sort -u)"
check "its members do" as_attacker grep -q . shared/manifest.jsonl
(umask 077 && traced tight --artifact-group nogroup -- true)
check_equal "the umask can only take away" 600 "$(modes tight f)"
check_run "no such group" 2 "$TRACELET" run --artifact-group nosuchgroup -- true
check_lines "one line says so" 1 "$stderr"
check_run "one that the user is not in" 2 "$TRACELET" run --user nobody --artifact-group adm -- true
check_lines "one line says so" 1 "$stderr"

check_run "what the caller names" 0 traced given --json named.json -- true
check_equal "follows the umask" 644 "$(stat -c %a named.json)"
run "$TRACELET" convert "$(find deep/out -name 'kinds*.spool')" converted.pb
check_equal "also of convert" 644 "$(stat -c %a converted.pb)"
check_run "operations" 0 env TRACELET_STATE_DIR="$work/state" sh -c '"$0" start --output-dir operation step && "$0" stop step' "$TRACELET"
check_equal "are private too" 600 "$(modes operation f)"

# Pointers into the kernel's memory, as its timers and its work have them.
pointers() { # TRACE: how many are told apart, and how many of them are addresses
	"$TRACELET" dump --json "$1" | jq -r '.fields | (.hrtimer, .timer, .work) | select(. != null)' | sort -u |
		awk '{ all++; if (length($1) > 10) real++ } END { print (all > 1), (real > 0) }'
}
check_run "a user's recording with timers" 0 traced users --user nobody --profile verbose --name timers -- \
	sh -c 'for i in 1 2 3 4 5; do sleep 0.01; done'
check_equal "has them, but not their addresses" "1 0" "$(pointers "$(find users -name 'timers*.pb')")"
traced mine --profile verbose --name timers -- sh -c 'for i in 1 2 3 4 5; do sleep 0.01; done'
check_equal "as root's own does" "1 1" "$(pointers "$(find mine -name 'timers*.pb')")"

# The kernel's address: the high bytes of its text, in binary and as text.
text=$(awk '$3 == "_text" { print $1; exit }' /proc/kallsyms)
if [ "$((16#$text))" = 0 ] || [ "$text" = ffffffff81000000 ]; then
	skip "the kernel's place is not in a user's recording" "this kernel hides it from root, or was not moved"
else
	check_run "a user's recording" 0 traced users --user nobody --sample --keep-spool --profile default+embedded --name kernel -- \
		dd if=/dev/zero of=/dev/null bs=1M count=2000 status=none
	"$TRACELET" dump "$(find users -name 'kernel*.pb')" >dumped
	check_match "names the kernel's functions" '(read_zero|iov_iter_zero|ksys_read|clear_user|vfs_read)' dumped
	cat >find.py <<'END'
import re, sys
text, files = int(sys.argv[1], 16), sys.argv[2:]
near = {(text >> 24) + i for i in range(4)}
found = 0
for name in files:
    data = open(name, 'rb').read()
    found += sum((int.from_bytes(data[at + 3:at + 8], 'little') in near) for at in range(len(data) - 7))
    found += sum((int(match, 16) >> 24) in near for match in re.findall(rb'ffffffff[0-9a-f]{8}', data))
print(found)
END
	check_equal "and not where they are" 0 "$(python3 find.py "$text" users/kernel*.spool users/kernel*.pb users/manifest.jsonl)"
	traced mine --sample --keep-spool --name kernel -- dd if=/dev/zero of=/dev/null bs=1M count=2000 status=none
	check_not "as root's own does" test "$(python3 find.py "$text" mine/kernel*.spool)" = 0
fi
done_testing
