#!/bin/sh
# Heap profiles in Valgrind's own viewer: sets up what test_heap.mjs needs.
here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd)
VIEWER=$(ls /usr/libexec/valgrind/dh_view.html /usr/lib/*/valgrind/dh_view.html 2>/dev/null | head -n 1)
[ "$(uname -m)" = x86_64 ] || VIEWER=
[ -n "$VIEWER" ] || {
	echo "1..0 # SKIP no valgrind, or not x86-64"
	exit 0
}
modules=$("$here/setup") || {
	status=$?
	[ $status = 77 ] && echo "1..0 # SKIP no browser to test with"
	[ $status = 77 ] && exit 0
	exit $status
}
export VIEWER
PLAYWRIGHT=$modules/node_modules/playwright-core/index.mjs exec node "$here/test_heap.mjs"
