// Opens flame graphs and reports of hostile recordings in Chromium, uses them, and checks that none of their content ran.
// TAP on stdout. Arguments: the files.
import { pathToFileURL } from "node:url";

const { chromium } = await import(process.env.PLAYWRIGHT);
let done = 0, failed = 0;

function check(good, description, got) {
	done++;
	failed += !good;
	console.log(`${good ? "ok" : "not ok"} ${done} - ${description}`);
	if (!good)
		console.log(`# got: ${JSON.stringify(got)}`);
}

// Pages of tests and runs: their own frames, and a policy whose violations are counted.
async function look(page, how, javaScriptEnabled) {
	const scripts = await page.locator("script").count();
	check(scripts === (javaScriptEnabled ? 2 : 1), `${how}: only our scripts`, scripts);
	if (javaScriptEnabled) {
		await page.waitForSelector("html[data-ready]");
		for (const link of (await page.locator(".grid a").all()).slice(0, 2))
			if (await link.isVisible())
				await link.click();
		for (const tab of await page.locator("article:not([hidden]) [role=tab]").all())
			await tab.click();
		for (const canvas of await page.locator("article:not([hidden]) canvas").all())
			if (await canvas.isVisible()) {
				const { width, height } = await canvas.boundingBox();
				for (let y = 10; y < Math.min(height, 400); y += 90)
					await canvas.hover({ position: { x: width / 2, y }, force: true });
				await canvas.click({ position: { x: width / 2, y: Math.min(height - 2, 50) }, force: true });
			}
		for (const choice of await page.locator("article:not([hidden]) select option").all())
			await choice.evaluate(one => { one.selected = true; one.parentElement.dispatchEvent(new Event("change")); });
	}
}

const browser = await chromium.launch({ executablePath: "/usr/bin/chromium", args: ["--no-sandbox", "--disable-gpu"] });
for (const file of process.argv.slice(2)) {
	for (const javaScriptEnabled of [true, false]) {
		const page = await browser.newPage({ javaScriptEnabled });
		const errors = [];
		page.on("pageerror", (error) => errors.push(String(error)));
		page.on("dialog", (dialog) => errors.push(dialog.message()) && dialog.dismiss());
		page.on("request", (request) => request.url().startsWith("file:") && request.resourceType() === "document" ||
			errors.push(request.url()));
		const isReport = file.includes("report");
		page.on("console", (message) => message.type() === "error" && errors.push(message.text()));
		if (javaScriptEnabled)
			await page.addInitScript(() => document.addEventListener("securitypolicyviolation", (event) => console.error("policy: " + event.blockedURI)));
		await page.goto(pathToFileURL(file).href);
		const how = `${file}${javaScriptEnabled ? "" : " without scripts"}`;
		const frames = page.locator("#frames > g");
		if (isReport) {
			await look(page, how, javaScriptEnabled);
			check(await page.locator("img").count() === 0, `${how}: no pictures`, await page.locator("img").count());
			check(!javaScriptEnabled || await page.evaluate(() => window.pwned) === undefined, `${how}: no script of the recording ran`, true);
			check(errors.length === 0, `${how}: no errors, no other files, no violations of the policy`, errors);
			await page.close();
			continue;
		}
		check(await frames.count() > 30, `${how}: its frames are there`, await frames.count());
		check(await page.locator("script").count() === 1, `${how}: one script, ours`, await page.locator("script").count());
		check(await page.locator("img").count() === 0, `${how}: no pictures`, await page.locator("img").count());
		if (javaScriptEnabled) {
			const fills = await page.locator("#frames > g > rect").evaluateAll((all) => all.map((one) => one.getAttribute("fill")));
			check(fills.every((fill) => /^(hsl|rgb)\(/.test(fill)), `${how}: every frame has a colour`, fills.filter((fill) => !/^(hsl|rgb)\(/.test(fill)));
			for (let i = 0; i < await frames.count(); i++)
				await frames.nth(i).dispatchEvent("mousemove");
			await page.keyboard.press("r");
			await page.keyboard.press("c");
			await frames.nth(1).dispatchEvent("click");
			check(await page.evaluate(() => window.pwned) === undefined, `${how}: no script of the profile ran`, true);
		}
		check(errors.length === 0, `${how}: no errors, no other files`, errors);
		await page.close();
	}
}
await browser.close();
console.log(`1..${done}`);
process.exit(failed ? 1 : 0);
