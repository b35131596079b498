#!/usr/bin/env bash
# Several ETL files of one recording, side by side or in an archive: all verbs read them as one.
. "$(dirname "$0")/lib.sh"
need_command python3 jq
make_etl=$(dirname "$TRACELET")/tests/etl/make_etl
for part in waits kernel clr wall; do
	"$make_etl" $part.etl $part
done

# without_headers FILE: the lines of dump --json, without those of sessions about themselves.
without_headers() {
	grep -v -e '"event":"EventTrace/Header"' -e '"event":"lost"' "$1"
}

# ---- files side by side ----

"$TRACELET" dump --json waits.etl | without_headers /dev/stdin >one.jsonl
for files in 'kernel.etl clr.etl' 'clr.etl kernel.etl' 'kernel.etl wall.etl' 'wall.etl kernel.etl'; do
	check_run "dump $files" 0 "$TRACELET" dump --json $files
	without_headers "$stdout" >two.jsonl
	check "the events of $files are those of one file with both" cmp one.jsonl two.jsonl
done
check_equal "clocks that differ are no cause for a warning" '' "$(cat "$stderr")"
check_equal "the stack at an event of one file has names from the other" 'app.exe!?;Hand.Made.Run' \
	"$("$TRACELET" fold --event-filter GC/AllocationTick kernel.etl clr.etl 2>/dev/null | sed 's/ [0-9]*$//; s/^[^;]*;//')"
"$TRACELET" why --json waits.etl | sed 's/7 events were lost/14 events were lost/' >one.json
check_run "why with two files" 0 "$TRACELET" why --json kernel.etl clr.etl
check "answers as with one" cmp one.json "$stdout"
"$TRACELET" table --csv waits.etl generic-events >one.csv
check_run "table with two files" 0 "$TRACELET" table --csv kernel.etl clr.etl generic-events
check_equal "has the rows of one, and the header of the second session" "$(wc -l <one.csv)" "$(wc -l <"$stdout")"
check_run "flame with two files" 0 "$TRACELET" flame --event-filter GC/AllocationTick kernel.etl clr.etl -o two.svg
check_match "draws names of both" 'Hand.Made.Run' two.svg
check_run "top with two files" 0 "$TRACELET" top --event-filter GC/AllocationTick kernel.etl clr.etl
check_run "convert with two files" 0 "$TRACELET" convert kernel.etl wall.etl two.pb
check_run "what came out is sound" 0 "$TRACELET" check two.pb
check_run "convert with -o" 0 "$TRACELET" convert kernel.etl clr.etl -o other.pb
check_run "info with two files" 0 "$TRACELET" info --json kernel.etl wall.etl
check_equal "counts all records, and says what the other file is" \
	"$(($("$TRACELET" info --json kernel.etl | jq .records.total) + $("$TRACELET" info --json wall.etl | jq .records.total))) wall.etl true 14" \
	"$(jq -r '"\(.records.total) \(.more_files[0].file) \(.more_files[0].placed_by_wall_clock)"' "$stdout") $("$TRACELET" info kernel.etl wall.etl | sed -n 's/^lost *\([0-9]*\) .*/\1/p')"

# A file of another boot: the performance counter began elsewhere.
python3 - <<-'END'
	import struct
	data = bytearray(open("clr.etl", "rb").read())
	at = data.index(struct.pack("<Q", 132500000000000000))
	struct.pack_into("<Q", data, at, 132500000000000000 + 3600 * 10000000)
	open("boot.etl", "wb").write(data)
END
check_run "a file of another boot is read, too" 0 "$TRACELET" info kernel.etl boot.etl
check_match "with a warning" 'boot.etl: not from the same boot of Windows as kernel.etl; placed by the wall clock' "$stderr"
check_match "an hour later" ', 3600\.[0-9]* s' "$stdout"

printf 'a;b 1\n' >samples.folded
check_run "other formats are not read together" 2 "$TRACELET" dump samples.folded kernel.etl
check_match "the first file decides" 'samples.folded: only ETL files can be read together' "$stderr"
check_run "nor with ETL files" 2 "$TRACELET" info kernel.etl samples.folded
check_match "which is said" 'samples.folded: only ETL files can be read together; this is not one' "$stderr"
check_lines "in one line" 1 "$stderr"
check_run "a second file that does not exist" 2 "$TRACELET" info kernel.etl none.etl
check_run "flame still takes one file of others" 2 "$TRACELET" flame samples.folded samples.folded -o x.svg
check_run "fold adds up files of any format" 0 "$TRACELET" fold samples.folded samples.folded
check_equal "as before" 'a;b 2' "$(cat "$stdout")"

