# Another user's tracelet.ini in the current folder or above it must not decide anything for root: neither what
# is written where, nor whether the test runs.
. "$(dirname "$0")/lib.sh"
need_root

# root runs in a folder below a world-writable one.
mkdir -m 1777 shared
mkdir shared/work
cd shared/work || exit
target=$work/target
echo before >"$target"

ignored() { # DESCRIPTION: no file changes the settings, and one line says why
	run timeout 20 "$TRACELET" run --quiet --output-dir "$work/out" -- true
	check_equal "$1: the test runs" 0 "$status"
	check_equal "the target is as it was" before "$(cat "$target")"
	check_match "one line says why" "^tracelet: warning: ignoring .*tracelet.ini: ${2:-}" "$stderr"
}

as_attacker sh -c 'printf "json = %s\nvariant = a=\$(id)\n" "$1" >../tracelet.ini' sh "$target"
ignored "his file above" "it belongs to another user"
rm ../tracelet.ini

printf 'json = %s\n' "$target" >../tracelet.ini
ignored "root's own file in a folder that everybody can write" "other users can write to its directory"
rm ../tracelet.ini

# Root's own file and folder, with an access control list that lets the attacker write.
mkdir listed
printf 'output-dir = elsewhere\n' >listed/tracelet.ini
cat >listed.py <<'END'
import os, pwd, struct, sys
entries = [(1, 6, -1), (2, 6, pwd.getpwnam(sys.argv[1]).pw_uid), (4, 4, -1), (16, 6, -1), (32, 4, -1)]
os.setxattr(sys.argv[2], "system.posix_acl_access", struct.pack("<I", 2) + b"".join(struct.pack("<HHi", *entry) for entry in entries))
END
if command -v python3 >/dev/null && python3 listed.py "$attacker" listed/tracelet.ini 2>/dev/null; then
	(cd listed && run "$TRACELET" run --quiet -- true && cp "$stderr" ../listed.txt)
	check_match "a list of users who may write" "ignoring .*tracelet.ini: other users can write to it" listed.txt
	check_not "and nothing is done that it says" test -e listed/elsewhere
else
	skip "a list of users who may write" "files have no such lists here"
fi
rm -rf listed listed.py

as_attacker mkfifo ../tracelet.ini
ignored "a FIFO" "it is not a regular file"
rm ../tracelet.ini

as_attacker ln -s /dev/zero ../tracelet.ini
ignored "a link to /dev/zero" "it is a symbolic link"
rm ../tracelet.ini

as_attacker mkfifo ../tracelet.ini
check_run "--enabled no looks at no file" 0 timeout 20 "$TRACELET" run --enabled no -- true
check_lines "and says nothing" 0 "$stderr"
rm ../tracelet.ini

# A project of our own with content from someone else: what it writes stays inside.
cd "$work" && mkdir -p project && cd project || exit
for value in "$target" ../target "$work/project/../target"; do
	printf 'json = %s\n' "$value" >tracelet.ini
	run "$TRACELET" run --quiet -- true
	check_equal "json = $value: the target is as it was" before "$(cat "$target")"
	check_match "which one line says" '^tracelet: warning: .*tracelet.ini: ignoring json: .* is outside the project' "$stderr"
done
ln -s "$work" link
printf 'output-dir = link/elsewhere\n' >tracelet.ini
run "$TRACELET" run --quiet -- true
check_not "a link inside that leads out is not followed" test -e "$work/elsewhere"
printf 'output-dir = traces\njson = summary.json\n' >tracelet.ini
check_run "places inside are taken" 0 "$TRACELET" run --quiet -- true
check "for traces" test -e traces/manifest.jsonl
check "and for JSON" test -s summary.json
done_testing
