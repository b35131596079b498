# A test whose user may not look into the tracer finds the memory for its marks at a small process of its
# user's. That process has nothing of the tracer's, and is not taken for one of the test's.
. "$(dirname "$0")/lib.sh"
need_root
need_command setpriv python3
chmod 777 "$work"

cat >look.py <<'END'
"""look.py FILE: writes what a test can learn about the process that holds its marks."""
import os, sys
holder = os.environ["TRACELET_MARKS"].split("/")[2]
place = "/proc/" + holder
status = {key: value.strip() for key, _, value in (line.partition(":") for line in open(place + "/status"))}
found = 0
for line in open(place + "/maps"):
    begin, end = (int(part, 16) for part in line.split()[0].split("-"))
    if "r" not in line.split()[1] or "[v" in line or "memfd" in line:
        continue
    if end - begin > 1 << 32: # the shadow memory of a build with sanitizers
        continue
    with open(place + "/mem", "rb", 0) as memory:
        memory.seek(begin)
        found += b"for the tracer only" in memory.read(end - begin)
with open(sys.argv[1], "w") as out:
    print("name", status["Name"], file=out)
    print("user", *sorted(set(status["Uid"].split())), file=out)
    print("group", *sorted(set(status["Gid"].split())), file=out)
    print("groups", status["Groups"], file=out)
    print("capabilities", status["CapPrm"], status["CapEff"], status["CapInh"], status["CapAmb"], file=out)
    print("new privileges", "no" if status["NoNewPrivs"] == "1" else "yes", file=out)
    print("descriptors", *sorted(os.readlink(f"{place}/fd/{fd}").split(" ")[0] for fd in os.listdir(place + "/fd")), file=out)
    print("environment", len(open(place + "/environ").read()), file=out)
    print("folder", os.readlink(place + "/cwd"), file=out)
    print("secrets", found, file=out)
END

has() { # DESCRIPTION LINE
	check "$1" grep -qxE "$2" seen
	grep -qxE "$2" seen || note "$(cat seen)"
}

# looked_at DESCRIPTION UID: what all of them must be.
looked_at() {
	has "$1: its name" 'name tracelet-marks'
	has "... its user" "user $2"
	has "... its groups" "group $(id -g nobody)"
	has "... no capabilities" 'capabilities( 0{16}){4}'
	has "... for good" 'new privileges no'
	has "... two descriptors: the memory and the tracer" 'descriptors (/memfd:tracelet-marks anon_inode:\[pidfd\]|/memfd:tracelet-marks pidfd:.*)'
	has "... no environment" 'environment 0'
	has "... in no folder of the test's" 'folder /'
	has "... nothing of the tracer's memory" 'secrets 0'
}

exec 7<"$source/meson.build" # a descriptor of the caller's
check_run "with --user" 0 env "SECRET=for the tracer only" "$TRACELET" run --quiet --user nobody --output-dir out -- \
	env -u SECRET python3 look.py "$work/seen"
looked_at "with --user" "$(id -u nobody)"
rm -f seen

cp "$TRACELET" able
ordinary() { setpriv --reuid=nobody --regid=nogroup --clear-groups "$@"; }
if setcap cap_bpf,cap_perfmon+ep able 2>/dev/null; then
	check_run "with file capabilities" 0 ordinary env "SECRET=for the tracer only" ./able run --quiet --output-dir "$work/able-out" -- \
		env -u SECRET python3 look.py "$work/seen"
	looked_at "with file capabilities" "$(id -u nobody)"

	# A test that ends at SIGTERM does not cost the grace: the limit is far away, and another one ends us first.
	check_run "a time limit with file capabilities" 99 timeout -s KILL 60 setpriv --reuid=nobody --regid=nogroup --clear-groups \
		./able run --quiet --timeout 1 --grace 1000 --timeout-status 99 --output-dir "$work/able-out" -- sleep 1000
	check_run "waiting for the tree" 5 timeout -s KILL 60 setpriv --reuid=nobody --regid=nogroup --clear-groups \
		./able run --quiet --wait-tree --output-dir "$work/able-out" -- sh -c 'exit 5'
else
	skip "with file capabilities" "files cannot have any here"
fi
check_run "a time limit with --user" 99 timeout -s KILL 60 "$TRACELET" run --quiet --user nobody --timeout 1 --grace 1000 --timeout-status 99 \
	--output-dir out -- sleep 1000
check_run "waiting for the tree with --user" 5 timeout -s KILL 60 "$TRACELET" run --quiet --user nobody --wait-tree --output-dir out -- sh -c 'exit 5'
if unshare -pf --mount-proc true 2>/dev/null; then
	check_run "as the first process of a container" 99 timeout -s KILL 60 unshare -pf --mount-proc "$TRACELET" run --quiet --user nobody --timeout 1 \
		--grace 1000 --timeout-status 99 --output-dir out -- sleep 1000
fi
check_run "calling the program by that name gains nothing" 1 bash -c 'exec -a tracelet-marks "$TRACELET" 0 1 2 0'
check "no holder is left" wait_until eval '! pgrep -x tracelet-marks >/dev/null'
done_testing
