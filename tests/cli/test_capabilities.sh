# An ordinary user in a group records everything without root, as doctor advises: two capabilities are enough.
. "$(dirname "$0")/lib.sh"
need_root
need_command jq setpriv setcap
[ "$("$TRACELET" doctor --json | jq -r '.checks[] | select(.name == "BPF").verdict')" = works ] || skip_all "BPF does not work here"
chmod 755 "$work_root"
chmod 777 .
mkdir -m 755 bin
cp "$TRACELET" bin/tracelet
cp "$(dirname "$TRACELET")/tracelet-stacks" bin/ 2>/dev/null
group=54321
as() { # UID GID COMMAND...
	local user=$1 their=$2
	shift 2
	setpriv --reuid "$user" --regid "$their" --clear-groups --inh-caps=-all env -u SUDO_UID HOME="$work" XDG_RUNTIME_DIR= \
		TRACELET_STATE_DIR="$work/state" "$@"
}
member() { as 12345 $group "$@"; }

run as 12345 $group bin/tracelet doctor --json
advice=$(jq -r '.checks[] | select(.name == "BPF").fix' "$stdout")
check_match "doctor advises a group and two capabilities" "chgrp tracelet .* chmod 0750 .* setcap cap_bpf,cap_perfmon\+ep $work/bin/tracelet\$" <(echo "$advice")
advice=${advice#run as root, or once: groupadd -f tracelet && }
setcap cap_bpf,cap_perfmon+ep bin/tracelet 2>/dev/null || { skip "the advice" "files cannot have capabilities here" && done_testing && exit; }
setcap -r bin/tracelet
check "which are commands" sh -c "${advice/chgrp tracelet/chgrp $group}"
check_equal "after them the group and the mode" "$group 750" "$(stat -c '%g %a' bin/tracelet)"
check_match "... and the capabilities, no more" ' cap_(bpf,cap_perfmon|perfmon,cap_bpf)=ep$' <(getcap bin/tracelet)

recorded() { # DESCRIPTION OPTIONS...: as a member of the group
	local description=$1
	shift
	rm -rf tracelet-out
	check_run "$description" 3 member bin/tracelet run --strict --quiet --json said.json "$@" -- \
		sh -c 'i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done; exit 3'
	check_equal "... with BPF" bpf "$(jq -r .backend said.json)"
	check "... into a trace that is well-formed" "$TRACELET" check "$(find tracelet-out -name '*.pb')"
	check_not "... without a warning" grep -q warning "$stderr"
	rm -f said.json
}
recorded "a run"
recorded "with samples" --sample
check "which are drawn" test -s "$(find tracelet-out -name '*.svg')"
recorded "with waits" --off-cpu
recorded "the profile embedded" --profile embedded
recorded "the whole machine" --scope system
recorded "a flight recorder" --type memory
check_run "an operation" 0 member bin/tracelet start --quiet step
check_run "... ends" 0 member bin/tracelet stop step
check_run "... and is well-formed" 0 "$TRACELET" check "$(cat "$stdout" | sed 's/ (.*//')"
check_run "others cannot use the program" 126 as 12346 54322 bin/tracelet run -- true
check_equal "doctor finds nothing open in it" "" "$(member bin/tracelet doctor --json | jq -r '.open[] | select(.name == "program").found')"
check "no capability reaches the test" member bin/tracelet run --quiet -- sh -c '! grep -E "^Cap(Prm|Eff|Inh|Amb)" /proc/self/status | grep -qv 0000000000000000'
done_testing
