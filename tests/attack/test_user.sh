# A test that root traces need not run as root: with --user it has only that user's privileges, and the
# user gets the artifacts. Links that the user planted in the output folder lead nowhere.
. "$(dirname "$0")/lib.sh"
need_root
group=$(id -gn nobody)
home=$(getent passwd nobody | cut -d: -f6)
out=$work/out

# The owners of all files below a folder, each once.
owners() { find "$1" -printf '%u:%g\n' | sort -u | xargs; }
as_nobody() { "$TRACELET" run --quiet --user nobody --output-dir "$out" "$@"; }

# Root in several groups and with ambient capabilities passes none of them on.
run setpriv --groups 0,4,6 --inh-caps +chown,+setuid --ambient-caps +chown,+setuid "$TRACELET" run --quiet --user nobody \
	--output-dir "$out" -- sh -c 'id -u; id -ru; id -G; grep -E "^Cap(Inh|Prm|Eff|Amb)" /proc/self/status | cut -f2 | sort -u
	echo "$HOME $USER $LOGNAME"'
check_equal "the test runs" 0 "$status"
check_equal "its user, groups, capabilities and variables" \
	"$(id -u nobody) $(id -u nobody) $(id -G nobody) 0000000000000000 $home nobody nobody" "$(xargs <"$stdout")"
check_equal "the folder and all in it are its user's" "nobody:$group" "$(owners "$out")"
check "a trace among it" test -s "$(find "$out" -name '*.pb')"
check_run "the exit status is the test's" 7 as_nobody -- sh -c 'exit 7'
check_run "it cannot read what is root's" 1 as_nobody -- sh -c 'cat /etc/shadow >/dev/null 2>&1'
check_not "nor become root again" as_nobody -- setpriv --reuid 0 true
check_run "a number and a group" 0 "$TRACELET" run --quiet --user 12345:54321 --output-dir "$work/numbers" -- \
	sh -c '[ "$(id -u) $(id -G)" = "12345 54321" ]'
check_equal "who gets the artifacts" "12345:54321" "$(find numbers -printf '%U:%G\n' | sort -u)"
check_run "a test that is not traced has no more rights" 0 "$TRACELET" run --enabled no --user nobody -- \
	sh -c '[ "$(id -u)" = "$(id -u nobody)" ]'
check_run "nor has one of a project that wants them" 0 sh -c 'mkdir project && cd project && echo "user = root" >tracelet.ini &&
	TRACELET_USER=nobody "$1" run --quiet -- sh -c "[ \$(id -un) = nobody ]"' sh "$TRACELET"

# Limits: those that root's session raised do not reach the test, and what limits.conf says of the user does.
first=$(prlimit --pid 1 --core --output SOFT --noheadings --raw)
run bash -c 'ulimit -S -c "$(ulimit -H -c)"; "$@"' bash "$TRACELET" run --quiet --user nobody --output-dir "$out" -- \
	prlimit --core --output SOFT --noheadings --raw
check_equal "root's limit for cores" "$first" "$(xargs <"$stdout")"
mkdir -p security/limits.d
cat >security/limits.conf <<END
nobody	-	nofile	300
*	hard	nofile	200
root	-	nofile	100
@$group	soft	core	8
END
echo 'nobody soft nofile 250 # a later line' >security/limits.d/90-test.conf
echo 'nobody soft nofile 1' >security/limits.d/ignored.txt
limited() { # with these files
	unshare -m sh -c 'mount --bind "$1" /etc/security && shift && exec "$@"' sh "$work/security" "$@"
}
if limited true 2>/dev/null; then
	for enabled in yes no; do
		run limited "$TRACELET" run --quiet --enabled $enabled --user nobody --output-dir "$out" -- \
			bash -c 'ulimit -S -n; ulimit -H -n; ulimit -S -c'
		check_equal "limits of the user, enabled: $enabled" "250 300 8" "$(xargs <"$stdout")"
	done
	run limited "$TRACELET" run --quiet --core --core-limit 1M --user nobody --output-dir "$out" -- bash -c 'ulimit -S -n; ulimit -S -c'
	check_equal "--core is the caller's wish" "250 1024" "$(xargs <"$stdout")"
	run limited "$TRACELET" run --quiet --user 12345:54321 --output-dir "$work/numbers" -- sh -c 'ulimit -H -n'
	check_equal "a user without an account" 200 "$(xargs <"$stdout")"
	run limited "$TRACELET" run --quiet --output-dir "$work/without" -- sh -c 'ulimit -n'
	check_equal "without --user, they stay as they are" "$(ulimit -n)" "$(xargs <"$stdout")"
else
	skip "limits of the user" "no mounts are allowed here"
fi

# Marks and the heap: the tracer's memory is found although the tracer is root.
rm -rf "$out"
check_run "marks" 0 as_nobody --name marks -- "$TRACELET" mark "made by nobody"
"$TRACELET" dump "$(find "$out" -name 'marks*.pb')" >dumped
check_match "are in the trace" 'made by nobody' dumped
check_run "heap" 0 as_nobody --heap --name heap -- "$helpers/heap" plain
check "leaves a profile" test -s "$(find "$out" -name 'heap*.dhat.json')"
check_run "samples, a kept spool" 0 as_nobody --sample --keep-spool --name more -- sh -c 'i=0; while [ $i -lt 200000 ]; do i=$((i+1)); done'
check_run "everything that can be recorded" 0 as_nobody --profile verbose --name verbose -- true
check "leaves a trace, too" test -s "$(find "$out" -name 'verbose*.pb')"
check_run "a time limit" 124 as_nobody --timeout 1 --grace 1 --name slow -- sleep 60
check "leaves stacks" test -s "$(find "$out" -name 'slow*.stacks.txt')"
check_run "a second run" 3 as_nobody --repro --name again -- sh -c 'exit 3'
check "leaves what it printed" test -e "$(find "$out" -name 'again*.repro.log')"
check_equal "all of it is its user's" "nobody:$group" "$(owners "$out")"

