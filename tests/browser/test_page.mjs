// Opens pages of tests and runs in Chromium and uses them as people do. TAP on stdout. TRACELET is the program;
// SCREENSHOTS=FOLDER saves a picture of each step there.
import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { pathToFileURL } from "node:url";
import { makeTrace, ms, simple } from "./make_trace.mjs";

const { chromium } = await import(process.env.PLAYWRIGHT);
const tracelet = process.env.TRACELET;
const work = mkdtempSync(join(tmpdir(), "tracelet-browser."));
let done = 0, failed = 0;

function check(description, good, more) {
	done++;
	failed += !good;
	console.log(`${good ? "ok" : "not ok"} ${done} - ${description}`);
	if (!good && more !== undefined)
		console.log(`# got: ${JSON.stringify(more)}`);
}

const equal = (description, expected, got) => check(description, JSON.stringify(expected) === JSON.stringify(got), got);

function report(...words) {
	execFileSync(tracelet, ["report", ...words], { stdio: ["ignore", "ignore", "inherit"] });
}

// ---- what to look at ----

const folder = join(work, "run");
mkdirSync(folder);
writeFileSync(join(folder, "slow_1.pb"), simple("main", "worker"));
const lines = [];
for (let i = 0; i < 300; i++)
	lines.push({ version: 2, session: `s${i}`, test: `passes_${i}`, status: "passed", result: "passed", started: "2026-01-01T00:00:00.000Z", wall_seconds: i / 1000, artifacts: [] });
lines.push({ version: 2, session: "f", test: "slow", name: "slow", status: "failed", result: "failed: exit status 1", started: "2026-01-01T00:00:01.000Z", wall_seconds: 0.05,
	explanation: "For 30 ms it waited.", artifacts: [{ kind: "perfetto", path: "x/slow_1.pb", size: 1 }] });
lines.push({ ...lines[0], session: "again", status: "failed", result: "failed: exit status 2", started: "2026-01-01T00:00:02.000Z" });
writeFileSync(join(folder, "manifest.jsonl"), lines.map(line => JSON.stringify(line) + "\n").join(""));
const test = join(work, "test.html"), run = join(work, "run.html");
report(join(folder, "slow_1.pb"), "-o", test);
report(folder, "-o", run);

// ---- the browser ----

const browser = await chromium.launch({ executablePath: "/usr/bin/chromium", args: ["--no-sandbox", "--disable-gpu"] });
const errors = [];

async function open(file, { hash = "", ...options } = {}) {
	const page = await browser.newPage({ viewport: { width: 1200, height: 800 }, colorScheme: "light", ...options });
	page.on("pageerror", error => errors.push(error.message));
	page.on("request", request => request.resourceType() === "document" && request.url().startsWith("file:") || request.url().startsWith("blob:") || errors.push(request.url()));
	if (options.javaScriptEnabled !== false)
		await page.addInitScript(() => document.addEventListener("securitypolicyviolation", event => console.error("policy: " + event.violatedDirective)));
	page.on("console", message => message.type() === "error" && errors.push(message.text()));
	await page.goto(pathToFileURL(file).href + hash);
	if (options.javaScriptEnabled !== false)
		await page.waitForSelector("html[data-ready]");
	return page;
}

async function shot(page, name) {
	if (process.env.SCREENSHOTS)
		await page.screenshot({ path: join(process.env.SCREENSHOTS, `${name}.png`), fullPage: true });
}

// The cells of the table in sight.
const cells = page => page.locator("[role=tabpanel] tbody tr").evaluateAll(rows => rows.map(row => [...row.cells].map(cell => cell.textContent)));

// ---- one test ----

let page = await open(test);
await shot(page, "test");
equal("the title names the test and its end", "slow: failed: exit status 1", await page.title());
check("the verdict is there", (await page.locator(".verdict").textContent()).includes("exit status 1"));
equal("the picture became a time line", [0, 1], [await page.locator("figure.picture").count(), await page.locator(".timeline canvas").count()]);

