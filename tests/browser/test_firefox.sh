#!/bin/sh
# Pages in Firefox: makes a view and the page of a run, and lets firefox.mjs open them.
here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd)
command -v firefox-esr >/dev/null || {
	echo "1..0 # SKIP no firefox-esr"
	exit 0
}
modules=$("$here/setup") || {
	status=$?
	[ $status = 77 ] && echo "1..0 # SKIP nothing to drive a browser with"
	[ $status = 77 ] && exit 0
	exit $status
}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cat >"$work/make.mjs" <<END
import { writeFileSync } from "node:fs";
import { simple } from "$here/make_trace.mjs";
writeFileSync("$work/slow_1.pb", simple());
END
node "$work/make.mjs" || exit 1
echo '{"version":2,"session":"a","test":"slow","status":"failed","result":"failed: exit status 1","wall_seconds":1,"artifacts":[{"kind":"perfetto","path":"slow_1.pb","size":1}]}' >"$work/manifest.jsonl"
"$TRACELET" view "$work/slow_1.pb" -o "$work/view.html" >/dev/null || exit 1
"$TRACELET" report "$work" -o "$work/run.html" >/dev/null || exit 1
PLAYWRIGHT=$modules/node_modules/playwright-core/index.mjs node "$here/firefox.mjs" "$work/view.html" "$work/run.html"
