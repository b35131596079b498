// node states.mjs PAGE.html: the states of all threads in a page, as Perfetto's table has them, one line each:
// time since the first, duration (-1: open), tid, state, CPU, tid of the waker. Read by the page's own modules.
import { readFileSync } from "node:fs";
import { inflateRawSync } from "node:zlib";

import { KIND, LOST, READY, RUNS, STATES, Trace } from "../../src/write/page/trace.mjs";

const html = readFileSync(process.argv[2], "utf8");
const text = html.match(/<template class="columns">([^<]*)</)[1];
const trace = new Trace(new Uint8Array(inflateRawSync(Buffer.from(text, "base64")))), lines = [];
for (const thread of trace.threads)
	for (let i = thread.low; i < thread.high; i++) {
		const kind = trace.kind[i] & KIND, open = i + 1 === thread.high || trace.kind[i] & LOST;
		lines.push([trace.startOf(i), open ? -1 : trace.endOf(thread, i) - trace.startOf(i), thread.tid, STATES[kind], kind === RUNS ? trace.what[i] : "",
			kind === READY && trace.what[i] ? trace.threads[trace.what[i] - 1].tid : ""]);
	}
const first = Math.min(...lines.map(line => line[0]));
for (const line of lines)
	line[0] -= first;
lines.sort((a, b) => a[0] - b[0] || a[2] - b[2]);
process.stdout.write(lines.map(line => line.join("|") + "\n").join(""));