const box = await page.locator(".timeline canvas").boundingBox();
const gutter = 190, x = time => box.x + gutter + time / (50 * ms) * (box.width - gutter);
const tops = await page.evaluate(() => [...tracelet.tests.values()][0].test.timeline.rows.map(row => row.top)), y = row => box.y + 24 + tops[row] + 11;
await page.getByRole("tab", { name: "Threads" }).click();
let table = await cells(page);
equal("how long each thread ran", [["worker", "30.0 ms"], ["main", "20.0 ms"]], table.map(row => [row[0], row[3]]));

// Rows: path, group, worker, main (the path is the worker's).
await page.mouse.move(x(20 * ms), y(3));
await page.waitForSelector("#tip:not([hidden])");
check("the pointer names thread, state and waker", /main \(10\).*waits.*25.0 ms.*woken by worker/s.test(await page.locator("#tip").innerText()), await page.locator("#tip").innerText());

await page.mouse.move(x(10 * ms), y(3));
await page.mouse.down();
await page.mouse.move(x(20 * ms), y(3), { steps: 3 });
await page.mouse.up();
table = await cells(page);
const selected = Number.parseFloat(table[0][3]);
check("a range that is dragged is what the table is about", Math.abs(selected - 10) < 0.3 && table[0][0] === "worker" && table.find(row => row[0] === "main")[3] === "0 ns", table);
check("it says so", /Selected: (9|10)\./.test(await page.locator(".timeline .about").textContent()), await page.locator(".timeline .about").textContent());

await page.mouse.click(x(30 * ms), y(3));
check("a click on a wait shows the chain", /Why until here/.test(await page.locator(".details").innerText()) && /worker/.test(await page.locator(".chain").innerText()), await page.locator(".details").innerText());
await page.waitForTimeout(300);
const link = await page.evaluate(() => location.hash);
check("the address has what is seen", /test=slow&t=0-50000000&sel=\d+-\d+&state=\d+-1/.test(link), link);
await page.keyboard.press("w");
await page.keyboard.press("d");
await page.waitForTimeout(300);
const zoomed = /t=(\d+)-(\d+)/.exec(await page.evaluate(() => location.hash));
check("W and D zoom and move", zoomed && zoomed[2] - zoomed[1] < 40 * ms && +zoomed[1] > 7 * ms, zoomed);
await page.keyboard.press("Escape");
await page.keyboard.press("0");
check("Escape ends the selection", (await page.locator(".timeline .about").textContent()).startsWith("All of the recording"));
await page.keyboard.press("ArrowDown");
check("rows are announced", (await page.locator("#said").textContent()).length > 3);
await page.locator("#theme").click();
await shot(page, "test-dark");
equal("a button makes it dark", "dark", await page.evaluate(() => document.documentElement.dataset.theme));
await page.close();

page = await open(test, { hash: link });
check("a link restores the selection and the state", (await page.locator(".timeline .about").textContent()).startsWith("Selected")
	&& /Why until here/.test(await page.locator(".details").innerText()));
// Every control has a name.
const nameless = await page.locator("button, input, select, canvas, [role=region]").evaluateAll(all => all.filter(one =>
	!(one.getAttribute("aria-label") || one.textContent.trim() || one.labels?.[0]?.textContent.trim())).map(one => one.outerHTML.slice(0, 80)));
equal("every control has a name", [], nameless);
await page.close();

// ---- contrast ----

for (const colorScheme of ["light", "dark"]) {
	page = await open(test, { colorScheme });
	const low = await page.evaluate(() => {
		const style = getComputedStyle(document.documentElement), rgb = name => {
			const hex = style.getPropertyValue("--" + name).trim().slice(1);
			return [0, 2, 4].map(at => parseInt(hex.slice(at, at + 2), 16) / 255).map(c => c <= 0.03928 ? c / 12.92 : ((c + 0.055) / 1.055) ** 2.4);
		};
		const light = name => rgb(name).reduce((sum, c, i) => sum + c * [0.2126, 0.7152, 0.0722][i], 0);
		const ratio = (a, b) => (Math.max(light(a), light(b)) + 0.05) / (Math.min(light(a), light(b)) + 0.05);
		return [["ink", "paper"], ["ink", "panel"], ["soft", "paper"], ["soft", "panel"], ["good", "panel"], ["bad", "panel"], ["focus", "panel"],
			["dark", "runs"], ["dark", "ready"], ["dark", "lock"], ["dark", "disk"]].filter(([a, b]) => ratio(a, b) < 4.5);
	});
	equal(`text has contrast, ${colorScheme}`, [], low);
	await page.close();
}

