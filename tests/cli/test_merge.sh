# One trace of a host and its guests, verified by Perfetto's own importer.
. "$(dirname "$0")/lib.sh"
need_root

# Appends a packet with the attribute guest-clock to a trace.
add_clock() { # TEXT
	local text=$1 attribute attributes packet
	# shellcheck disable=SC2059 # lengths are parts of the format
	number() { printf "\\x$(printf %x "$1")"; }
	attribute=$((2 + 11 + 2 + ${#text}))
	attributes=$((attribute + 2))
	packet=$((attributes + 3 + 2))
	printf '\x0a' && number $packet
	printf '\x50\x01' # the sequence
	printf '\xf2\x07' && number $attributes
	printf '\x0a' && number $attribute
	printf '\x0a\x0bguest-clock\x1a' && number ${#text}
	printf %s "$text"
}

run "$TRACELET" run --quiet --output-dir . --name host -- bash -c 'for i in 1 2 3 4 5; do sleep 0.01; done'
mv host_*.pb host.pb
cp host.pb guest.pb
add_clock '1000 5000000000 25000' >>guest.pb
check "what was put behind it is no defect" "$TRACELET" check guest.pb

check_run "a host's and a guest's trace are merged" 0 "$TRACELET" convert --merge host.pb guest.pb -o both.pb
check_lines "without a word" 0 "$stderr"
check_run "check takes a merged trace" 0 "$TRACELET" check both.pb
check_run "info does" 0 "$TRACELET" info both.pb
check_lines "and understands every packet" 0 "$stderr"
check_match "and contains the guest's clock" "guest-clock +1000 5000000000 25000" "$stdout"

if "$source/tests/perfetto/setup" >/dev/null 2>&1; then
	check "the importer understands all of it" "$source/tests/perfetto/tp" --health both.pb
	# All in one call: the importer takes long to start.
	{
		read -r machines
		read -r thread_counts
		read -r slices
		read -r aligned
		read -r tracks
	} < <("$source/tests/perfetto/tp" both.pb 'select count(*) from machine' \
		'select count(distinct number) from (select machine_id, count(*) number from thread where tid > 0 group by 1)' \
		'select count(*) from sched' \
		'select count(*) from sched host join thread a using (utid)
			join sched guest on guest.ts = host.ts + 5000000000
			join thread b on b.utid = guest.utid and b.tid = a.tid
			where host.dur = guest.dur and a.machine_id is not b.machine_id' \
		'select count(*) from slice join track on track_id = track.id
			where track.name = "Test" and slice.name = "host"')
	check_equal "two machines" 2 "$machines"
	check_equal "threads of both, as many" 1 "$thread_counts"
	check "there are slices" test "$slices" -gt 20
	check_equal "each of the host's is in the guest, at the same time plus the offset" $((slices / 2)) "$aligned"
	check_equal "the test's track is there twice" 2 "$tracks"
else
	skip "the importer" "it is not to be had"
fi

# A clock that runs faster than the host's.
cp host.pb guest.pb
add_clock '1 1000000000 10,100000000000000000 100001000000000 20' >>guest.pb
check_run "times are interpolated between two measures" 0 "$TRACELET" convert --merge host.pb guest.pb -o both.pb
check "and the order stays" "$TRACELET" check both.pb

# Without clock data.
check_run "wall clocks are better than nothing" 0 "$TRACELET" convert --merge host.pb host.pb -o both.pb
check_match "which is reported" "using wall clocks" "$stderr"
check_run "three machines" 0 "$TRACELET" convert --merge --quiet host.pb guest.pb guest.pb -o both.pb
check "are a good trace" "$TRACELET" check both.pb

# The order matters: the first trace is the host's, and a host does not know a guest's clock.
check_run "the guest first" 0 "$TRACELET" convert --merge guest.pb host.pb -o turned.pb
check_match "is taken as the host: wall clocks again" "using wall clocks" "$stderr"
check "and is a good trace" "$TRACELET" check turned.pb

# Bad input: one line, status 2, nothing half-written.
cp both.pb merged.pb
rm both.pb
head -c -1 host.pb >cut.pb
: >empty.pb
printf 'text\n' >text.pb
cp host.pb lie.pb && add_clock 'never 1 1' >>lie.pb
for bad in cut empty text lie merged missing; do
	check_run "$bad is refused" 2 "$TRACELET" convert --merge host.pb $bad.pb -o both.pb
	check_lines "$bad: one line" 1 "$stderr"
	check_not "$bad: no output" test -e both.pb
done
check_run "one trace is not enough to merge" 2 "$TRACELET" convert --merge host.pb -o both.pb
check_run "an output is needed" 2 "$TRACELET" convert --merge host.pb guest.pb

done_testing
