# The archives of a release: they hold what they should, are small, and the static program works on the oldest and the
# newest Debian there is. RELEASE is the directory with them (tools/release makes it).
. "$(dirname "$0")/lib.sh"
need_command debootstrap jq g++
release=$(realpath "${RELEASE:-$source/build-release/out}")
archive=$(ls "$release"/tracelet-*-linux-x86_64.tar.gz 2>/dev/null)
[ -n "$archive" ] || skip_all "no archives in $release: make release"

check "the checksums are right" sh -c "cd '$release' && sha256sum --quiet -c SHA256SUMS"
check "the archive is at most 12 MB" test "$(stat -c %s "$archive")" -le 12000000
note "$(cd "$release" && stat -c '%n %s' -- *)"
check_equal "one owner, one time" 1 "$(tar -tvf "$archive" --numeric-owner | awk '{ print $2, $4, $5 }' | sort -u | wc -l)"
sbom=$(ls "$release"/*.spdx.json)
check "the list of parts is SPDX" jq -e '.spdxVersion == "SPDX-2.3" and .SPDXID == "SPDXRef-DOCUMENT" and
	([.packages[].name] | index("libbpf") and index("elfutils") and index("glibc"))' "$sbom"
tar -xf "$archive"
programs=$PWD/$(basename "$archive" .tar.gz)
for program in bin/tracelet libexec/tracelet/tracelet-agent libexec/tracelet/tracelet-stacks; do
	check_not "$program needs no library" grep -q NEEDED <(readelf -d "$programs/$program")
	check_match "$program is position-independent" 'Type: +DYN' <(readelf -h "$programs/$program")
	check_not "$program has no path of this machine" grep -qF "$source" "$programs/$program"
done
check_match "it says what it cannot do" 'static program' <("$programs/bin/tracelet" store check --store clickhouse+http://127.0.0.1:1/x 2>&1)

for suite in ${SUITES:-bullseye trixie}; do
	if ! new_system "$suite"; then
		skip "the static program on $suite" "$reason"
		continue
	fi
	note "$suite"
	make_cases "$system/cases"
	cp -r "$programs"/{bin,lib,libexec,share} "$system/usr/local/"
	begin=$(date +%s%N)
	check_run "$suite: a first trace" 0 as_root 'tracelet run -- sleep 0.1 && tracelet why tracelet-out/sleep_*.pb'
	note "$suite: first answer after $((($(date +%s%N) - begin) / 1000000)) ms"
	# The library that counts allocations is loaded into the test, so it needs the test's C library: 2.35.
	[ "$suite" != bullseye ] || heap=no
	try_program inside
	heap=yes
	drop_system
done
done_testing