// ---- without JavaScript ----

page = await open(test, { javaScriptEnabled: false });
await shot(page, "test-plain");
check("without JavaScript there is a picture", await page.locator("figure.picture svg rect").count() > 5);
check("... and where the time went", /worker/.test(await page.locator("section.plain table").innerText()));
await page.close();
page = await open(run, { javaScriptEnabled: false });
check("a run lists what failed", /slow/.test(await page.locator("#run-table table").first().innerText()));
await page.close();

// ---- a run ----

page = await open(run);
await shot(page, "run");
const names = async () => page.locator(".grid tbody tr:not([aria-hidden]) td:nth-child(2)").allTextContents();
equal("failed tests come first", ["slow", "passes_0"].sort(), (await names()).slice(0, 2).sort());
equal("301 tests, one of them twice", "301 rows", await page.locator(".grid .soft").textContent());
await page.locator("input.wide").fill("s:failed");
equal("s:failed", 2, (await names()).length);
await page.locator("input.wide").fill("flaky:");
equal("flaky:", ["passes_0"], await names());
await page.locator("input.wide").fill("slow:");
equal("slow: are the ten slowest", 10, (await names()).length);
await page.locator("input.wide").fill("_299");
equal("words of a name", ["passes_299"], await names());
await page.locator("input.wide").fill("");
await page.getByRole("button", { name: "time", exact: true }).click();
equal("sorted by time", "passes_299", (await names())[0]);
await page.getByRole("link", { name: "slow" }).first().click({ timeout: 5000 }).catch(async () => {
	await page.locator("input.wide").fill("s:failed");
	await page.getByRole("link", { name: "slow" }).click();
});
await page.waitForSelector("article:not([hidden]) .timeline canvas");
check("a failed test opens inside the page", await page.locator("#run").isHidden());
await page.getByRole("link", { name: "All tests" }).click();
check("and the way back", await page.locator("#run").isVisible());
await page.close();

// ---- a view ----

execFileSync(tracelet, ["view", join(folder, "slow_1.pb"), "-o", join(work, "view.html")], { stdio: ["ignore", "ignore", "inherit"] });
page = await open(join(work, "view.html"));
await shot(page, "view");
const grid = page.locator(".view .grid tbody tr:not([aria-hidden])"), rowsOf = () => grid.evaluateAll(all => all.map(row => [...row.cells].map(cell => cell.textContent.trim())));
await page.getByLabel("Table", { exact: true }).selectOption({ index: await page.evaluate(() => [...tracelet.tests.values()][0].view.tables.findIndex(table => table.name === "context-switches")) });
const chip = name => page.locator(".view .chip", { hasText: new RegExp(`^${name}$`) });
const printed = execFileSync(tracelet, ["table", join(folder, "slow_1.pb"), "context-switches", "--group-by", "none", "--csv"], { encoding: "utf8" }).trim().split("\n");
equal("a table begins with its rows", printed.length - 1, (await rowsOf()).length);
const first = await page.evaluate(() => { const { view } = [...tracelet.tests.values()][0]; return { keys: view.keys.map(key => key.name), columns: view.table.columns.map(column => column.name) }; });
for (const key of first.keys)
	await page.evaluate(name => [...tracelet.tests.values()][0].view.move(name, "other"), key);
