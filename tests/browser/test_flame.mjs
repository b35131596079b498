// Opens flame graphs in Chromium and uses them as people do: clicks, zooms, searches,
// inverts them. TAP on stdout. TRACELET is the program; SCREENSHOTS=FOLDER saves a
// picture of each step there.
import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

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

function equal(description, expected, got) {
	check(description, expected === got, got);
}

function draw(name, options, text) {
	const input = join(work, "input.folded"), output = join(work, name);
	writeFileSync(input, text);
	execFileSync(tracelet, ["flame", ...options, input, "-o", output]);
	return output;
}

const stacks = [
	"server;main;accept 10", "server;main;handle;parse 30", "server;main;handle;<T as Trait>::render 40",
	"server;main;handle;parse;do_syscall_64_[k] 20", "client;main;send 100", "",
].join("\n");

const browser = await chromium.launch({ executablePath: "/usr/bin/chromium", args: ["--no-sandbox", "--disable-gpu"] });
const page = await browser.newPage({ viewport: { width: 1200, height: 700 }, colorScheme: "light" });
const errors = [];
page.on("pageerror", (error) => errors.push(error.message));

async function shot(name) {
	if (process.env.SCREENSHOTS)
		await page.screenshot({ path: join(process.env.SCREENSHOTS, `${name}.png`) });
}

// The widest frame with this name on it, or null if there is none.
const frame = (name) => page.evaluate((wanted) => {
	let widest = null;
	for (const group of document.querySelectorAll("#frames > g")) {
		const rect = group.querySelector("rect"), { x, y, width, height } = rect.getBoundingClientRect();
		if (group.querySelector("text")?.textContent === wanted && !(widest?.width >= width))
			widest = { x, y, width, height, fill: rect.getAttribute("fill"), classes: group.getAttribute("class") };
	}
	return widest;
}, name);

async function click(name) {
	const at = await frame(name);
	await page.mouse.click(at.x + at.width / 2, at.y + at.height / 2);
}

const details = () => page.textContent("#details");

async function behaviour(kind, path) {
	await page.goto(`file://${path}`);
	await shot(`${kind}-begin`);
	const all = await frame("all"), client = await frame("client"), main = await frame("main");
	check(`${kind}: widths are shares`, Math.abs(client.width - all.width / 2) < 2, [client, all]);
	check(`${kind}: the root is below`, all.y > client.y && client.y > main.y, [all, client, main]);
	check(`${kind}: names are not markup`, await frame("<T as Trait>::render"));
	check(`${kind}: the kernel's mark is not shown`, await frame("do_syscall_64"));

	await page.mouse.move(client.x + 30, client.y + 5);
	check(`${kind}: the details of a frame`, (await details()).startsWith("client (100 samples, 50.00%"), await details());

	await click("handle");
	const handle = await frame("handle"), caller = await frame("main");
	check(`${kind}: a click zooms`, Math.abs(handle.width - all.width) < 2, handle);
	equal(`${kind}: callers are shown above, dimmed`, "above", caller?.classes);
	equal(`${kind}: others are gone`, null, await frame("send"));
	await shot(`${kind}-zoom`);
	await page.click("#reset");
	check(`${kind}: reset shows all again`, Math.abs((await frame("client")).width - all.width / 2) < 2);

	await page.keyboard.press("/");
	await page.keyboard.type("^par|send");
	equal(`${kind}: the matched share`, "Matched: 75.00%", await page.textContent("#matched"));
	equal(`${kind}: matches are marked`, "found", (await frame("send")).classes);
	equal(`${kind}: others are not`, null, (await frame("handle")).classes);
	await shot(`${kind}-search`);
	await page.fill("#search", "(");
	equal(`${kind}: a pattern that is none is shown to be wrong`, "wrong", await page.getAttribute("#search", "class"));
	await page.keyboard.press("Escape");
	equal(`${kind}: escape ends the search`, null, (await frame("send")).classes);

	await page.keyboard.press("i");
	check(`${kind}: an icicle has the root on top`, (await frame("all")).y < (await frame("client")).y);
	await page.keyboard.press("i");
	await page.click("#reverse");
	const parse = await frame("parse");
	check(`${kind}: reversed, the innermost functions are at the root`,
		Math.abs(parse.width - all.width * 0.15) < 2 && parse.y > (await frame("handle")).y, parse);
	check(`${kind}: each with its callers`, await frame("server") && await frame("main"));
	await shot(`${kind}-reverse`);
	await page.click("#reverse");

	const hot = (await frame("send")).fill;
	await page.selectOption("#theme", "kind");
	check(`${kind}: another theme, other colours`, (await frame("send")).fill !== hot);
	await shot(`${kind}-kind`);
	await page.selectOption("#theme", "hot");
	equal(`${kind}: and back`, hot, (await frame("send")).fill);

	await page.evaluate(() => document.activeElement.blur());
	for (const key of ["ArrowUp", "ArrowUp", "ArrowUp", "ArrowUp", "Enter"])
		await page.keyboard.press(key);
	check(`${kind}: keys go to a frame and zoom`, Math.abs((await frame("send")).width - all.width) < 2);
	await page.keyboard.press("Escape");
	equal(`${kind}: no errors`, "", errors.join("; "));
}

