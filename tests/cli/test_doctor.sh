# tracelet doctor: what works here, and the fix for what does not.
. "$(dirname "$0")/lib.sh"
. "$source/tests/cli/helpers/words.sh"
need_root
need_command jq setpriv strace
export ASAN_OPTIONS=detect_leaks=0 # in a sanitizer build: LeakSanitizer does not work under strace


names="kernel,BTF,BPF,BPF cost,heap -p,perf events,PMU,tracefs,symbols,collector,output"

# well_formed FILE: one JSON object that says whether each thing works, with a fix for what does not.
well_formed() {
	jq -e --arg names "$names" --arg version "$("$TRACELET" --version | cut -d ' ' -f 1,2)" '
		("tracelet " + .tracelet) == $version and (.recording | IN("full", "reduced", "none"))
		and ([.checks[].name] | join(",")) == $names
		and all(.checks[]; (.verdict | IN("works", "limited", "missing")) and (.found | length > 0))
		and all(.checks[] | select(.verdict != "works"); .fix | length > 0)
		and all(.checks[] | select(.verdict == "works"); .fix == null or .fix == "")' "$1"
}
verdict() { # NAME FILE
	jq -r --arg name "$1" '.checks[] | select(.name == $name).verdict' "$2"
}

run "$TRACELET" doctor --json
cp "$stdout" root.json
check "--json is well-formed" well_formed root.json
check_lines "in one line" 1 root.json
check_lines "silent on stderr" 0 "$stderr"
recording=$(jq -r .recording root.json)
check_equal "the status is 0 where something can be recorded" "$([ "$recording" = none ] && echo 1 || echo 0)" "$status"
check_match "it names the kernel" "$(uname -r)" root.json

run "$TRACELET" doctor
table=$stdout
check_lines "the table: silent on stderr" 0 "$stderr"
while IFS='|' read -r name state found fix; do
	check_equal "a line for $name" 1 "$(grep -c -E "^$name +$state " "$table")"
	[ -z "$fix" ] || check "with its fix: $fix" grep -q -F "fix: $fix" "$table"
done < <(jq -r '.checks[] | "\(.name)|\(.verdict)|\(.found)|\(.fix // "")"' root.json)
check_match "and a last line in plain words" "^('tracelet run'|Everything)" "$table"
check_not "no colours in a file" grep -q $'\033' "$table"
run "$scripts/terminal.py" -- env TERM=xterm "$TRACELET" doctor
check "colours on a terminal" grep -q $'\033\\[32m' "$stdout"
run "$scripts/terminal.py" -- env TERM=xterm NO_COLOR=1 "$TRACELET" doctor
check_not "none with NO_COLOR" grep -q $'\033' "$stdout"
check_not "it leaves no file" test -n "$(ls -A | grep -v json)"

if [ "$recording" = full ]; then
	check_run "what it says of root is so" 0 "$TRACELET" run --strict --json said.json -- true
	check_equal "BPF records" bpf "$(jq -r .backend said.json)"
fi

# ---- a kernel that refuses one program ----

run env TRACELET_REFUSED=heap_enter "$TRACELET" doctor --json
check_equal "heap -p is limited where its programs do not load" "limited works" "$(verdict 'heap -p' "$stdout") $(verdict BPF "$stdout")"
check_match "the fix is there" "use 'tracelet run --heap'" "$stdout"

# ---- an ordinary user ----

chmod 755 "$work_root"
fresh
cp "$TRACELET" tracelet
ordinary() {
	setpriv --reuid=65534 --regid=65534 --clear-groups --inh-caps=-all --bounding-set=-all "$@"
}
run ordinary ./tracelet doctor --json
cp "$stdout" user.json
check "an ordinary user's --json is well-formed" well_formed user.json
check_equal "BPF is missing" missing "$(verdict BPF user.json)"
check_match "the fix is there" "run as root, or once: .*setcap cap_bpf,cap_perfmon\+ep " user.json
check_equal "the folder is not his" limited "$(verdict output user.json)"
check_match "the fix is there" "--output-dir" user.json
check_equal "the status agrees" "$([ "$(jq -r .recording user.json)" = none ] && echo 1 || echo 0)" "$status"
check "what it says is so" test "$(jq -r .recording user.json)" = \
	"$(ordinary ./tracelet run --strict --output-dir "$(mktemp -u)" -- true >/dev/null 2>&1 && echo reduced || echo none)"
run setpriv --inh-caps=-all --bounding-set=-all env container=podman ./tracelet doctor
check_match "in a container it names the option" "fix: this is a container: start it with --cap-add BPF,PERFMON" "$stdout"
mkdir -m 777 tracelet-out
run ordinary ./tracelet doctor --json
check_equal "an output folder that is his will do" works "$(verdict output "$stdout")"

# LeakSanitizer, if this was built with it, does not work under strace.
export ASAN_OPTIONS="${ASAN_OPTIONS:+$ASAN_OPTIONS:}detect_leaks=0"
run ordinary strace -f -qq -o /dev/null -e trace=perf_event_open -e inject=perf_event_open:error=EACCES ./tracelet doctor --json
check_equal "where nothing can be recorded the status is 1" 1 "$status"
check "still well-formed" well_formed "$stdout"
check_equal "it says so" none "$(jq -r .recording "$stdout")"
check_equal "perf events are missing" missing "$(verdict "perf events" "$stdout")"
check_match "the fix is there" "sysctl kernel.perf_event_paranoid=" "$stdout"
run ordinary strace -f -qq -o /dev/null -e trace=perf_event_open -e inject=perf_event_open:error=EACCES ./tracelet doctor
check_match "in plain words too" "^'tracelet run' runs tests here, but records nothing" "$stdout"

# ---- a machine without support ----

if unshare -m true 2>/dev/null; then
	# shellcheck disable=SC2016
	run unshare -m sh -c 'mount -t tmpfs none /sys/kernel && exec "$TRACELET" doctor --json'
	check "without BTF and tracefs: well-formed" well_formed "$stdout"
	check_equal "BTF is missing" missing "$(verdict BTF "$stdout")"
	check_match "the fix is there" "CONFIG_DEBUG_INFO_BTF" "$stdout"
	check_equal "so is tracefs" limited "$(verdict tracefs "$stdout")"
	check_match "the fix is there" "mount -t tracefs" "$stdout"
	check_equal "and BPF does not work" missing "$(verdict BPF "$stdout")"
	# shellcheck disable=SC2016
	run unshare -m sh -c 'mount -t tmpfs none /sys/kernel && exec "$TRACELET" run --output-dir out -- sh -c "exit 3"'
	check_equal "a run there: the status is the test's" 3 "$status"
	check_equal "one warning" 1 "$(grep -c warning "$stderr")"
	check_match "that says why" "this kernel has no BTF" "$stderr"
	run unshare -m sh -c 'mount -t tmpfs none /sys && exec "$TRACELET" run --output-dir out2 -- sh -c "exit 3"'
	check_equal "without /sys: the status is the test's" 3 "$status"
	check_match "which one line says, and what to do" "/sys is not mounted \(mount -t sysfs sysfs /sys\)" "$stderr"
else
	skip "a machine without BTF" "nothing can be mounted here"
fi

check_run "doctor takes no words" 2 "$TRACELET" doctor word
check_match "and says so" "doctor takes no argument 'word'" "$stderr"

done_testing