await chip("cpu").first().click();
equal("a click makes a column a key", "cpu", (await page.locator(".places .place").first().innerText()).trim());
await page.evaluate(() => [...tracelet.tests.values()][0].view.move("time", "values"));
const whole = await rowsOf();
check("groups have counts and sums", whole.length === 1 && Number(whole[0][1]) === printed.length - 1, whole);
const switches = Number(whole[0][1]);
await page.evaluate(() => [...tracelet.tests.values()][0].test.timeline.select(0, 20e6));
const part = await rowsOf();
check("a selection in the time line is what the table shows", part.length === 1 && Number(part[0][1]) < switches, part);
check("the command prints the same", /^tracelet table .*slow_1\.pb context-switches --group-by cpu --sum time --sort time$/.test(await page.evaluate(() => [...tracelet.tests.values()][0].view.command())),
	await page.evaluate(() => [...tracelet.tests.values()][0].view.command()));
await page.locator(".view .place").nth(1).locator(".chip").dragTo(page.locator(".view .place").nth(2));
equal("a column can be dragged", "", (await page.locator(".places .place").nth(1).innerText()).trim());
const chart = () => page.locator(".view canvas.chart");
const drawn = () => chart().evaluate(canvas => { const { data } = canvas.getContext("2d").getImageData(0, 0, canvas.width, canvas.height), seen = new Set(); for (let i = 0; i < data.length; i += 4) if (data[i + 3] === 255) seen.add(data[i] << 16 | data[i + 1] << 8 | data[i + 2]); return seen.size; });
await page.evaluate(() => [...tracelet.tests.values()][0].test.timeline.select(null));
for (const kind of ["lines", "Gantt", "flame", "stacked"]) {
	await page.getByLabel("Graph", { exact: true }).selectOption(kind);
	check(`a graph: ${kind}`, await drawn() > 1, await drawn());
}
const chartBox = await chart().boundingBox(), lineBox = await page.locator(".timeline canvas").boundingBox();
equal("a graph is below the time line", [lineBox.x, lineBox.width], [chartBox.x, chartBox.width]);
await page.evaluate(() => { const { timeline } = [...tracelet.tests.values()][0].test; timeline.show(10e6, 30e6); });
await page.waitForTimeout(100);
equal("and has its zoom", [10e6, 30e6], await page.evaluate(() => { const { view, test } = [...tracelet.tests.values()][0]; return [view.chart.from, view.chart.to].map(time => time + test.trace.start); }));
await page.close();

// ---- the legend ----

page = await open(join(work, "view.html"));
const threads = () => page.evaluate(() => [...tracelet.tests.values()][0].test.timeline.rows.filter(row => row.type === "thread").map(row => row.thread.name).sort());
const painted = (locator, name) => locator.evaluate((canvas, variable) => {
	const hex = getComputedStyle(document.documentElement).getPropertyValue(variable).trim(), wanted = parseInt(hex.slice(1), 16);
	const { data } = canvas.getContext("2d").getImageData(200, 0, canvas.width - 200, canvas.height);
	let count = 0;
	for (let i = 0; i < data.length; i += 4)
		count += (data[i] << 16 | data[i + 1] << 8 | data[i + 2]) === wanted;
	return count;
}, "--" + name);
const line = page.locator(".timeline canvas"), series = name => page.locator(".series", { hasText: new RegExp(`^${name}$`) });
await page.waitForTimeout(50);
const ran = await painted(line, "runs");
await series("running").focus();
await page.keyboard.press("Enter");
await page.waitForTimeout(50);
equal("the legend switches a state off", [true, 0, "false"], [ran > 1000, await painted(line, "runs"), await series("running").getAttribute("aria-pressed")]);
equal("... and the focus stays", "running", await page.evaluate(() => document.activeElement.textContent));
await series("running").click();
await page.waitForTimeout(50);
equal("... and on", ran, await painted(line, "runs"));
await page.evaluate(() => { const { view } = [...tracelet.tests.values()][0]; view.choose(view.tables.findIndex(table => table.name === "context-switches")); view.keys = view.table.named("thread"); view.regroup(); });
const groups = () => page.evaluate(() => { const { chart } = [...tracelet.tests.values()][0].view; return chart.top.map(node => chart.name(node)).sort(); });
equal("a graph and the time line have the same threads", [true, ["main", "worker"]], [(await groups()).includes("worker"), await threads()]);
await page.locator(".view .series", { hasText: /^worker$/ }).click();
equal("one legend is for all graphs", [false, ["main"]], [(await groups()).includes("worker"), await threads()]);
await page.waitForTimeout(300);
const without = await page.evaluate(() => location.hash);
check("the address has what is off", /&off=worker$/.test(without), without);
await page.close();
page = await open(join(work, "view.html"), { hash: without });
equal("a link restores it", ["main"], await threads());
await page.getByRole("button", { name: "Show all (1 off)" }).first().click();
equal("all can be shown again", ["main", "worker"], await threads());
await page.close();