# What the caller names is written with the caller's privileges; links that the user plants are not followed.
mkdir -m 700 mine
check_run "JSON for the caller" 0 as_nobody --json mine/summary.json -- true
check_equal "is the caller's" root "$(stat -c %U mine/summary.json)"
mkdir treasure planted && chown nobody planted
as_attacker ln -s ../treasure planted/link
run "$TRACELET" run --quiet --user nobody --output-dir planted/link/deep -- true
check_equal "a link in the user's folder: the test runs" 0 "$status"
check_equal "and nothing is written behind it" "" "$(ls treasure)"
run "$TRACELET" run --quiet --user nobody --output-dir treasure -- true
check_equal "a folder of root's: the test runs" 0 "$status"
check_equal "nothing is written there either" "" "$(ls treasure)"
check_match "one line says so" '^tracelet: warning: no trace: cannot write to treasure' "$stderr"

# In a guest: the agent is root, its folder private.
"$TRACELET" agent --listen "unix:$work/agent" 2>agent.log &
wait_until "$TRACELET" guest "unix:$work/agent" shell true </dev/null
check_run "in a guest" 6 "$TRACELET" guest "unix:$work/agent" run --quiet --user nobody --output-dir "$work/guest" --name inside -- \
	sh -c '[ "$(id -un)" = nobody ] && exit 6'
check "its trace arrives" test -s "$(find guest -name 'inside*.pb')"

# Operations.
export TRACELET_STATE_DIR=$work/state
check_run "start" 0 "$TRACELET" start --user nobody --output-dir "$work/operation" step
check_run "stop" 0 "$TRACELET" stop step
check_equal "its trace is the user's" "nobody:$group" "$(owners operation)"
check_equal "its state root's" root "$(owners state | cut -d: -f1)"

# each: listing cases runs the program too.
cat >suite.sh <<'END'
#!/bin/sh
id -un >>"$WITNESS"
if [ "$*" = "--list --format terse" ]; then
	printf 'one: test\ntwo: test\n'
else
	echo 'test result: ok. 1 passed; 0 failed'
fi
END
chmod 755 suite.sh
export WITNESS=$work/witness
install -m 666 /dev/null "$WITNESS"
run "$TRACELET" each --user nobody --output-dir "$work/each" --framework libtest -- ./suite.sh
check_equal "each case runs" 0 "$status"
check_lines "and is listed, twice" 4 "$WITNESS"
check_equal "no case and no listing ran as root" nobody "$(sort -u "$WITNESS")"

# A test that puts a link in the place of its output folder: the page of all cases is not written behind it.
cat >moves.sh <<'END'
#!/bin/sh
if [ "$*" = "--list --format terse" ]; then
	printf 'one: test\n'
else
	[ ! -d planted ] || { rm -rf planted/moved && ln -s ../treasure planted/moved; }
	echo 'what it printed'
	echo 'test result: FAILED. 0 passed; 1 failed'
	exit 1
fi
END
chmod 755 moves.sh
paged() { "$TRACELET" each --once --report --user nobody --framework libtest --output-dir "$@" -- ./moves.sh; }
check_run "each with a page: its cases run" 101 paged planted/moved
check_equal "no page of root's behind the link" "" "$(ls treasure)"
mv planted elsewhere
check_run "the same in a folder of its own" 101 paged "$work/paged"
check_equal "the page is the user's" nobody "$(stat -c %U paged/report.html)"
check_match "with what the case printed" 'what it printed' paged/report.html
mv elsewhere planted

# Who may use it.
export SUDO_UID=12345 SUDO_GID=54321
check_run "sudo's user" 0 "$TRACELET" run --quiet --user sudo --output-dir "$work/sudo" -- sh -c '[ "$(id -u):$(id -g)" = 12345:54321 ]'
unset SUDO_UID
check_run "without sudo" 2 "$TRACELET" run --user sudo -- true
check_match "which one line says" '^tracelet: (error: )?--user sudo: not started by sudo' "$stderr"
for bad in nosuchuser 4294967295:1 99999 nobody:x -1; do
	run "$TRACELET" run --user "$bad" -- touch ran
	check_equal "--user '$bad' is refused" 2 "$status"
	check_lines "with one line" 1 "$stderr"
done
check_not "and the test did not run" test -e ran
run as_attacker "$TRACELET" run --user root --output-dir /dev/null -- true
check_equal "an ordinary user may not" 2 "$status"
check_match "which one line says" '^tracelet: (error: )?--user: only root may run a test as another user' "$stderr"
check_run "his own name changes nothing" 0 as_attacker "$TRACELET" run --quiet --user nobody --output-dir /tmp/nowhere/x -- sh -c '[ "$(id -un)" = nobody ]'
done_testing
