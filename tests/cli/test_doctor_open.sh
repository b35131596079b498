# tracelet doctor warns about what other users of the machine could use, and only about that.
. "$(dirname "$0")/lib.sh"
. "$source/tests/cli/helpers/words.sh"
need_root
need_command jq unshare
unshare -m true 2>/dev/null || skip_all "nothing can be mounted here"
chmod 755 "$work_root" .

# open_with NAME=VALUE...: doctor's warnings on a machine whose kernel has these settings; all others are closed.
open_with() {
	local setting
	rm -rf faked && mkdir faked
	for setting in fs/protected_symlinks=1 fs/protected_hardlinks=1 fs/protected_regular=1 fs/protected_fifos=1 fs/suid_dumpable=0 \
		kernel/unprivileged_bpf_disabled=2 kernel/perf_event_paranoid=2 kernel/core_pattern=core "$@"; do
		echo "${setting#*=}" >"faked/$(basename "${setting%%=*}")"
	done
	# shellcheck disable=SC2016
	run unshare -m sh -c 'for folder in fs kernel; do for file in faked/*; do place=/proc/sys/$folder/${file#faked/}
		[ ! -e "$place" ] || mount --bind "$file" "$place" || exit 9; done; done; exec "${program:-$TRACELET}" doctor --json'
	cp "$stdout" open.json
}
# Without those about agents: another test may have one.
names() { jq -r '[.open[].name | select(. != "agent")] | join(" ")' open.json; }
says() { # DESCRIPTION NAME FOUND FIX
	check "$1" jq -e --arg name "$2" --arg found "$3" --arg fix "$4" \
		'[.open[] | select(.name == $name and (.found | test($found)) and (.fix | test($fix)))] | length == 1' open.json
}

open_with
check_equal "a machine where nothing is open" "" "$(names)"
while read -r name value better; do
	open_with "$(echo "$name" | tr . /)=$value"
	check_equal "$name=$value is the only warning" "$name" "$(names)"
	says "... with its fix" "$name" "^is $value: ." "^sysctl $name=$better\$"
done <<'END'
fs.protected_symlinks 0 1
fs.protected_hardlinks 0 1
fs.protected_regular 0 2
fs.protected_fifos 0 2
kernel.unprivileged_bpf_disabled 0 2
kernel.perf_event_paranoid -1 2
END
open_with fs/suid_dumpable=1
says "cores of set-user-id programs for everyone" fs.suid_dumpable "is 1" "suid_dumpable=0"
open_with fs/suid_dumpable=2
says "cores of set-user-id programs anywhere" fs.suid_dumpable "core_pattern is 'core'" "suid_dumpable=0"
open_with fs/suid_dumpable=2 'kernel/core_pattern=|/usr/lib/systemd/systemd-coredump %P'
check_equal "not if a program takes them" "" "$(names)"

mkdir -m 777 tracelet-out
open_with
says "artifacts that others can replace" output "every user" "chmod o-w tracelet-out"
rm -r tracelet-out && ln -s /tmp tracelet-out
open_with
says "a link" output "is a link" "output-dir"
rm tracelet-out

echo 'keep = never' >tracelet.ini
open_with
check_equal "a project's file of one's own" "" "$(names)"
chmod 666 tracelet.ini
open_with
says "one that others can write to" tracelet.ini "tracelet.ini is ignored: other users can write" "yours alone"
rm tracelet.ini

cp "$TRACELET" copy
export program=$work/copy
open_with
check_equal "a program without capabilities" "" "$(names)"
chmod u+s copy
open_with
says "set-user-id" program "set-user-id" "chmod u-s,g-s $work/copy"
chmod 757 copy
open_with
says "replaceable" program "replaced by every user" "chmod o-w $work/copy"
chmod 755 copy
if setcap cap_bpf,cap_perfmon+ep copy 2>/dev/null; then
	open_with
	says "capabilities for everyone" program "every user can run it" "chgrp tracelet .* && chmod 0750 .* && setcap cap_bpf,cap_perfmon\\+ep "
	chmod 750 copy
	open_with
	check_equal "capabilities for a group" "" "$(names)"
	setcap cap_bpf,cap_perfmon,cap_sys_admin+ep copy
	open_with
	says "too many of them" program "more capabilities than it needs" "setcap cap_bpf,cap_perfmon\\+ep $work/copy"
else
	skip "capabilities" "files cannot have any here"
fi
unset program

# agent OPTIONS...: a process that looks like one, until it is killed.
mkfifo never
agent() {
	(exec -a tracelet-agent bash -c 'read -r line' bash "$@" <>never) &
	agent=$!
	wait_until grep -q tracelet-agent "/proc/$agent/cmdline"
	open_with
	kill $agent
	wait $agent 2>/dev/null
}
agent --listen vsock:
says "an agent without a token" agent "process $agent\\)" "token-file"
agent --listen vsock: --token-file x
check_not "with one" jq -e --arg found "process $agent)" '.open[] | select(.found | contains($found))' open.json

# as_first COMMAND_LINE [AGENT_OPTIONS...]: doctor in a machine where that is the kernel command line and process 1
# is an agent; with options, there is another one.
as_first() {
	echo "$1" >kernel_line
	shift
	cp "$(command -v bash)" init
	# shellcheck disable=SC2016
	run unshare -m -p -f --mount-proc ./init -c 'mount --bind kernel_line /proc/cmdline || exit 9
		other=
		if [ $# -gt 0 ]; then
			(exec -a tracelet-agent bash -c "read -r line" bash "$@" <>never) &
			other=$!
			until grep -q tracelet-agent "/proc/$other/cmdline"; do sleep 0.01; done
		fi
		"$TRACELET" doctor --json
		[ -z "$other" ] || kill $other' init "$@"
	jq -r '[.open[] | select(.name == "agent") | .found | capture("process (?<id>[0-9]+)").id] | join(" ")' "$stdout"
}
check_equal "process 1 on vsock without a token" 1 "$(as_first 'quiet tracelet.listen=port:x,vsock: panic=1')"
check_equal "elsewhere" "" "$(as_first 'quiet tracelet.listen=port:x panic=1')"
check_equal "with a token" "" "$(as_first 'tracelet.listen=vsock: tracelet.token-file=/token')"
check_match "another one's token does not count" '^[0-9]+$' <(as_first 'tracelet.listen=vsock: tracelet.token-file=/token' --listen vsock:)

open_with fs/protected_symlinks=0
# shellcheck disable=SC2016
run unshare -m sh -c 'mount --bind faked/protected_symlinks /proc/sys/fs/protected_symlinks && exec "$TRACELET" doctor'
check_match "in the table too, one line each" '^  fs.protected_symlinks is 0: .*; fix: sysctl fs.protected_symlinks=1$' "$stdout"
done_testing