// ---- a recording of events only ----

execFileSync(join(dirname(tracelet), "tests/etl/make_etl"), [join(work, "counters.etl"), "plain"]);
execFileSync(tracelet, ["view", join(work, "counters.etl"), "-o", join(work, "events.html")], { stdio: ["ignore", "ignore", "inherit"] });
page = await open(join(work, "events.html"));
await shot(page, "events");
await page.getByRole("tab", { name: "Events" }).click();
await page.waitForSelector("[role=tabpanel] tbody tr");
const events = await page.evaluate(() => { const { tables } = [...tracelet.tests.values()][0].test, { grid } = tables.find(one => one.name === "Events"); return grid.shown.map(row => row[2][0]); });
check("events are in their order", events.length > 1 && events.every((time, i) => !i || time >= events[i - 1]), events.slice(0, 5));
equal("what they do not have is not there", [], (await cells(page)).flatMap(row => [row[1], row[3]]).filter(text => text === "?" || text === "0 ns"));
equal("no legend, no gap", await page.locator(".timeline .series").count() > 0, await page.locator(".timeline .bar").first().isVisible());
await page.close();

// ---- several files ----

writeFileSync(join(folder, "other.pb"), simple("main", "other"));
execFileSync(tracelet, ["view", join(folder, "slow_1.pb"), join(folder, "other.pb"), "-o", join(work, "two.html")], { stdio: ["ignore", "ignore", "inherit"] });
page = await open(join(work, "two.html"));
equal("two files have two time lines", 2, await page.locator(".timeline canvas").count());
await page.evaluate(() => { const [one] = tracelet.tests.values(); one.test.timeline.show(10e6, 20e6); one.test.timeline.select(12e6, 15e6); });
equal("with one zoom and one selection", [{ from: 10e6, to: 20e6 }, { from: 12e6, to: 15e6 }], await page.evaluate(() => { const [, { test: { timeline } }] = tracelet.tests.values(); return [timeline.view, timeline.range]; }));
await page.close();

// ---- a large one ----

// Two threads take turns, every 10 µs for a second; one of them runs alone in the last tenth.
const turns = Array.from({ length: 101000 }, (_, i) => [5e9 + i * 10000, "switch", i % 2 ? "ping" : "pong", 10 + i % 2, "S", i % 2 ? "pong" : "ping", 11 - i % 2]);
writeFileSync(join(folder, "large.pb"), makeTrace([...turns, [7e9, "switch", "pong", 10, "S", "swapper/0", 0]]));
execFileSync(tracelet, ["view", join(folder, "large.pb"), "-o", join(work, "large.html")], { stdio: ["ignore", "ignore", "inherit"] });
check("a large recording has an overview", readFileSync(join(work, "large.html"), "utf8").includes('<template class="overview"'));
page = await open(join(work, "large.html"));
const overview = await page.evaluate(() => { const { test } = [...tracelet.tests.values()][0]; if (!test.waits) return null; test.timeline.select(1.5e9, 1.6e9); return { states: test.trace.kind.length, last: test.trace.last }; });
check("which can be used at once", overview === null || overview.states < 2000, overview);
await page.waitForSelector("html[data-whole]");
const large = await page.evaluate(() => { const { test, view } = [...tracelet.tests.values()][0]; return { states: test.trace.kind.length, last: test.trace.last, range: test.timeline.range, waits: test.waits, tables: !!view }; });
check("then all of it is there, from another thread", large.states > 202000 && large.tables && !large.waits, large);
check("and the selection has stayed", overview === null || large.range?.from === 1.5e9, large);
await page.close();

