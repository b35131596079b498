# If BPF is not permitted, perf events record what they can, or the test runs untraced; one line
# says so, and the exit status is always the test's.
. "$(dirname "$0")/lib.sh"
. "$source/tests/cli/helpers/words.sh"
need_root
need_command setpriv jq strace
export ASAN_OPTIONS=detect_leaks=0 # in a sanitizer build: LeakSanitizer does not work under strace

# A folder and programs that all users can access.
chmod 755 "$work_root"
mkdir -m 755 programs
cp "$TRACELET" "$helpers/family" "$helpers/surroundings" "$helpers/chains" "$helpers/crashes" "$(dirname "$TRACELET")/tracelet-stacks" programs/
user=65534
export PATH=$work/programs:$PATH TRACELET=$work/programs/tracelet

# ordinary COMMAND...: as a user without privileges.
ordinary() {
	setpriv --reuid=$user --regid=$user --clear-groups --inh-caps=-all --bounding-set=-all "$@"
}
# LeakSanitizer, if this was built with it, does not work under strace.
export ASAN_OPTIONS="${ASAN_OPTIONS:+$ASAN_OPTIONS:}detect_leaks=0"
# without_perf COMMAND...: perf_event_open fails, as on a kernel with a stricter policy.
without_perf() {
	strace -f -qq -o /dev/null -e trace=perf_event_open -e inject=perf_event_open:error=EACCES "$@"
}
room() { # a fresh folder that belongs to that user
	fresh
	chown $user "$work"
}

check_reduced() { # DESCRIPTION COMMAND...: perf events record
	local description=$1
	shift
	check_run "$description: the status is the test's" 5 "$@" "$TRACELET" run --quiet --json summary.json -- family
	check_lines "$description: one line" 1 "$stderr"
	check_match "$description: that says why, and what to do" "^tracelet: warning: BPF is not permitted \(run as root.*perf events instead, without irq, signal$" "$stderr"
	check_equal "$description: the summary names what recorded" perf "$(jq -r .backend summary.json)"
	check "$description: the trace is good" "$TRACELET" check "$(the_trace family)"
	rm -f summary.json
}
check_untraced() { # DESCRIPTION COMMAND...: nothing records
	local description=$1
	shift
	check_run "$description: the status is the test's" 3 "$@" "$TRACELET" run -- sh -c 'echo ran; exit 3'
	check_equal "$description: so is stdout" ran "$(cat "$stdout")"
	check_lines "$description: exactly one line" 1 "$stderr"
	check_match "$description: that says why, and what to do" \
		"^tracelet: warning: no trace: BPF is not permitted \(run as root.*perf_event_paranoid.*tracelet doctor" "$stderr"
	check_not "$description: no file is left" test -e tracelet-out
	check_run "$description: a signal's status too" 143 "$@" "$TRACELET" run -- sh -c 'kill $$'
	check_run "$description: and 127" 127 "$@" "$TRACELET" run -- no-such-command-here
	check_run "$description: --strict does not run the test" 125 "$@" "$TRACELET" run --strict -- sh -c 'echo ran; exit 3'
	check_equal "$description: indeed not" "" "$(cat "$stdout")"
	check_match "$description: and says so" "^tracelet: --strict: the test was not run$" "$stderr"
	check_run "$description: --json still describes the test" 3 "$@" "$TRACELET" run --json - -- sh -c 'exit 3'
	check_equal "$description: and that there is no trace" "3 null 0" "$(jq -r '"\(.exit) \(.backend) \(.artifacts | length)"' "$stdout")"
}

# ---- an ordinary user ----

paranoid=/proc/sys/kernel/perf_event_paranoid
level=$(cat $paranoid 2>/dev/null)
restore() {
	[ -z "$level" ] || echo "$level" >$paranoid
}
trap 'restore; at_end' EXIT

