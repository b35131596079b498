# shellcheck shell=bash
# Shared by the tests in this directory: a work directory, and expectations that continue after a failure.

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

# What all throw-away guests need.
need_vm() {
	[ -x "$tracelet" ] || skip 'no build/tracelet: run make first'
	[ -x "$(dirname "$tracelet")/tracelet-agent" ] || skip 'no build/tracelet-agent: run make first'
	for program in qemu-system-x86_64:qemu-system-x86 busybox:busybox-static jq:jq; do
		command -v "${program%:*}" >/dev/null || skip "no ${program%:*} (Debian package ${program#*:})"
	done
}

finish() {
	[ $failures -eq 0 ]
	exit
}