// ---- as Jenkins serves it, and on paper ----

// Its policy: no script, no style of the page's own, a sandbox.
page = await browser.newPage({ viewport: { width: 1000, height: 800 } });
await page.route("http://jenkins.example/**", route => route.fulfill({ body: readFileSync(test), contentType: "text/html",
	headers: { "content-security-policy": "sandbox; default-src 'none'; img-src 'self'; style-src 'self';" } }));
await page.goto("http://jenkins.example/test.html");
await shot(page, "jenkins");
const plain = await page.locator("body").innerText();
check("under Jenkins' policy there is the verdict, and why", /exit status 1/.test(plain) && /For 30.0 ms/.test(plain), plain.slice(0, 300));
check("... a picture and a bar of the time", await page.locator("figure.picture svg rect").count() > 5 && (await page.locator(".shares > svg").boundingBox()).width > 500);
equal("... and no code or data as text", false, /base64|[A-Za-z0-9+\/]{200}/.test(plain));
await page.close();
page = await open(test);
await page.emulateMedia({ media: "print", colorScheme: "dark" });
equal("paper is white and has no buttons", ["rgb(255, 255, 255)", false], [await page.evaluate(() => getComputedStyle(document.body).backgroundColor), await page.locator("#theme").isVisible()]);
const paper = await page.pdf({ format: "A4" });
check("it prints", paper.length > 10000 && (paper.toString("latin1").match(/\/Type\s*\/Page\b/g) || []).length <= 6, (paper.toString("latin1").match(/\/Type\s*\/Page\b/g) || []).length);
await page.close();

// ---- the sums of a flame graph ----

// Samples 100 µs apart, of functions that call each other and themselves.
const sampled = (from, to) => Array.from({ length: to - from }, (_, j) => from + j).map(i => `prog 10/${10 + i % 2} [000] ${(1 + i / 10000).toFixed(6)}: ${1000 + i} cpu-clock: \n` +
	["leaf", "middle", i % 3 ? "middle" : "other", "main"].slice(i % 4).map((name, j) => `\t          40${j}000 ${name} (/bin/prog)\n`).join("") + "\n").join("");
writeFileSync(join(work, "all.perf"), sampled(0, 200));
writeFileSync(join(work, "cut.perf"), sampled(50, 121));
execFileSync(tracelet, ["view", join(work, "all.perf"), "-o", join(work, "flame.html")], { stdio: ["ignore", "ignore", "inherit"] });
page = await open(join(work, "flame.html"));
const sums = () => page.evaluate(() => [...tracelet.tests.values()][0].test.graph.grid.rows.map(([name, self, , total]) => `${name} ${self[0]} ${total[0]}`).sort());
const top = file => { const text = execFileSync(tracelet, ["top", "--json", "--limit", "0", join(work, file)], { encoding: "utf8" }); return JSON.parse(text).functions.map(one => `${one.name} ${one.self} ${one.total}`).sort(); };
await page.waitForFunction(() => [...tracelet.tests.values()][0].test.graph.grid.rows.length);
equal("the sums are those of tracelet top", top("all.perf"), await sums());
await page.evaluate(() => [...tracelet.tests.values()][0].test.timeline.select(49.5e5, 120.5e5));
equal("those of a range are those of top on what is in it", top("cut.perf"), await sums());
await page.close();

equal("no errors, no requests, no violations of the policy", [], errors);
check("a small page", readFileSync(test).length < 80000, readFileSync(test).length);
await browser.close();
rmSync(work, { recursive: true });
console.log(`1..${done}`);
process.exit(failed ? 1 : 0);
