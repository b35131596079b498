// Opens pages in Firefox, through WebDriver BiDi: playwright-core drives only its own builds of it. TAP on stdout. Arguments: pages.
import { spawn } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { pathToFileURL } from "node:url";

const WebSocket = globalThis.WebSocket ?? createRequire(import.meta.url)(join(dirname(process.env.PLAYWRIGHT), "lib/utilsBundle.js")).ws;
const profile = mkdtempSync(join(tmpdir(), "tracelet-firefox."));
const firefox = spawn("firefox-esr", ["--headless", "--no-remote", "--profile", profile, "--remote-debugging-port=0"], { stdio: ["ignore", "ignore", "pipe"],
	env: { ...process.env, HOME: profile, MOZ_DISABLE_CONTENT_SANDBOX: "1" } });
let done = 0, failed = 0;

function check(description, good, more) {
	done++;
	failed += !good;
	console.log(`${good ? "ok" : "not ok"} ${done} - ${description}`);
	if (!good)
		console.log(`# got: ${JSON.stringify(more)}`);
}

const address = await new Promise((resolve, reject) => {
	let text = "";
	firefox.stderr.on("data", piece => {
		text += piece;
		const found = /WebDriver BiDi listening on (ws:\S+)/.exec(text);
		if (found)
			resolve(found[1]);
	});
	firefox.on("exit", () => reject(new Error("Firefox ended: " + text)));
});
const socket = new WebSocket(address + "/session"), waiting = new Map(), events = [];
await new Promise((resolve, reject) => { socket.onopen = resolve; socket.onerror = reject; });
socket.onmessage = ({ data }) => {
	const message = JSON.parse(data);
	message.id ? waiting.get(message.id)(message) : events.push(message);
};
let last = 0;
async function send(method, params = {}) {
	const id = ++last, answer = new Promise(resolve => waiting.set(id, resolve));
	socket.send(JSON.stringify({ id, method, params }));
	const message = await answer;
	if (message.type === "error")
		throw new Error(`${method}: ${message.message}`);
	return message.result;
}

await send("session.new", { capabilities: {} });
await send("session.subscribe", { events: ["log.entryAdded", "network.beforeRequestSent"] });
const { context } = (await send("browsingContext.getTree")).contexts[0];
for (const file of process.argv.slice(2)) {
	events.length = 0;
	await send("browsingContext.navigate", { context, url: pathToFileURL(file).href, wait: "complete" });
	const evaluate = async expression => (await send("script.evaluate", { target: { context }, awaitPromise: true, expression })).result?.value;
	const ready = await evaluate(`new Promise(resolve => { const look = () => document.documentElement.dataset.ready ? resolve("yes") : setTimeout(look, 20); look(); })`);
	check(`${file}: the code runs`, ready === "yes", ready);
	check(`${file}: there is a time line or a table`, await evaluate(`document.querySelectorAll(".timeline canvas, .grid tbody tr").length > 0`), null);
	const painted = await evaluate(`(() => { const c = document.querySelector(".timeline canvas"); if (!c) return true;
		[...tracelet.tests.values()][0].test.timeline.draw(); const d = c.getContext("2d").getImageData(0, 0, c.width, c.height).data;
		const seen = new Set(); for (let i = 0; i < d.length; i += 4) seen.add(d[i] << 16 | d[i + 1] << 8 | d[i + 2]); return seen.size > 5; })()`);
	check(`${file}: it is drawn`, painted, painted);
	const errors = events.filter(event => event.method === "log.entryAdded" && event.params.level === "error").map(event => event.params.text);
	check(`${file}: no errors`, errors.length === 0, errors);
	const requests = events.filter(event => event.method === "network.beforeRequestSent").map(event => event.params.request.url).filter(url => !/^(file|data|blob|moz-extension|chrome|resource|about):/.test(url));
	check(`${file}: no requests`, requests.length === 0, requests);
}
socket.close();
firefox.removeAllListeners("exit");
firefox.kill();
await new Promise(resolve => firefox.on("exit", resolve));
rmSync(profile, { recursive: true, force: true });
console.log(`1..${done}`);
process.exit(failed ? 1 : 0);
