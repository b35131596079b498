# The trace in a stream from a ktstr guest.
. "$(dirname "$0")/lib.sh"
need_command python3

# stream OUTPUT [TYPE=FILE|TYPE!FILE]...: packets; "!" is a damaged one.
stream() {
	python3 - "$@" <<-'END'
		import re, struct, sys, zlib
		with open(sys.argv[1], "wb") as out:
		    for packet in sys.argv[2:]:
		        kind, mark, name = re.match("(....)([=!])(.*)", packet).groups()
		        payload = open(name, "rb").read() if name else b""
		        check = zlib.crc32(payload) ^ (mark == "!")
		        out.write(struct.pack(">4s", kind.encode())[::-1] + struct.pack("<III", len(payload), check, 0) + payload)
	END
}

# A trace of one packet: a clock snapshot.
printf '\x0a\x10\x50\x01\x32\x0c\x0a\x04\x08\x06\x10\x64\x0a\x04\x08\x01\x10\x64' >trace
check "a small trace to begin with" "$TRACELET" check trace
head -c 5 trace >a
tail -c +6 trace | head -c 5 >b
tail -c +11 trace >c
echo hello >text

stream whole WPRF=trace
check_run "a trace in one packet" 0 "$TRACELET" guest import-ktstr whole -o out.pb
check "comes out as it was" cmp trace out.pb
stream parts SOUT=text WPRC=a SOUT!text WPRC=b WPRF=c WPRF=text
check_run "a trace in chunks, between packets of others" 0 "$TRACELET" guest import-ktstr parts -o out.pb
check "comes out as it was" cmp trace out.pb
stream other ABCD=a ABCD=b WPRF=c
check_run "chunks of a type that is named" 0 "$TRACELET" guest import-ktstr --chunk-type 0x41424344 other -o out.pb
check "come out as they were" cmp trace out.pb
run sh -c '"$TRACELET" guest import-ktstr - -o out.pb <whole'
check_equal "from standard input" 0 "$status"
rm out.pb

# refused WHAT REGEX FILE: one line, status 1, no file.
refused() {
	check_run "$1 is no trace" 1 "$TRACELET" guest import-ktstr "$3" -o out.pb
	check_lines "$1: one line" 1 "$stderr"
	check_match "$1: why" "$2" "$stderr"
	check_equal "$1: nothing is left" "" "$(ls out.pb* 2>/dev/null)"
}
stream bad WPRC!a WPRC=b WPRF=c
refused "a damaged chunk" damaged bad
stream bad WPRC=a WPRC=b
refused "a stream without a last packet" "no final trace packet" bad
stream bad WPRF=
refused "an empty trace" "is empty" bad
stream bad WPRC=a WPRF=c
refused "a trace with a hole" "contains a damaged trace" bad
head -c 20 whole >bad
refused "a stream that ends inside a packet" "ends inside a packet" bad
printf 'FRPW\xff\xff\xff\xff\0\0\0\0\0\0\0\0' >bad
refused "a length of four gigabytes" "the limit is 16 MiB" bad
refused "a file that is not there" "No such file" none
check_run "an output is needed" 2 "$TRACELET" guest import-ktstr whole

done_testing
