# shellcheck shell=bash
# What the tests of this folder share: a work folder, and expectations that go on after a failure.

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failures=0

expect() { # WHAT WANTED GOT
	[ "$2" = "$3" ] && return
	echo "$1: wanted '$2', got '$3'" >&2
	failures=$((failures + 1))
}

skip() {
	echo "skipped: ${1#skipped: }" >&2
	exit 77
}

finish() {
	[ $failures -eq 0 ]
	exit
}
