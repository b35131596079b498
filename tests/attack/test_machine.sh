# A guest that floods its console does not fill the disk, and QEMU runs without the system calls that it does
# not need. QEMU is a stand-in here that does to the console what a guest could; tests/guest boots real ones.
. "$(dirname "$0")/lib.sh"
need_command python3
[ -x "$(dirname "$TRACELET")/tracelet-agent" ] || skip_all "tracelet-agent is not built"

mkdir bin
cat >bin/qemu-system-x86_64 <<'END'
#!/usr/bin/env python3
import os, sys
words = sys.argv[1:]
if "-monitor" in words:
    sys.exit(1)  # asked whether KVM works
with open(os.environ["SEEN"], "a") as seen:
    seen.write(" ".join(words) + "\n")
if os.environ.get("NO_SANDBOX") and "-sandbox" in words:
    sys.exit("qemu-system-x86_64: -sandbox support is not enabled in this QEMU binary")
console = words[words.index("-serial") + 1].removeprefix("file:")
with open(console, "wb") as out:
    out.write(b"the beginning\n")
    for i in range(int(os.environ.get("FLOOD", "0"))):
        out.write(b"%07d" % i + b"x" * 1016 + b"\n")
    out.write(b"[    1.0] Kernel panic - not syncing: the last word\n")
END
chmod +x bin/qemu-system-x86_64
python3 - <<'END'
import struct
# The smallest thing that counts as a kernel: an ELF file for this machine.
header = b"\x7fELF\2\1\1" + bytes(9) + struct.pack("<HHIQQQIHHHHHH", 2, 62, 1, 0, 0, 0, 0, 64, 56, 0, 64, 0, 0)
open("vmlinux", "wb").write(header)
END
machine() {
	rm -rf tracelet-out seen
	run env "PATH=$work/bin:$PATH" "SEEN=$work/seen" "$@"
}

machine FLOOD=4000 "$TRACELET" vm run --arch x86_64 --kernel vmlinux --max-console 1M -- true
check_equal "a guest that floods its console and dies: it failed" 125 "$status"
console=$(echo tracelet-out/*.console.log)
check "its console is no longer than the limit, and a remark" test "$(stat -c %s "$console")" -le $(((1 << 20) + 100))
check_match "it has the beginning" '^the beginning$' "$console"
check_match "... and the end" 'not syncing: the last word' "$console"
check_match "... and says what is missing between them" '^\[tracelet: [0-9]+ bytes omitted\]' "$console"
omitted=$(sed -n 's/^\[tracelet: \([0-9]*\) bytes omitted\]$/\1/p' "$console")
kept=$(($(stat -c %s "$console") - $(grep -a -A1 -B1 '^\[tracelet: ' "$console" | sed -n 2p | wc -c) - 1))
check_equal "... exactly" $((14 + 4000 * 1024 + 52)) $((kept + omitted))
check_match "a warning names the limit" "exceeded --max-console \(1 MiB\); omitted $omitted bytes" "$stderr"
check_match "and the panic is found" 'kernel panic: .*the last word' "$stderr"

machine FLOOD=10 "$TRACELET" vm run --arch x86_64 --kernel vmlinux --max-console 1M -- true
check_equal "a short console is whole" $((14 + 10 * 1024 + 52)) "$(cat tracelet-out/*.console.log | wc -c)"
check_not "without a warning" grep -q max-console "$stderr"
check_match "QEMU is in its sandbox" '-sandbox on,obsolete=deny,elevateprivileges=deny,spawn=deny,resourcecontrol=deny' seen
check_equal "at the first try" 1 "$(wc -l <seen)"

machine NO_SANDBOX=1 "$TRACELET" vm run --arch x86_64 --kernel vmlinux -- true
check_equal "a QEMU without one is started twice" 2 "$(wc -l <seen)"
check_not "the second time without" grep -q -e -sandbox <(tail -n 1 seen)
check_match "and its guest's panic is reported all the same" 'the last word' "$stderr"

machine "$TRACELET" vm run --arch x86_64 --kernel vmlinux --qemu '-sandbox off' -- true
check_equal "the caller's own -sandbox wins" "-sandbox off" "$(grep -o -e '-sandbox .*' seen)"
check_run "a limit that is too low" 2 "$TRACELET" vm run --arch x86_64 --kernel vmlinux --max-console 1K -- true
check_match "is refused by name" "max-console: '1K' is not a size of at least 128K" "$stderr"
done_testing
