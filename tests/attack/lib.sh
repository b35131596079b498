# Sourced by every tests/attack/test_*.sh: the functions of tests/cli/lib.sh, and an attacker.
. "$(dirname "${BASH_SOURCE[0]}")/../cli/lib.sh"
. "$source/tests/cli/helpers/words.sh"
# shellcheck shell=bash

attacker=nobody
need_command setpriv

# as_attacker COMMAND...: runs it as a user without any rights.
as_attacker() {
	setpriv --reuid "$attacker" --regid nogroup --clear-groups --inh-caps=-all --bounding-set=-all "$@"
}

# Every user can enter the working directory.
chmod 755 "$work_root" "$work"
