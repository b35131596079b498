#!/bin/sh
# Pages of reports in a browser: sets up what test_page.mjs needs.
here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd)
modules=$("$here/setup") || {
	status=$?
	[ $status = 77 ] && echo "1..0 # SKIP no browser to test with"
	[ $status = 77 ] && exit 0
	exit $status
}
PLAYWRIGHT=$modules/node_modules/playwright-core/index.mjs exec node "$here/test_page.mjs"