# ---- archives ----

python3 - <<-'END'
	import struct, zipfile, zlib
	kernel, clr = open("kernel.etl", "rb").read(), open("clr.etl", "rb").read()
	def pack(name, members, method=zipfile.ZIP_DEFLATED):
	    with zipfile.ZipFile(name, "w", method) as out:
	        for path, data in members:
	            out.writestr(path, data)
	folder = "0b1f2c3d-0000-4444-8888-aaaaaaaaaaaa/"
	pack("studio.diagsession", [("[Content_Types].xml", "<Types/>"), ("metadata.xml", "<Package/>"),
	    (folder + "sc.user_aux.etl", clr), (folder + "app.etl", kernel)])
	pack("hostile.zip", [("../../etc/outside.etl", clr), ("/tmp/absolute.etl", kernel), ("\x1b[31mred.etl", b"")])
	pack("not.zip", [("a.etl", b"nothing"), ("b.etl", b"")])
	pack("many.zip", [(f"{i}.etl", b"") for i in range(65)])
	pack("bomb.zip", [("a.etl", kernel), ("b.etl", bytes(20 << 20)), ("c.etl", bytes(20 << 20))])
	# Members that share their data: a thousandth of the size they unpack to.
	big = bytes(8 << 20)
	pack("shared.zip", [("a.etl", big)])
	whole = open("shared.zip", "rb").read()
	end = whole.rindex(b"PK\5\6")
	at = struct.unpack_from("<I", whole, end + 16)[0]
	entry = whole[at:end]
	last = struct.pack("<IHHHHIIH", 0x06054B50, 0, 0, 60, 60, len(entry) * 60, at, 0)
	open("shared.zip", "wb").write(whole[:at] + entry * 60 + last)
	# One damaged member of two.
	pack("half.zip", [("kernel.etl", kernel), ("clr.etl", clr)], zipfile.ZIP_STORED)
	data = bytearray(open("half.zip", "rb").read())
	data[data.index(clr[4096:4200]) + 50] ^= 1
	open("half.zip", "wb").write(data)
END
check_run "a .diagsession of Visual Studio" 0 "$TRACELET" dump --json studio.diagsession
without_headers "$stdout" >two.jsonl
check "is read with all its ETL files" cmp one.jsonl two.jsonl
check_run "why from it" 0 "$TRACELET" why --json studio.diagsession
check "answers as from one file" cmp one.json "$stdout"
check_equal "info names what is in it" 'studio.diagsession: 0b1f2c3d-0000-4444-8888-aaaaaaaaaaaa/app.etl' \
	"$("$TRACELET" info --json studio.diagsession | jq -r '.more_files[0].file')"
gzip -c clr.etl >clr.etl.gz
check_run "an archive and a file together" 0 "$TRACELET" dump --json kernel.etl clr.etl.gz
without_headers "$stdout" >two.jsonl
check "are one recording" cmp one.jsonl two.jsonl
mkdir -p below/deeper && cp hostile.zip below/deeper
check_run "names that lead elsewhere" 0 env -C below/deeper "$TRACELET" info hostile.zip
check_equal "make no file" 'hostile.zip' "$(ls below/deeper)$(ls below | grep -v deeper)"
check_equal "and are not sent to the terminal as they are" 0 "$(cat "$stdout" "$stderr" | grep -c $'\x1b' || true)"
check_match "one without content is left out" 'left out, as it is not an ETL file' "$stderr"
check_run "an archive whose .etl members are none" 2 "$TRACELET" info not.zip
check_match "is refused" 'not.zip: none of the ETL files in it can be read' "$stderr"
check_run "more members than a recording has" 2 "$TRACELET" info many.zip
check_match "are refused" 'many.zip: a zip file with more than 64 ETL files' "$stderr"
check_run "--max-unpacked counts all members" 2 "$TRACELET" info --max-unpacked 30MB bomb.zip
check_lines "in one line" 1 "$stderr"
check_run "members that share their data are counted, too" 2 timeout 20 "$TRACELET" info --max-unpacked 100MB shared.zip
check_run "a damaged member costs itself" 0 "$TRACELET" info --json half.zip
check_match "with a warning" 'half.zip: clr.etl: left out, as it cannot be unpacked' "$stderr"
done_testing
