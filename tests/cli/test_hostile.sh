# Files with impossible content: memory stays small, and what makes sense in them is read.
. "$(dirname "$0")/lib.sh"
need_command python3 jq
make_etl=$(dirname "$TRACELET")/tests/etl/make_etl

# limited COMMAND...: with 2 GB of address space; in a sanitizer build, which needs more of that, with as much memory.
limited() {
	if is_sanitized; then
		ASAN_OPTIONS=${ASAN_OPTIONS:+$ASAN_OPTIONS:}hard_rss_limit_mb=2000 "$@"
	else
		(ulimit -v 2000000 && "$@")
	fi
}

# ---- CPUs that no machine has ----

cat >cpu.script <<END
a  5 [50000000] 1.000000:       1000 cycles:
	          401000 main (/bin/a)

a  5 [001] 2.000000:       1000 cycles:
	          401000 main (/bin/a)

END
# As `perf record -o -` writes it.
python3 - >cpu.data <<END
import struct, sys
IP, TID, TIME, CPU, PERIOD = 1, 2, 4, 128, 256
SAMPLE, ATTR = 9, 64
def record(kind, body):
    return struct.pack("<IHH", kind, 2, 8 + len(body)) + body
attr = struct.pack("<IIQQQQQ", 1, 112, 0, 4000, IP | TID | TIME | CPU | PERIOD, 0, 1 << 10 | 1 << 18)
out = struct.pack("<8sQ", b"PERFILE2", 16) + record(ATTR, attr + bytes(112 - len(attr)) + struct.pack("<Q", 7))
for time, cpu in (1, 50000000), (2, 1), (3, 2**32 - 2):
    out += record(SAMPLE, struct.pack("<QIIQQQ", 0x401000, 5, 5, time, cpu, 1000))
sys.stdout.buffer.write(out)
END
# Every buffer of CPU 1 becomes one of CPU 60000, and a counter belongs to core 2^31.
"$make_etl" whole.etl plain
python3 - whole.etl >cpu.etl <<'END'
import struct, sys
file = bytearray(open(sys.argv[1], "rb").read())
begin = 0
while begin + 72 <= len(file):
    size, = struct.unpack_from("<I", file, begin)
    if struct.unpack_from("<H", file, begin + 0x28)[0] == 1:
        struct.pack_into("<H", file, begin + 0x28, 60000)
    begin += size
name = "ld_spec".encode("utf-16le")
assert file.count(struct.pack("<Q", 3) + name) > 0
sys.stdout.buffer.write(file.replace(struct.pack("<Q", 3) + name, struct.pack("<Q", 2**31) + name))
END

# check_cpus FILE CPU...: the file contains these CPUs.
check_cpus() {
	local file=$1
	shift
	run limited "$TRACELET" convert "$file" out.pb
	check_equal "$file is converted" 0 $status
	check_match "with a warning" "^tracelet: warning: $file: [0-9]+ events? names? a CPU that cannot exist" "$stderr"
	check "into a good trace" "$TRACELET" check --quiet out.pb
	for verb in fold info flame dump; do
		run limited "$TRACELET" $verb "$file"
		check_equal "$verb $file" 0 $status
	done
	for table in cpu-samples context-switches dpc-isr pmu; do
		run limited "$TRACELET" table "$file" $table
		check_equal "table $file $table" 0 $status
	done
	"$TRACELET" dump --json "$file" 2>/dev/null >events
	check_equal "the others have theirs" "$*" "$(echo $(jq '.cpu // empty' events | sort -nu))"
	check "and some have none" jq -es 'any(.cpu == null)' events
}
check_cpus cpu.script 1
check_cpus cpu.data 1
check_cpus cpu.etl 0

done_testing
