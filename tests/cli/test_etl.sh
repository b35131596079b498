#!/usr/bin/env bash
# ETL files as users see them: real ones against expected results (if the corpus is available), a
# generated one for what no real one has.
. "$(dirname "$0")/lib.sh"
need_command python3 jq
corpus=${TRACELET_CORPUS:-$source/../shared/corpus}/etl
make_etl=$(dirname "$TRACELET")/tests/etl/make_etl
tp=$source/tests/perfetto/tp

# check_rows FILE: Perfetto's importer has as many rows as `info` and `table` have switches, samples (without idle
# ones, with stacks at events), processes and threads. It creates a thread for each process, which Windows does not, and always has an idle
# thread.
check_rows() {
	"$TRACELET" info --json "$1" >rows.json
	"$TRACELET" convert --quiet "$1" rows.pb
	local at_events
	at_events=$("$TRACELET" table --json "$1" event-stacks --group-by none 2>/dev/null | jq length)
	check "$(basename "$1"): the importer finds no trouble" $tp --health rows.pb
	check_equal "$(basename "$1"): switches, samples, processes and threads as many as the importer's" \
		"$(jq -r '"\([.events[] | select(.name == "Windows Kernel/Thread/CSwitch").count] | add // 0)|\(
			(.cpu_samples // {total: 0, idle_thread0_not_dpc_isr: 0}) | .total - .idle_thread0_not_dpc_isr + '"$at_events"')|\(
			[.processes[].pid | select(. != 0)] | length)"' rows.json)|$("$TRACELET" table --json "$1" threads | jq length)" \
		"$($tp rows.pb "select (select count(*) from sched_slice) || '|' || (select count(*) from perf_sample) || '|' ||
			(select count(*) from process where pid != 0 ${2:-}) || '|' ||
			(select count(*) from thread where tid != 0 and tid not in (select pid from process))")"
}

# ---- real files ----

if [ -d "$corpus" ]; then
	for expected in "$corpus"/expected/*__*.json; do
		name=$(basename "$expected" .json)
		check_run "info reads $name" 0 "$TRACELET" info --json "$corpus/$name.etl"
		cp "$stdout" ours.json
		check "$name: all as expected" python3 "$source/tests/etl/compare" "$expected" ours.json
	done
	for expected in "$corpus"/expected/oracle_*.json; do
		name=$(basename "$expected" .json)
		"$TRACELET" dump --json "$corpus/perfview__${name#oracle_}.etl" >dump.jsonl
		check "${name#oracle_}: as Microsoft's library printed it" python3 "$source/tests/etl/oracle" "$expected" dump.jsonl
	done
	"$TRACELET" info --json --manifest "$source/tests/etl/clr.man" "$corpus/perfview__gcevents.etl" >ours.json
	check "events that a user's manifest describes: all as expected" python3 "$source/tests/etl/compare" \
		"$corpus/expected/perfview__gcevents.json" ours.json
	check_equal "which are most of them" 13 "$(jq '[.events[] | select(.tiers["man-file"])] | length' ours.json)"
	check_equal "with names for numbers" '1 true' "$("$TRACELET" dump --json --event GCStart --manifest "$source/tests/etl/clr.man" \
		"$corpus/perfview__gcevents.etl" | jq -r '"\(.fields.Count) \(.fields.Reason == "Induced")"' | head -1)"
	net=$corpus/perfview__net.4.5.2.x64.etl
	shutdown=$corpus/airbus__ShutdownPerfDiagLogger.etl
	check_equal "times of hours are exact in JSON" "$("$TRACELET" table --csv "$shutdown" images --sort load --limit 1 | tail -1 | cut -d, -f6 | tr -d .)" \
		"$("$TRACELET" table --json "$shutdown" images --sort load --limit 1 | jq '.[0].load * 1e9 | round')"
	check_equal "the comparison can fail" 1 "$(jq '.records.total += 1' ours.json >other.json
		python3 "$source/tests/etl/compare" "$corpus/expected/$name.json" other.json >/dev/null 2>&1; echo $?)"
	check_equal "all events that have a stack are dumped with it" "$(jq '.stacks.stats["events with stack"]' "$corpus/expected/perfview__net.4.5.2.x64.json")" \
		"$("$TRACELET" dump --json --provider "Windows Kernel" "$net" | jq -n '[inputs | select(.stack)] | length')"
	check_run "a real file converts" 0 "$TRACELET" convert "$net" net.pb
	check_run "what came out is sound" 0 "$TRACELET" check net.pb
	if $tp --health net.pb 2>/dev/null; then
		check_equal "samples by .NET methods" 4494 "$($tp net.pb "select count(*) from perf_sample s
			join stack_profile_callsite c on s.callsite_id = c.id join stack_profile_frame f on c.frame_id = f.id
			where f.name not like '%!?' and f.name != ''")"
		for file in "$net" "$shutdown"; do
			check_rows "$file"
		done
	else
		skip "Perfetto's importer agrees" "the importer is not to be had, or found trouble"
	fi
	check_equal "events of Windows' providers have names in files that were not merged" '8923 2041' \
		"$(for name in KernelNetwork HTTP_Server; do
			"$TRACELET" info --json "$corpus/tx__$name.etl" | jq '.decode_tiers["built-in"]'
		done | xargs)"
	check_equal "with addresses and ports" '157.56.244.38 443' \
		"$("$TRACELET" dump --json --event Datareceived "$corpus/tx__KernelNetwork.etl" | jq -r '"\(.fields.daddr) \(.fields.dport)"' | sort | uniq -c | sort -rn | awk 'NR == 1 { print $2, $3 }')"
	check_equal "the table of packets has the processes that sent and received them" '4101 443 2716' \
		"$("$TRACELET" table --json "$corpus/tx__KernelNetwork.etl" network | jq -r '[.[] | select(.size == 4101)][0] | "\(.size) \(.remote_port) \(.pid)"')"
	check_equal "sockets' addresses are readable" '[2001:4898:0:fff:0:5efe:a50:e410]:37838' \
		"$("$TRACELET" dump --json --event RecvReq "$corpus/tx__HTTP_Server.etl" | jq -r .fields.RemoteAddr | head -1)"
	check_equal "file operations of the provider Kernel-File are in their table" 562 \
		"$("$TRACELET" table --json "$net" file-io | jq '[.[] | select(.operation == "Create" and .file)] | length')"
	check_equal "structs in lists are decoded" '5 5' "$("$TRACELET" dump --json --event PerHeapHistory "$corpus/perfview__gcevents.etl" | head -1 |
		jq -r '"\(.fields.Count) \([.fields.Values | scan("NewAllocation=")] | length)"')"
	check_equal "info describes the machine" 'BRIANROB-W8 Virtual HD ATA Device C:' \
		"$("$TRACELET" info --json "$net" | jq -r '.machine | "\(.computer) \(.disks[0].name) \(.volumes[0].letter)"')"
	check_equal "images are on drives" C: "$("$TRACELET" table --csv "$net" images | awk -F, '$5 ~ /ntdll/ { print substr($5, 1, 2) }' | sort -u)"
	if [ -e "$corpus-wpr/TraceLoggingTester.etl.zst" ]; then
		zstd -dqc "$corpus-wpr/TraceLoggingTester.etl.zst" >wpr.etl
		"$TRACELET" convert --quiet wpr.etl wpr.pb
		check_equal "marks of wpr are marks" "$("$TRACELET" dump --json --event PerfInfo/Mark wpr.etl | wc -l)" \
			"$("$TRACELET" dump --json --provider mark wpr.pb | wc -l)"
	fi
	python3 - "$net" <<-'END'
		import sys, zipfile
		with zipfile.ZipFile("net.etl.zip", "w", zipfile.ZIP_DEFLATED) as out:
		    out.writestr("log.txt", "not this one")
		    out.write(sys.argv[1], "PerfViewData.etl")
	END
	"$TRACELET" info --json net.etl.zip >zipped.json
	check "a zip file is read as what it holds" python3 "$source/tests/etl/compare" \
		"$corpus/expected/perfview__net.4.5.2.x64.json" zipped.json
	head -c 3000000 net.etl.zip >short.zip
	check_run "a zip file that is cut off is refused" 2 "$TRACELET" info short.zip
	check_lines "in one line" 1 "$stderr"
else
	skip "real files" "there is no corpus in $corpus"
fi

# ---- a generated file ----

check "the hand-made file is made" "$make_etl" made.etl
check_run "info describes it" 0 "$TRACELET" info made.etl
check_match "with the session" 'hand-made' "$stdout"
check_match "and what it lost" '7 events' "$stdout"
python3 - <<-'END'
	import struct, zipfile
	data = open("made.etl", "rb").read()
	for name, method in ("stored", zipfile.ZIP_STORED), ("deflated", zipfile.ZIP_DEFLATED):
	    with zipfile.ZipFile(f"{name}.zip", "w", method) as out:
	        out.writestr("readme.txt", "not this one")
	        out.writestr("folder/MADE.ETL", data)
	with zipfile.ZipFile("one.zip", "w", zipfile.ZIP_DEFLATED) as out:
	    out.writestr("made.etl", data)
	# The same with 64-bit numbers, as in large files.
	whole = open("one.zip", "rb").read()
	end = whole.rindex(b"PK\5\6")
	at = struct.unpack_from("<I", whole, end + 16)[0]
	member = bytearray(whole[at : at + 46 + struct.unpack_from("<H", whole, at + 28)[0]])
	packed, size = struct.unpack_from("<II", member, 20)
	extra = struct.pack("<HHQQQ", 1, 24, size, packed, 0)
	struct.pack_into("<II", member, 20, 0xFFFFFFFF, 0xFFFFFFFF)
	struct.pack_into("<H", member, 30, len(extra))
	struct.pack_into("<I", member, 42, 0xFFFFFFFF)
	start = whole[:at] + member + extra
	wide = struct.pack("<IQHHIIQQQQ", 0x06064B50, 44, 45, 45, 0, 0, 1, 1, len(member) + len(extra), at)
	locator = struct.pack("<IIQI", 0x07064B50, 0, len(start), 1)
	last = struct.pack("<IHHHHIIH", 0x06054B50, 0, 0, 0xFFFF, 0xFFFF, 0xFFFFFFFF, 0xFFFFFFFF, 0)
	open("wide.zip", "wb").write(start + wide + locator + last)
	damaged = bytearray(open("stored.zip", "rb").read())
	damaged[damaged.index(data[:100]) + 5000] ^= 1
	open("damaged.zip", "wb").write(damaged)
	with zipfile.ZipFile("lzma.zip", "w", zipfile.ZIP_LZMA) as out:
	    out.writestr("made.etl", data)
END
for zip in stored deflated wide; do
	check_equal "a zip file with a $zip member" 52 "$("$TRACELET" info --json $zip.zip | jq .records.total)"
done
check_run "a zip file whose checksum is wrong is refused" 2 "$TRACELET" info damaged.zip
check_lines "damaged: in one line" 1 "$stderr"
check_run "so is one that is packed otherwise" 2 timeout 10 "$TRACELET" info lzma.zip
check_match "which is reported" 'neither stored nor deflated' "$stderr"
gzip -c made.etl >made.etl.gz
gzip -9 -c made.etl >made.etlgz
for packed in made.etl.gz made.etlgz; do
	check_equal "$packed is read as what it holds" 52 "$("$TRACELET" info --json $packed | jq .records.total)"
done
check_equal "also from a pipe" 52 "$("$TRACELET" info --json - <made.etl.gz | jq .records.total)"
"$TRACELET" dump --json made.etl >plain.jsonl
"$TRACELET" dump --json made.etl.gz >unpacked.jsonl
check "its events are the same" cmp plain.jsonl unpacked.jsonl
head -c 1000 made.etl.gz >short.etl.gz
check_run "one that is cut off is refused" 2 "$TRACELET" info short.etl.gz
check_lines "cut off: in one line" 1 "$stderr"
python3 -c 'data = bytearray(open("made.etl.gz", "rb").read()); data[-6] ^= 1; open("bad.etl.gz", "wb").write(data)'
check_run "one whose checksum is wrong is refused" 2 "$TRACELET" info bad.etl.gz
check_match "which is reported" 'bad.etl.gz: cannot be unpacked: the gzip file is damaged' "$stderr"
check_run "one that unpacks to too much is refused" 2 "$TRACELET" info --max-unpacked 4K made.etl.gz
check_match "with what to do" 'max-unpacked' "$stderr"
check_run "JSON lines" 0 "$TRACELET" dump --json --event CSwitch made.etl
check_equal "each is one event" 8 "$(jq -s 'map(select(.event == "Thread/CSwitch")) | length' "$stdout")"
check_equal "only from a time on" 2 "$("$TRACELET" dump --json --event CSwitch --from 200us made.etl | wc -l)"
check_equal "only up to a time" 6 "$("$TRACELET" dump --json --event CSwitch --to 0.0002 made.etl | wc -l)"
check_equal "only of a process" 40 "$("$TRACELET" dump --json --pid 40 made.etl | jq -s 'map(.pid) | unique[]')"
check_equal "only of a provider" 'Hand.Source' "$("$TRACELET" dump --json --provider hand.source made.etl | jq -r .provider)"
check_equal "only up to the start" 0 "$("$TRACELET" dump --json --to 0 made.etl | wc -l)"
check_equal "an event by its id" 3 "$("$TRACELET" dump --json --event 3 --provider bbbb made.etl | jq .id)"
check_equal "its other numbers are there" '0 4 0 true' \
	"$("$TRACELET" dump --json --event Measured made.etl | jq -r '"\(.version) \(.level) \(.opcode) \(.keywords | startswith("0x"))"')"
check_equal "an event about an instance" '17 16' "$("$TRACELET" dump --json made.etl | jq -r 'select(.instance) | "\(.instance) \(.parent_instance)"')"
check_equal "a sample with its stack" 'app.exe+0x500 app.exe+0x900' \
	"$("$TRACELET" dump --json --event Sample made.etl | jq -r 'select(.fields.InstructionPointer == "0x140000500") | .stack | join(" ")')"
check_equal "names of numbers" 'UserRequest Waiting' \
	"$("$TRACELET" dump --json --event CSwitch made.etl | jq -r '"\(.fields.OldThreadWaitReason) \(.fields.OldThreadState)"' | head -1)"
check_equal "CSV of nothing has its heading" 1 "$("$TRACELET" dump --csv --event nonsense made.etl | wc -l)"
check_equal "of one that is installed with Windows, by its name" 143 "$("$TRACELET" dump --json --provider DotNETRuntime made.etl | jq .id)"
check_equal "and by its GUID" 143 "$("$TRACELET" dump --json --provider '{e13c0d23-CCBC-4e12' made.etl | jq .id)"
check_run "CSV" 0 "$TRACELET" dump --csv made.etl
check_equal "has a line more than there are events" "$("$TRACELET" dump --json made.etl | wc -l)" "$(($(wc -l <"$stdout") - 1))"


# ---- event manifests of the user ----

# manifest NAME: describes event 3 of a provider in the file
manifest() {
	cat <<-END
		<instrumentationManifest><instrumentation><events><provider name="$1" guid="{bbbbbbbb-cccc-dddd-eeee-ffffffffffff}">
		<templates><template tid="T"><data name="code" inType="win:UInt32"/></template></templates>
		<events><event value="3" symbol="Beef" template="T"/></events></provider></events></instrumentation></instrumentationManifest>
	END
}
described() { "$TRACELET" dump --json --event 3 --provider "$1" made.etl "${@:2}" | jq -r '"\(.provider) \(.event) \(.fields.code)"'; }
mkdir -p data/tracelet/manifests mine
manifest Usual >data/tracelet/manifests/a.man
manifest Chosen >mine/b.man
manifest Named >named.man
echo 'not a manifest' >mine/readme.txt
check_equal "without manifests there are bytes" 'bbbbbbbb-cccc-dddd-eeee-ffffffffffff event 3 null' "$(described bbbb)"
check_equal "those in the user's folder describe events" 'Usual Beef 3735928559' "$(XDG_DATA_HOME=$PWD/data described Usual)"
check_equal "so do those in another folder" 'Chosen Beef 3735928559' "$(XDG_DATA_HOME=$PWD/data described Chosen --manifest-dir mine)"
check_equal "or one that a variable names" 'Chosen Beef 3735928559' "$(TRACELET_MANIFEST_DIR=$PWD/mine described Chosen)"
check_equal "one that is named comes before them" 'Named Beef 3735928559' "$(described Named --manifest-dir mine --manifest named.man)"
echo '<a><b></a>' >mine/broken.man
check_run "a broken one in the folder costs itself" 0 "$TRACELET" dump --manifest-dir mine --provider Chosen made.etl
check_lines "and is reported in one line" 1 "$stderr"
check_match "with its name" 'mine/broken.man.*line 1.*ignoring' "$stderr"
check_run "a folder that is not there describes nothing" 0 "$TRACELET" info --manifest-dir nowhere made.etl

table() { "$TRACELET" table --csv made.etl "$@"; }
check_equal "context switches with ready and wait time" '0.000080000,0,44,app.exe,main loop,40.000,10.000,30.000,48,UserRequest,64,app.exe,' \
	"$(table context-switches | sed -n 3p)"
check_equal "processes" '60,40,child.exe,0.000100000,0.000139500,3,child.exe' "$(table processes | sed -n 3p)"
check_equal "threads" '44,40,app.exe,main loop,,,40.000' "$(table threads | sed -n 2p)"
check_equal "images with their PDB" '40,app.exe,0x140000000,65536,\Device\HarddiskVolume1\app.exe,,,app.pdb,01020304-0506-0708-090a-0b0c0d0e0f10-2' \
	"$(table images | sed -n 3p)"
check_equal "interrupts" '0.000059000,1,ISR,ntoskrnl.exe+0x234,1.000' "$(table dpc-isr | sed -n 2p)"
check_equal "disk" '0.000130000,40,app.exe,Read,0,4096,65536,30.000,\Device\HarddiskVolume1\data.bin,' "$(table disk-io | sed -n 2p)"
check_equal "page faults" '0.000110000,40,app.exe,44,DemandZeroFault,0x7ff00000,0x140000100' "$(table page-faults | sed -n 2p)"
check_equal "allocations" '0.000112000,40,app.exe,VirtualAlloc,0x20000000,1048576,Commit|Reserve' "$(table virtual-alloc | sed -n 2p)"
check_equal "counters of the program, summed" 'ld_spec,3,2,2500' "$(table pmu-app | sed -n 2p)"
check_equal "counters of the driver, as differences" '0x70,3,2,5000' "$(table pmu-driver | sed -n 2p)"
check_equal "both in one pivot, by event and core" 'ld_spec,core,3,2,2500.000 r70,core,3,2,5000.000' "$(table pmu | sed 1d | sort | xargs)"
check_equal "losses" '0.000350000,,trace,7' "$(table lost | sed -n 2p)"
check_equal "grouped, summed, sorted" 'app.exe,3,170.000 child.exe,1,20.000' \
	"$(table context-switches --group-by process --sum run_us --sort run_us | tail -n +2 | xargs)"
check_equal "the other way round" 'child.exe' \
	"$(table context-switches --group-by process --sum run_us --sort run_us --reverse | sed -n 2p | cut -d, -f1)"
check_equal "rows of a table that is grouped" 'ReadGPC Core=3 Event=ld_spec EventIdx=0x70 EventNote=e Value=1000' \
	"$("$TRACELET" table --json made.etl generic-events --group-by none | jq -r 'map(select(.provider == "WindowsPerf App"))[0] | "\(.event) \(.fields)"')"
check_equal "JSON" 'child.exe' "$("$TRACELET" table --json made.etl processes | jq -r '.[1].name')"
check_equal "sums of all rows" '1,65536,30.000' "$(table disk-io --sum size,duration_us | tail -n +2)"
check_run "sums of text are refused" 2 "$TRACELET" table made.etl disk-io --sum file
check_lines "sums: reported in one line" 1 "$stderr"
check_run "there is no such table" 2 "$TRACELET" table made.etl nonsense
check_match "and the others are named" 'context-switches' "$stderr"
check_run "there is no such column" 2 "$TRACELET" table made.etl processes --group-by nonsense
check_lines "reported in one line" 1 "$stderr"

check_run "it converts" 0 "$TRACELET" convert made.etl made.pb
check_run "to a sound trace" 0 "$TRACELET" check made.pb
if $tp --health made.pb 2>/dev/null; then
	check_rows made.etl "and pid != 4" # which has no process of its own in this file
	check_equal "the length of a stay on a CPU, of a disk request, and on which CPU a DPC was" '40000|30000|PerfInfo/DPC cpu 1' "$($tp made.pb \
		"select (select dur from sched_slice join thread using (utid) where tid = 44 and ts = 180000) || '|' ||
		 (select dur from slice where name = 'DiskIO/Read') || '|' ||
		 (select t.name from slice s join track t on s.track_id = t.id where s.name = 'PerfInfo/DPC')")"
	check_equal "a process begins, is called by its program, and never runs itself" 'child.exe|200000|0' "$($tp made.pb \
		"select name || '|' || start_ts || '|' || (select count(*) from thread_state join thread using (utid) where tid = 60) from process where pid = 60")"
else
	skip "Perfetto's importer agrees" "the importer is not to be had, or found trouble"
fi

# ---- bad input ----

: >empty.etl
head -c 50 made.etl >tiny.etl
head -c 4096 /dev/urandom >noise.etl
for file in empty tiny noise missing; do
	check_run "$file is refused" 2 "$TRACELET" info $file.etl
	check_lines "$file: in one line" 1 "$stderr"
	check_run "$file does not convert" 2 "$TRACELET" convert $file.etl $file.pb
	check_not "$file leaves no output" test -e $file.pb
done
echo '<a><b></a>' >bad.man
check_run "a manifest that is no XML is refused" 2 "$TRACELET" dump --manifest bad.man made.etl
check_match "with its place" 'bad.man.*line 1' "$stderr"

# ---- stacks at events ----

"$make_etl" waits.etl waits
check_equal "stacks at events, those of the .NET runtime with its methods" 'Thread/ReadyThread,app.exe,app.exe,app.exe!?,1
Memory/TransitionFault,app.exe,app.exe,app.exe!?,1
GC/AllocationTick,app.exe,,Hand.Made.Run,1' "$("$TRACELET" table --csv waits.etl event-stacks | tail -n +2)"
check_equal "a profile of one event" 'main_loop;app.exe!?;Hand.Made.Run 1' "$("$TRACELET" fold waits.etl --event-filter GC/AllocationTick)"
check_equal "where a thread waited, until it was ready, and until it had a CPU" 'main_loop;[ready];app.exe+0x900;app.exe+0x500 10000
main_loop;app.exe+0x900;app.exe+0x500 200000' "$("$TRACELET" fold waits.etl --addrs --event-filter off-cpu)"
check_equal "a record has the stack that follows it" '["app.exe+0x500","app.exe+0x900"] ["Hand.Made.Run","app.exe+0x900"]' \
	"$("$TRACELET" dump --json waits.etl | jq -c 'select(.event == "Thread/CSwitch" or .event == "GC/AllocationTick") | .stack // empty' | paste -sd' ')"
check_run "why follows the wakeup" 0 "$TRACELET" why waits.etl
check_match "to the thread that ran meanwhile" '39.2 % +200 us +worker +runs' "$stdout"
check_match "the process's first thread is its beginning and its end" '^main loop took 510 us' "$stdout"
if "$TRACELET" convert --quiet waits.etl waits.pb && $tp --health waits.pb 2>/dev/null; then
	check_equal "Perfetto has the reasons for waiting" 'main loop|200000|UserRequest
worker|-1|WrQueue' "$($tp waits.pb "select name, dur, blocked_function from thread_state join thread using (utid) where state = 'S' order by ts")"
	check_equal "and the stacks at events as samples" 5 "$($tp waits.pb 'select count(*) from perf_sample')"
fi

# ---- which rows ----

rows() { "$TRACELET" table --csv "$@" 2>/dev/null | tail -n +2; }
check_equal "rows from a time on" 1 "$(rows waits.etl context-switches --from 300us --process app.exe | wc -l)"
check_equal "rows up to a time" '0.000000000 0.000050000' "$(rows waits.etl context-switches --to 300us --process app.exe | cut -d, -f1 | xargs)"
check_equal "rows of a process, by its number" 1 "$(rows waits.etl generic-events --group-by none --process 40 --filter fault | wc -l)"
check_equal "rows with a text" GC/AllocationTick "$(rows waits.etl generic-events --group-by none --filter allocation | cut -d, -f7)"
check_equal "fields as columns" '100000,' "$(rows waits.etl generic-events --fields AllocationAmount,MethodName --filter GC/ | cut -d, -f10-)"
check_equal "which can be added up" 100000 "$(rows waits.etl generic-events --fields AllocationAmount --sum AllocationAmount | cut -d, -f2)"
check_run "an empty table" 0 "$TRACELET" table waits.etl disk-io
check_match "says what records its events" 'no disk requests; the keyword DiskIO records them' "$stderr"
check_run "a table of which no row fits" 0 "$TRACELET" table waits.etl context-switches --process other.exe
check_match "says so" 'none of the [0-9]+ rows' "$stderr"
check_run "a table without times" 2 "$TRACELET" table waits.etl processes --from 1
check_match "cannot be cut" "has no column 'time'" "$stderr"
check_run "one mark is not enough" 2 "$TRACELET" table waits.etl context-switches --between a
if [ -d "$corpus" ]; then
	check_equal "network events of both kinds of providers" 8923 "$(rows "$corpus/tx__KernelNetwork.etl" network | wc -l)"
	if [ -e "$corpus/../etl-wpr/TraceLoggingTester.etl.zst" ] && command -v zstd >/dev/null; then
		zstd -dq "$corpus/../etl-wpr/TraceLoggingTester.etl.zst" -fo wpr.etl
		mark=$("$TRACELET" dump --json wpr.etl | jq -r 'select(.event == "PerfInfo/Mark") | .fields.Message' | head -1)
		check "there is a mark" test -n "$mark"
		all=$(rows wpr.etl generic-events --group-by none | wc -l)
		after=$(rows wpr.etl generic-events --group-by none --between "$mark,never" | wc -l)
		check "a region of it has some of the events" test "$after" -gt 0 -a "$after" -lt "$all"
	fi
fi

done_testing