if (echo 2 >$paranoid) 2>/dev/null; then
	room
	check_reduced "paranoid 2" ordinary
	trace=$(the_trace family)
	if "$source/tests/perfetto/setup" >/dev/null 2>&1; then
		while read -r name id; do
			declare "id_$name=$id"
		done <"$stdout"
		check "the importer lost and skipped nothing" ask --health "$trace"
		question "who was busy for 50 ms ran about that long" 1 \
			"select sum(dur) between 49000000 and 100000000 from sched_slice join thread using (utid) where tid = $id_burner"
		for name in early sleeper burner; do
			id=id_$name
			question "the thread $name" "$name|$id_family" \
				"select thread.name, pid from thread join process using (upid) where tid = ${!id}"
		done
		question "a child's parent" "$id_family" "select parent.pid from process child
			join process parent on child.parent_upid = parent.upid where child.pid = $id_leaver"
		question "the child that detached itself" detached "select name from thread where tid = $id_detached"
		question "all have ended" 0 "select count(*) from process where start_ts is not null and end_ts is null"
		question "the first exec" 1 "select count(*) from slice join thread_track on track_id = thread_track.id
			join thread using (utid) where tid = $id_family and slice.name glob 'exec *'"
		question "no exit code is made up" 0 "select count(*) from slice where name glob 'exit [0-9]*'"
		answers "$trace"
	else
		skip "what is in it" "the importer is not to be had"
	fi
	room
	check_run "the summary" 0 ordinary "$TRACELET" run -- true
	check_match "says what is missing" "^  events .*not recorded: wakeups, interrupts" "$stderr"
	check_run "--scope system" 3 ordinary "$TRACELET" run --scope system -- sh -c 'exit 3'
	check_lines "one line" 1 "$stderr"
	check_match "says what it needs" "no trace: .*--scope system needs BPF" "$stderr"
	room
	check_run "samples" 0 ordinary "$TRACELET" run --quiet --sample --json summary.json -- sh -c 'chains recursion; chains recursion & wait'
	trace=$(the_trace sh)
	note "$(jq -c '[.samples, .broken_stacks, .cpu_seconds, .lost.sched]' summary.json)"
	check_equal "there are such, of the CPU clock" "true cpu-clock" "$(jq -r '"\(.samples > 50) \(.sample_event)"' summary.json)"
	check_equal "most of the CPU time is in them" true "$(jq '(.samples + (.lost.sched // 0)) / 999 > .cpu_seconds * 0.5' summary.json)"
	check_match "with functions" ' burn ' <("$TRACELET" top "$trace")
	check_match "and their callers, without frame pointers" 'main;recursion;.*burn' <("$TRACELET" fold "$trace")
	# One may be from the moment of an exec, when the stack is neither the old program's nor the new one's.
	check_equal "hardly any is broken" true "$(jq '.broken_stacks <= 1 + .samples / 50' summary.json)"
	check "there is a flame graph" grep -q recursion "${trace%.pb}.svg"
	check "the trace is good" "$TRACELET" check "$trace"
	room
	check_run "an event that needs BPF" 0 ordinary "$TRACELET" run --quiet --sample=cache-misses@1000 --json summary.json -- chains recursion
	check_match "is replaced, in one line" "cannot sample on cache-misses@1000 without BPF; sampling on the CPU clock at 999 Hz" "$stderr"
	check_equal "there are samples" true "$(jq '.samples > 20' summary.json)"
	check_run "--off-cpu" 0 ordinary "$TRACELET" run --quiet --off-cpu --json summary.json -- chains recursion
	check_match "says what it needs" "waits are not recorded: --off-cpu needs BPF" "$stderr"
	check_equal "and takes no samples that no one asked for" null "$(jq .samples summary.json)"
	room
	check_run "--strict takes what perf events give" 5 ordinary "$TRACELET" run --strict --quiet -- family
	check "a trace" "$TRACELET" check "$(the_trace family)"
	room
	check_run "a crash" 139 ordinary "$TRACELET" run -- crashes segv
	check_match "has no stack without BPF" '^  crash   SIGSEGV, process [0-9]+$' "$stderr"
	check_match "the summary says how to get one" '^            \(no stack: .*--core ' "$stderr"
	if [ "$(cat /proc/sys/kernel/core_pattern)" = core ] && [ "$(ulimit -H -c)" != 0 ] && ! is_sanitized; then
		functions() { jq -r '[.crashes[0].stack[] | capture("^#[0-9]+ +0x[0-9a-f]+ (?<name>[a-z_]+)").name] | join(" ")' summary.json; }
		run ordinary "$TRACELET" run --core --json summary.json -- crashes segv
		check_match "with --core it comes from the core" '^inner middle main ' <(functions)
		check_match "with source lines" '^            #0 .* inner\+0x[0-9a-f]+ .*/crashes\+0x[0-9a-f]+ .*crashes\.c:[0-9]+$' "$stderr"
		check_not "so there is no such line" grep 'no stack' "$stderr"
		run ordinary "$TRACELET" run --core --json summary.json -- crashes abort
		check_match "an abort" ' abort inner middle main ' <(functions)
		run ordinary "$TRACELET" run --core --json summary.json -- crashes overflow
		check_match "an overflow of the stack" '^(odd even|even odd) ' <(functions)
		head -c 20000 "$(find tracelet-out -name '*.core' -print -quit)" >cut
		check_run "a core that was cut" 0 ordinary tracelet-stacks --core <cut
		check_match "has where it crashed" '^#0 ' "$stdout"
		for file in /dev/null "$TRACELET"; do
			check_run "$(basename "$file") is no core: nothing" 0 ordinary tracelet-stacks --core <"$file"
			check_equal "is printed" "" "$(cat "$stdout" "$stderr")"
		done
	else
		skip "the stack from a core" "the kernel writes none here"
	fi
	room
	for i in {1..8}; do
		ordinary "$TRACELET" run --quiet -- sh -c "exit $i" 2>"stderr.$i" &
		pids[i]=$!
	done
	for i in {1..8}; do
		wait "${pids[i]}"
		check_equal "eight at once: status $i" "$i" "$?"
	done
	check_equal "with a line each" "1 1 1 1 1 1 1 1" "$(for i in {1..8}; do wc -l <"stderr.$i"; done | paste -sd ' ')"
	check "and good traces" "$TRACELET" check tracelet-out/*.pb
	fresh
	mkdir -m 755 tracelet-out
	check_run "a folder of another's" 3 ordinary "$TRACELET" run -- sh -c 'exit 3'
	check_lines "is one line as well" 1 "$stderr"
	check_match "that says what to do" "no trace: cannot write to tracelet-out: .*--output-dir" "$stderr"
else
	skip "an ordinary user with perf_event_paranoid 2" "it cannot be set here"
fi

# Level 3 is a distribution's addition: its effect depends on the kernel.
if (echo 3 >$paranoid) 2>/dev/null; then
	room
	check_run "paranoid 3: the status is the test's" 5 ordinary "$TRACELET" run --quiet -- family
	check_lines "one line" 1 "$stderr"
fi
restore

# ---- neither BPF nor perf events ----

room
if ordinary true && without_perf true 2>/dev/null; then
	check_untraced "an ordinary user without perf events" ordinary strace -f -qq -o /dev/null \
		-e trace=perf_event_open -e inject=perf_event_open:error=EACCES
	room
	check_same_without() {
		ordinary surroundings >without 2>/dev/null
		without_perf setpriv --reuid=$user --regid=$user --clear-groups --inh-caps=-all --bounding-set=-all \
			"$TRACELET" run -- surroundings >with 2>/dev/null
		diff <(grep -v 'environment: _=' without | sed 's/without//') <(grep -v 'environment: \(_\|TRACELET_MARKS\)=' with | sed 's/with//')
	}
	check "an untraced test finds what it would find without us" check_same_without
else
	skip "without perf events" "strace cannot take system calls away here"
fi

# ---- in a user namespace, as in a container ----

room
if ordinary unshare -U true 2>/dev/null; then
	room
	check_reduced "a user namespace" ordinary unshare -U
	room
	check_reduced "as its root" ordinary unshare -Ur
	room
	check_reduced "as its root, with a PID and a mount namespace" ordinary unshare -Urpfm --mount-proc
	fresh
	check_run "root's own user namespace: the status is the test's" 5 unshare -U sh -c '
		"$TRACELET" run --quiet --output-dir out -- family'
	check_lines "one line" 1 "$stderr"
else
	skip "a user namespace" "they are not permitted here"
fi

done_testing
