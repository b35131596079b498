// Opens a heap profile in valgrind's dh_view.html, in Chromium, and reads what it shows.
// TAP on stdout. TRACELET is the program, HELPER one that allocates, VIEWER the page.
import { execFileSync } from "node:child_process";
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

const { chromium } = await import(process.env.PLAYWRIGHT);
const work = mkdtempSync(join(tmpdir(), "tracelet-browser."));
let done = 0, failed = 0;

function shows(text, pattern, description) {
	const good = pattern.test(text);
	done++;
	failed += !good;
	console.log(`${good ? "ok" : "not ok"} ${done} - ${description}`);
	if (!good)
		console.log(`# got: ${JSON.stringify(text.slice(0, 2000))}`);
}

execFileSync(process.env.TRACELET, ["run", "--heap", "--quiet", "--keep", "always", "--output-dir", work, "--",
	process.env.HELPER, "plain", "resized"], { stdio: ["ignore", "inherit", "ignore"] });
const profile = readdirSync(work).find((name) => name.endsWith(".dhat.json"));

const browser = await chromium.launch({ executablePath: "/usr/bin/chromium", args: ["--no-sandbox", "--disable-gpu"] });
const page = await browser.newPage();
await page.goto(`file://${process.env.VIEWER}`);
await page.setInputFiles("input[type=file]", join(work, profile));
await page.waitForFunction(() => /PP|rror/.test(document.body.innerText) && !/Loading/.test(document.body.innerText));
const text = await page.evaluate(() => document.body.innerText);

shows(text, /Command: .*heap plain resized/, "the command");
shows(text, /PP 1\/\d/, "the tree of points");
shows(text, /Total: +34,076 bytes .* in 1,004 blocks/, "totals");
shows(text, /At t-gmax: +24,040 bytes/, "what there was at the peak");
shows(text, /At t-end: +12 bytes .* in 1 blocks/, "and at the end");
shows(text, /avg lifetime [\d.,]+ µs/, "how long blocks live");
shows(text, /0x[0-9A-F]+: plain \(heap_ways\.h:\d+\)/, "functions and lines");

await browser.close();
rmSync(work, { recursive: true });
console.log(`1..${done}`);
process.exit(failed ? 1 : 0);
