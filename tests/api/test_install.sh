# libtracelet as other programs find it: installed, by pkg-config, in C and C++, shared and static.
. "$(dirname "$0")/../cli/lib.sh"
need_command gcc meson pkg-config nm
build=$(dirname "$TRACELET")

DESTDIR=$PWD/root meson install -C "$build" --no-rebuild --quiet --tags devel,runtime,man >log 2>&1
installed=$?
check_equal "it can be installed" 0 $installed
pc=$(find root -name tracelet.pc)
check "with a file for pkg-config" test -f "$pc"
if [ $installed != 0 ] || [ -z "$pc" ]; then
	note "$(cat log)"
	done_testing
fi
libdir=$(dirname "$(dirname "$pc")")
export PKG_CONFIG_ALLOW_SYSTEM_CFLAGS=1 PKG_CONFIG_ALLOW_SYSTEM_LIBS=1 # the prefix may be /usr
export PKG_CONFIG_SYSROOT_DIR=$PWD/root PKG_CONFIG_PATH=$PWD/$libdir/pkgconfig LD_LIBRARY_PATH=$PWD/$libdir
read -ra words < <(pkg-config --cflags --libs tracelet)
read -ra words_alone < <(pkg-config --static --cflags --libs tracelet)
printf '\n\002P\001' >small.pb # a packet with the id of its sequence

# ---- names ----

declared=$(grep -oE '^[a-z].*\btl_[a-z_]+\(' "$source/include/tracelet/tracelet.h" | grep -oE 'tl_[a-z_]+' | sort)
check_equal "the shared library exports what the header declares, and nothing else" "$declared" \
	"$(nm -D --defined-only "$libdir/libtracelet.so" | awk '$2 != "A" { print $3 }' | sed 's/@.*//' | sort)"
check_equal "so does the static one" "$declared" \
	"$(nm -g --defined-only "$libdir/libtracelet.a" | awk 'NF == 3 { print $3 }' | sort)"
check_equal "each name has a version" "" \
	"$(nm -D --defined-only "$libdir/libtracelet.so" | awk '$2 == "T" && $3 !~ /@@TRACELET_0\.[0-9]+$/')"
check_match "the library has a soname" 'Library soname: \[libtracelet\.so\.0\]' <(readelf -d "$libdir/libtracelet.so")
check_equal "and needs the C library only" "libc.so.6" \
	"$(readelf -d "$libdir/libtracelet.so" | sed -n 's/.*(NEEDED).*\[\(.*\)\]/\1/p' | grep -v ld-linux | sort | paste -sd ' ')"

export TRACELET="$source/tests/api/fake_tracelet"
names="$source/tests/api/names.c"
check "a program with such names links with the shared library" gcc -Wall -Werror "$names" "${words[@]}" -o names
check "and works" ./names small.pb
check "it links with the static one" gcc -Wall -Werror "$names" "${words[@]/#-ltracelet/-l:libtracelet.a}" -o names-static
check "and works" env -u LD_LIBRARY_PATH ./names-static small.pb
check "it links into a program without shared libraries" gcc -static "$names" "${words_alone[@]}" -o names-alone
check "and works" env -u LD_LIBRARY_PATH ./names-alone small.pb

# ---- pages ----

pages=$(find root -name man3)
if [ -n "$pages" ]; then
	marks=$(sed -n 's/^static inline void \(tl_[a-z_]*\)(.*/\1/p' "$source/include/tracelet/mark.h")
	for name in tracelet $declared $marks; do
		page=$pages/$name.3
		link=
		[ ! -f "$page" ] || link=$(sed -n 's,^\.so man3/,,p' "$page")
		check "the manual has a page for $name" grep -qE "^\.SH (NAME|SYNOPSIS)" "$pages/${link:-$name.3}"
		[ "$name" = tracelet ] ||
			check "which shows how it is called" grep -qE "\\b$name\(" "$pages/${link:-$name.3}"
	done
	# Not those of the layout of the memory shared with the tracer.
	constants=$(cat "$source/include/tracelet/tracelet.h" <(sed '/^\/\/ Up to "the client"/q' "$source/include/tracelet/mark.h") |
		grep -oE '\bTL_[A-Z_]+ = ' | cut -d ' ' -f 1)
	for name in TL_INIT TL_MARK_DISABLED $constants; do
		check "a page names $name" grep -rq "$name" "$pages"
	done
else
	skip "pages of the manual" "there is no scdoc here"
fi

# ---- languages ----

# try COMPILER STANDARD LANGUAGE
try() {
	if ! command -v "$1" >/dev/null; then
		skip "$1 -std=$2" "there is no $1 here"
		return
	fi
	rm -f example
	check "$1 -std=$2 takes the headers without a warning" "$1" "-std=$2" -Wall -Wextra -Wpedantic -Wshadow -Werror \
		-x "$3" "$source/examples/library.c" -x none "${words[@]}" -o example
	check_run "and the program works" 0 ./example small.pb
	check_match "as it should" '^small.pb: 0 events, 0 defects$' "$stdout"
}
for compiler in gcc clang; do
	for standard in c99 c11 c17 c2x; do
		try $compiler $standard c
	done
done
for compiler in g++ clang++; do
	for standard in c++11 c++14 c++17 c++20 c++2b; do
		try $compiler $standard c++
	done
done

# ---- and away ----

mkdir -p root/usr/share && touch root/usr/share/other
check "it can be removed" env DESTDIR="$PWD/root" "$source/tools/uninstall" "$build"
check_equal "and leaves what is not its own" "root/usr/share/other" "$(find root ! -type d)"
check_equal "no directory of its own" "" "$(find root -name tracelet)"
done_testing