try {
	await behaviour("svg", draw("flame.svg", [], stacks));
	await behaviour("html", draw("flame.html", [], stacks));

	const light = await page.evaluate(() => getComputedStyle(document.body).backgroundColor);
	await page.click("#mode");
	const dark = await page.evaluate(() => getComputedStyle(document.body).backgroundColor);
	check("html: the dark mode is dark", light !== dark && /rgb\(2\d, 2\d, 2\d\)/.test(dark), dark);
	await shot("html-dark");
	await page.emulateMedia({ colorScheme: "dark" });
	await page.reload();
	equal("html: it follows the system", dark, await page.evaluate(() => getComputedStyle(document.body).backgroundColor));

	writeFileSync(join(work, "base.folded"), "a;grew 10\na;shrank 90\na;same 50\n");
	await page.goto(`file://${draw("difference.svg", ["--diff", join(work, "base.folded")], "a;grew 80\na;shrank 20\na;same 50\n")}`);
	await shot("difference");
	const hue = async (name) => Number(/hsl\((\d+), (\d+)%/.exec((await frame(name)).fill)[(await frame(name)).fill.includes(" 0%") ? 2 : 1]);
	equal("difference: what grew is red", 4, await hue("grew"));
	equal("difference: what shrank is blue", 214, await hue("shrank"));
	equal("difference: what did not change is grey", 0, await hue("same"));

	await page.goto(`file://${draw("evil.html", ["--title", "</script><b>"], "a;</script><script>boom() 1\na;]]>&amp 2\n")}`);
	check("html: hostile names stay names", await frame("</script><script>boom()") && await frame("]]>&amp"));
	await page.goto(`file://${draw("evil.svg", ["--title", "]]></script>"], "a;</script><script>boom() 1\na;]]>&amp 2\n")}`);
	check("svg: hostile names stay names", await frame("</script><script>boom()") && await frame("]]>&amp"));

	// Frames that fit a picture to their size: a deep one stays readable, and scrolls.
	const deep = draw("deep.svg", [], `deep;${Array.from({ length: 80 }, (_, i) => `f${i}`).join(";")} 10\n`);
	for (const [kind, tag] of [["iframe", `<iframe src="${deep}"`], ["sandbox", `<iframe sandbox="allow-scripts" src="${deep}"`],
		["object", `<object type="image/svg+xml" data="${deep}"`]]) {
		const outer = join(work, "outer.html");
		writeFileSync(outer, `<body style="margin: 0">${tag} width="700" height="400"></${kind === "object" ? kind : "iframe"}>`);
		await page.goto(`file://${outer}`);
		const inner = page.frames()[1];
		await inner.waitForSelector("#search", { state: "attached" });
		const box = (wanted) => inner.evaluate((name) => [...document.querySelectorAll("#frames > g")]
			.find((group) => group.querySelector("text")?.textContent === name)?.querySelector("rect").getBoundingClientRect().toJSON(), wanted);
		const size = await inner.evaluate(() => document.querySelector("#search").getBoundingClientRect().height);
		check(`${kind}: the bar can be read`, size > 20 && size < 30, size);
		const root = await box("all");
		check(`${kind}: the root is visible first`, root.y > 300 && root.y < 400 && root.height > 10, root);
		await page.mouse.move(300, 200);
		await page.mouse.wheel(0, -5000);
		await inner.waitForFunction((before) => document.querySelector("#frames > g rect").getBoundingClientRect().y > before + 500, root.y);
		const last = await box("f79");
		check(`${kind}: the wheel goes to the other end`, last.y > 0 && last.y < 100, last);
		await page.mouse.click(last.x + 20, last.y + last.height / 2);
		check(`${kind}: a click zooms`, await inner.evaluate(() => !document.querySelector("#reset").disabled));
		await shot(`${kind}-deep`);
	}
	equal("frames: no errors", "", errors.join("; "));

	// Without its script the picture looks the same.
	const path = draw("still.svg", ["--width", "1200"], stacks);
	await page.goto(`file://${path}`);
	const moving = await frame("send");
	writeFileSync(path, readFileSync(path, "utf8").replace(/<script>[^]*<\/script>/, ""));
	await page.goto(`file://${path}`);
	const still = await frame("send");
	check("svg: the frames are drawn without a script, too",
		Math.abs(moving.x - still.x) < 1 && Math.abs(moving.width - still.width) < 1 && Math.abs(moving.y - still.y) < 1, [moving, still]);
} finally {
	await browser.close();
	rmSync(work, { recursive: true });
}
console.log(`1..${done}`);
process.exit(failed ? 1 : 0);
