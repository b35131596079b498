// node bench/page.mjs PAGE.html ROUNDS [run]: opens a page in Chromium and prints medians: usable ms, MB of its process and MB mapped, and for
// a test ms of the first selection, ms until all is unpacked, ms of a frame while zooming and of a selection then; for a run ms
// of sorting.
import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { pathToFileURL } from "node:url";

const { chromium } = await import(process.env.PLAYWRIGHT);
const [, , file, rounds, what] = process.argv;
const median = list => list.sort((a, b) => a - b)[Math.floor(list.length / 2)];
const all = { usable: [], first: [], whole: [], memory: [], own: [], frame: [], select: [], sort: [] };

// In the page: selects a range, and returns how long that took.
function select() {
	const { timeline } = [...tracelet.tests.values()][0].test, begun = performance.now();
	timeline.select(timeline.trace.last * 0.2, timeline.trace.last * 0.4);
	return performance.now() - begun;
}

// The resident MB of the largest renderer below this browser, and those of them that it has for itself: the rest is the
// browser's own code, which all of its processes share.
function renderer(pid) {
	const rows = execFileSync("ps", ["-eo", "pid,ppid,rss,args"], { encoding: "utf8", maxBuffer: 1 << 26 }).split("\n").map(line => line.trim().split(/\s+/));
	const below = new Set([String(pid)]);
	for (let more = true; more;) {
		more = false;
		for (const [own, parent] of rows)
			if (below.has(parent) && !below.has(own))
				more = below.add(own);
	}
	const [largest] = rows.filter(row => below.has(row[0]) && row.includes("--type=renderer")).sort((a, b) => b[2] - a[2]);
	const status = readFileSync(`/proc/${largest[0]}/status`, "utf8"), megabytes = name => +new RegExp(`^${name}:\\s+(\\d+)`, "m").exec(status)[1] / 1000;
	return { all: megabytes("VmRSS"), own: megabytes("RssAnon") + megabytes("RssShmem") };
}

for (let i = 0; i < rounds; i++) {
	const server = await chromium.launchServer({ executablePath: "/usr/bin/chromium", args: ["--no-sandbox", "--disable-gpu"] });
	const browser = await chromium.connect(server.wsEndpoint()), page = await browser.newPage({ viewport: { width: 1280, height: 900 } });
	await page.goto(pathToFileURL(file).href);
	await page.waitForSelector("html[data-ready]", { timeout: 120000 });
	if (what === "run") {
		all.usable.push(await page.evaluate(() => performance.now()));
		all.sort.push(await page.evaluate(() => {
			const { grid } = tracelet.run(), times = [];
			for (const column of [1, 2, 3, 2]) {
				const begun = performance.now();
				grid.sortBy(column);
				times.push(performance.now() - begun);
			}
			return Math.max(...times);
		}));
	} else {
		all.usable.push(await page.evaluate(() => performance.getEntriesByName("tracelet-usable")[0].startTime));
		all.first.push(await page.evaluate(select)); // in an overview, if there is one
		await page.waitForSelector("html[data-whole]", { timeout: 120000 });
		all.whole.push(await page.evaluate(() => performance.now()));
		all.frame.push(await page.evaluate(() => {
			const { timeline } = [...tracelet.tests.values()][0].test, times = [];
			timeline.draw();
			for (let step = 0; step < 60; step++) {
				const span = timeline.trace.last * 0.9 ** step, at = timeline.trace.last * 0.37;
				timeline.view = { from: at - span * 0.37, to: at + span * 0.63 };
				timeline.draw();
				times.push(timeline.frame);
			}
			return times.sort((a, b) => a - b)[30];
		}));
		all.select.push(await page.evaluate(select));
	}
	const memory = renderer(server.process().pid);
	all.memory.push(memory.all);
	all.own.push(memory.own);
	await browser.close();
	await server.close();
}
console.log(Object.entries(all).filter(([, list]) => list.length).map(([name, list]) => `${name} ${median(list).toFixed(1)}`).join("\n"));
