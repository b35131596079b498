# Sourced by the tests in this directory: a fresh Debian to try packages and archives in.
. "$(dirname "$0")/../cli/lib.sh"
need_root

# new_system SUITE: makes $system, a fresh Debian of that suite, with an ordinary user and the kernel's file systems.
# At the end these are unmounted first, and what cannot be is left alone. Returns 77 if there is none, with $reason.
new_system() {
	local result=0
	system=$(mktemp -d "${TMPDIR:-/tmp}/tracelet-system.XXXXXX")
	chmod 755 "$system"
	trap system_end EXIT
	"$source/tools/chroot" "$1" "$system" 2>"$work_root/chroot.log" || result=$?
	reason=$(sed 's/^skipped: //' "$work_root/chroot.log")
	[ $result = 0 ] || return $result
	mount -t proc proc "$system/proc"
	mount -t sysfs -o ro sysfs "$system/sys"
	printf '#!/bin/sh\nexit 101\n' >"$system/usr/sbin/policy-rc.d" # no service starts here
	chmod +x "$system/usr/sbin/policy-rc.d"
	inside useradd -m tester
}

drop_system() {
	# shellcheck disable=SC2046 # one word for each job
	[ -z "$(jobs -p)" ] || { kill $(jobs -p) && wait; }
	for mounted in proc sys; do
		! mountpoint -q "$system/$mounted" || umount "$system/$mounted"
	done
	mountpoint -q "$system/proc" || mountpoint -q "$system/sys" || rm -rf --one-file-system "$system"
}

system_end() {
	local status=$?
	[ $BASHPID != $$ ] || drop_system
	(exit $status)
	at_end
}

# inside COMMAND...: as root in the new system, with nothing of our environment.
inside() {
	chroot "$system" env -i PATH=/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LC_ALL=C \
		DEBIAN_FRONTEND=noninteractive "$@"
}

# as_tester SCRIPT: as an ordinary user there, in its home.
as_tester() {
	inside su tester -s /bin/bash -c "cd ~tester && export PATH=/usr/local/bin:/usr/bin:/bin && $1"
}

# make_cases FILE: a test program with two cases that needs no library, from this machine.
make_cases() {
	cat >cases.cc <<'END'
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>
TEST_CASE("good") { CHECK(1 + 1 == 2); }
TEST_CASE("bad") { CHECK(1 + 1 == 3); }
END
	g++ -static -O1 cases.cc -o "$1"
}

# try_program USER: what a newcomer does, as root or as the ordinary user; USER is inside or as_tester.
try_program() {
	local as="$1" who="${1#as_}"
	rm -rf "$system/home/tester/tracelet-out" "$system/root/tracelet-out"
	[ "$as" != inside ] || as=as_root
	check_run "$who: run traces a test" 3 "$as" 'tracelet run -- sh -c "sleep 0.2; exit 3"'
	check_run "$who: why says where its time went" 0 "$as" 'tracelet why tracelet-out/sh_*.pb'
	check_match "$who: it slept" 'sleep|nanosleep' "$stdout"
	check_run "$who: report writes a page" 0 "$as" 'tracelet report tracelet-out -o page.html && grep -q "<html" page.html'
	check_run "$who: each runs the cases" 1 "$as" 'tracelet each -- /cases'
	check_equal "$who: with a trace for each" 2 "$("$as" 'ls tracelet-out/*good*.pb tracelet-out/*bad*.pb | wc -l')"
	[ "${heap:-yes}" = no ] ||
		check_run "$who: heap counts allocations" 0 "$as" 'tracelet run --heap -- ls / && ls tracelet-out/ls_*.dhat.json'
	check_run "$who: stacks of a test that hangs" 124 "$as" 'tracelet run --name hung --timeout 0.5 -- sleep 60'
	check "$who: are saved" "$as" 'ls tracelet-out/*hung*stacks*'
}

as_root() {
	inside bash -c "cd /root && $1"
}
