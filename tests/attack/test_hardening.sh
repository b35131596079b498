# The built files are hardened: position independent, read-only relocations bound at start, no executable stack,
# stack protector, FORTIFY.
. "$(dirname "$0")/lib.sh"
need_command readelf nm
is_sanitized && skip_all "a sanitizer's build has checks of its own"
built=$(dirname "$TRACELET")

symbols() { nm --dynamic --undefined-only "$1" 2>/dev/null; }
for file in tracelet tracelet-agent tracelet-stacks libtracelet-heap.so libtracelet-cmocka.so src/api/libtracelet.so; do
	path=$built/$file
	[ -e "$path" ] || { skip "$file" "it was not built" && continue; }
	check_equal "$file is position independent" DYN "$(readelf -hW "$path" | sed -n 's/^  Type: *\([A-Z]*\).*/\1/p')"
	check_equal "its relocations are read-only" 1 "$(readelf -lW "$path" | grep -c GNU_RELRO)"
	check_equal "its stack is not executable" RW "$(readelf -lW "$path" | awk '$1 == "GNU_STACK" { print $7 }')"
	[ "$file" = tracelet-agent ] || # everything is bound when it is linked
		check_equal "all is bound at its start" 1 "$(readelf -dW "$path" | grep -c 'FLAGS.*NOW' | sed 's/[1-9]/1/')"
done
for file in tracelet tracelet-stacks src/api/libtracelet.so; do
	[ -e "$built/$file" ] || { skip "$file" "it was not built" && continue; }
	check "$file has the stack protector" grep -q __stack_chk_fail <(symbols "$built/$file")
	check "and checked functions of the C library" grep -q '_chk@' <(symbols "$built/$file")
done
[ ! -e "$built/libtracelet-heap.so" ] ||
	check "what is loaded into tests has the stack protector" grep -q __stack_chk_fail <(symbols "$built/libtracelet-heap.so")
# Whether the processor checks it depends on the C library, too.
if [ "$(uname -m)" = x86_64 ] && command -v objdump >/dev/null; then
	marks=$(objdump -d --no-show-raw-insn "$built/src/api/libtracelet.so" | grep -c endbr64)
	check "places where calls may arrive are marked" test "$marks" -gt 10
fi
done_testing
