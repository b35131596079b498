# The Debian packages in a fresh Debian: installed, used by root and by an ordinary user with the collector, removed.
# DEBS is the directory that has them (tools/deb makes them); SUITE the Debian to try.
. "$(dirname "$0")/lib.sh"
need_command debootstrap g++ dpkg-deb
debs=$(realpath "${DEBS:-$source/build-deb}")
ls "$debs"/tracelet_*.deb >/dev/null 2>&1 || skip_all "no packages in $debs: make deb"
new_system "${SUITE:-bookworm}" || skip_all "$reason"
check "a test program" make_cases "$system/cases"

# Everything except what apt, dpkg and ldconfig keep for themselves.
files() {
	(cd "$system" && find . -xdev -path ./var/cache -prune -o -path ./var/lib/apt -prune -o -path ./var/lib/dpkg -prune -o \
		-path ./var/log -prune -o -path ./tmp -prune -o -path ./proc -prune -o -path ./sys -prune -o \
		! -type d -print -o -type d -name '*tracelet*' -print) | sort
}
# install PACKAGE...: with what they depend on, and nothing else.
install() {
	inside apt-get -qq -o APT::Sandbox::User=root install -y --no-install-recommends "$@"
}

check "lists of packages" inside apt-get -qq -o APT::Sandbox::User=root update
mkdir "$system/debs"
cp "$debs"/*.deb "$system/debs"
# What our packages depend on comes first, so that their own files can be told from it.
needed=$(for deb in "$debs"/*[a-z0]_*.deb; do dpkg-deb -f "$deb" Depends; done | tr ',' '\n' |
	sed 's/|.*//; s/(.*//; s/ //g' | grep -v tracelet | sort -u | xargs)
# shellcheck disable=SC2086 # several words
check "what they depend on" install $needed
files >"$work_root/before"
begin=$(date +%s)
check "they can be installed" install $(cd "$system" && ls -d /debs/* >/dev/null 2>&1; cd "$system" && printf '/%s ' debs/*.deb)
check_run "the program says its version" 0 inside tracelet --version
check_match "with the commit" '^tracelet 0\.[0-9.]+( \([0-9a-f]+\))?$' "$stdout"
check "its libraries are there" inside sh -c '! ldd /usr/bin/tracelet | grep "not found"'
check "the agent needs none" inside sh -c '/usr/libexec/tracelet/tracelet-agent --help'
check_run "a first trace" 0 as_root 'tracelet run -- sleep 0.1 && tracelet why tracelet-out/sleep_*.pb'
note "installed and first answer: $(($(date +%s) - begin)) s"
try_program inside

# ---- the library ----

libraries=$system/usr/lib/$(dpkg-architecture -qDEB_HOST_MULTIARCH)
check "a program links with the library" gcc "$source/examples/library.c" -I"$system/usr/include" -L"$libraries" -ltracelet \
	-o "$system/library"
check "and finds it" inside sh -c 'ldd /library | grep -q "libtracelet.so.0 => /"'

# ---- the collector ----

check "there is a group" inside getent group tracelet
check "and a user" inside getent passwd tracelet
check "and a socket unit" test -f "$system/usr/lib/systemd/system/tracelet-collector.socket" -o \
	-f "$system/lib/systemd/system/tracelet-collector.socket"
inside usermod -aG tracelet tester
inside tracelet collector --group tracelet >"$work_root/collector.log" 2>&1 &
for ((i = 0; i < 100; i++)); do
	[ ! -S "$system/run/tracelet-collector.sock" ] || break
	sleep 0.1
done
check_run "an ordinary user's test" 0 as_tester 'tracelet run --collector require --json summary.json -- sleep 0.1'
check "is recorded by the collector" grep -q '"backend": *"collector"' "$system"/home/tester/tracelet-out/manifest.jsonl
try_program as_tester
kill %1 && wait
rm -f "$system/run/tracelet-collector.sock"

# ---- again, and away ----

check "installed again over itself" install --reinstall $(cd "$system" && printf '/%s ' debs/*.deb)
ours=$(inside dpkg-query -W -f '${Package}\n' '*tracelet*' | xargs)
# shellcheck disable=SC2086 # several words
check "they can be purged" inside apt-get -qq purge -y $ours
rm -rf "$system"/{cases,library,debs} "$system"/{root,home/tester}/{tracelet-out,page.html,summary.json,.cache,.local}
find "$system/root" "$system/home/tester" -name '*heap*' -delete
files | grep -v -e '/etc/.*-$' >"$work_root/after"
check_equal "nothing is left" "" "$(comm -13 <(grep -v -e '/etc/.*-$' "$work_root/before") "$work_root/after")"
check_not "not even the group" inside getent group tracelet
done_testing
