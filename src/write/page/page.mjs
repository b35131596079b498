// The page: opens tests, keeps the address, light and dark.
import { inflate, pieces } from "./columns.mjs";
import { duration, element, save, say } from "./ground.mjs";
import { legend } from "./legend.mjs";
import { Run } from "./run.mjs";
import { readTables } from "./tables.mjs";
import { Test } from "./test.mjs";
import { Trace, unpack } from "./trace.mjs";
import { View } from "./view.mjs";

const tests = new Map(); // by name: {article, test}
let current = null, run = null, writing = 0;

function address() {
	return new URLSearchParams(location.hash.slice(1));
}

// What is seen, as a link. Written seldom: browsers count.
function remember() {
	clearTimeout(writing);
	writing = setTimeout(() => {
		const words = new URLSearchParams();
		if (current) {
			const { timeline } = current.test, { view, range, picked } = timeline, round = time => Math.round(time);
			words.set("test", current.name);
			words.set("t", `${round(view.from)}-${round(view.to)}`);
			if (range)
				words.set("sel", `${round(range.from)}-${round(range.to)}`);
			if (picked)
				words.set("state", `${picked.thread.index}-${picked.state - picked.thread.low}`);
		} else if (run?.search.value) {
			words.set("q", run.search.value);
		}
		legend.off.forEach(name => words.append("off", name));
		history.replaceState(null, "", "#" + words);
	}, 200);
}

async function open(name) {
	const entry = tests.get(name);
	if (!entry)
		return;
	for (const other of tests.values())
		other.article.hidden = run && other !== entry;
	entry.article.hidden = false;
	document.querySelector("#run")?.toggleAttribute("hidden", true);
	if (!entry.test) {
		const template = entry.article.querySelector("template.columns"), overview = entry.article.querySelector("template.overview");
		if (template || overview) {
			const place = entry.article.querySelector("figure.picture"), packed = overview || template;
			const test = entry.test = new Test(new Trace(await inflate(pieces(packed))), remember);
			entry.article.querySelectorAll("section.plain").forEach(section => section.hidden = true); // a tab has the same
			place ? place.replaceWith(test.element) : entry.article.append(test.element);
			test.waits = overview;
			if (overview)
				entry.whole = complete(entry, overview.dataset.bulk);
			else
				await addTables(entry);
		}
	}
	current = entry.test ? entry : null;
	performance.mark("tracelet-usable");
}

// Replaces the overview of a large recording by all of it.
async function complete(entry, bulk) {
	if (document.readyState === "loading")
		await new Promise(take => document.addEventListener("DOMContentLoaded", take));
	const template = document.getElementById(bulk);
	if (template.nextElementSibling?.className === "tables")
		entry.article.append(template.nextElementSibling);
	const trace = await unpack(pieces(template)), before = entry.test;
	entry.test = new Test(trace, remember, before);
	entry.test.linked = before.linked;
	before.element.replaceWith(entry.test.element);
	await addTables(entry);
}

// All tables of the recording, below its time line.
async function addTables(entry) {
	const template = entry.article.querySelector("template.tables"), preset = document.querySelector("template#preset");
	const tables = template ? readTables(await inflate(pieces(template))) : [];
	if (!tables.length)
		return;
	let presets = [];
	try {
		presets = preset ? [JSON.parse(preset.content.textContent)].flat() : [];
	} catch {
		say("The preset is not JSON");
	}
	const view = entry.view = new View(tables, entry.test.timeline, entry.article.dataset.file || entry.name, presets);
	entry.test.element.querySelector(".details").after(view.element);
	entry.test.selected = range => view.update(range);
	entry.test.zoomed = () => view.chart.follow();
}

// Several files have one axis: the zoom and the selection of one are those of all. Times are those of the clock if the
// recordings overlap or are near each other; otherwise all begin at the same place.
function link(all) {
	const origins = all.map(({ test }) => test.trace.origin), first = origins.reduce((a, b) => a < b ? a : b);
	let offsets = origins.map(origin => Number(origin - first));
	const lasts = all.map(({ test }) => test.trace.last), far = Math.max(...lasts.map((last, i) => last + offsets[i])) > 20 * lasts.reduce((a, b) => a + b);
	if (far)
		offsets = offsets.map(() => 0);
	const high = Math.max(...lasts.map((last, i) => last + offsets[i]));
	all.forEach(({ test, view, article }, i) => {
		const { timeline } = test, own = offsets[i];
		Object.assign(timeline, { low: -own, high: high - own, view: { from: -own, to: high - own } });
		article.querySelector("h2")?.append(element("span", { class: "soft" }, far ? " from the beginning of each file" : ` at ${duration(own)} of all files`));
		timeline.redraw();
		view?.draw();
		test.linked = what => all.forEach((other, j) => {
			if (i === j)
				return;
			const theirs = other.test.timeline, by = own - offsets[j], limit = time => Math.max(0, Math.min(theirs.trace.last, time + by));
			if (what === "view")
				theirs.view = { from: timeline.view.from + by, to: timeline.view.to + by };
			else
				theirs.range = timeline.range && { from: limit(timeline.range.from), to: limit(timeline.range.to) };
			theirs.redraw();
			what === "view" ? other.test.zoomed?.() : other.test.refresh();
		});
	});
}

function back() {
	current = null;
	tests.forEach(entry => entry.article.hidden = true);
	document.querySelector("#run").hidden = false;
	remember();
}

async function restore() {
	const words = address(), name = words.get("test"), off = words.getAll("off"), pair = text => (text || "").split("-").map(Number);
	if (name && tests.has(name))
		await open(name);
	else if (run && current)
		back();
	if (run && words.has("q")) {
		run.search.value = words.get("q");
		run.filter();
	}
	if (off.length || legend.off.size)
		legend.set(off);
	if (!current || !name)
		return;
	const { timeline, trace } = current.test, [from, to] = pair(words.get("t")), [a, b] = pair(words.get("sel")), [thread, state] = pair(words.get("state"));
	if (to > from)
		timeline.show(from, to);
	if (b > a)
		timeline.select(a, b);
	if (state >= 0 && trace.threads[thread] && state < trace.threads[thread].high - trace.threads[thread].low)
		timeline.pick(trace.threads[thread], trace.threads[thread].low + state);
}

function theme() {
	const button = element("button", { type: "button", id: "theme", "aria-label": "Light or dark", title: "Light or dark", onclick: () => {
		const dark = document.documentElement.dataset.theme ? document.documentElement.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
		document.documentElement.dataset.theme = dark ? "light" : "dark";
		redraw();
	} }, "◐");
	matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redraw);
	document.querySelector("header")?.append(button);
}

function redraw() {
	for (const { test, view } of tests.values()) {
		test?.timeline.makeRows();
		test?.graph.draw();
		view?.draw();
	}
}

async function begin() {
	theme();
	legend.changed = () => {
		redraw();
		remember();
	};
	for (const article of document.querySelectorAll("article.test")) {
		const name = article.dataset.name;
		tests.set(name, { article, name, test: null });
		for (const template of article.querySelectorAll("template.file")) {
			const file = template.dataset.name;
			template.after(element("button", { type: "button", onclick: async () => save(file, "application/octet-stream", [await inflate([template.content.textContent])]) }, "Save " + file));
		}
		article.querySelectorAll("a.back").forEach(link => link.addEventListener("click", event => { event.preventDefault(); back(); }));
	}
	const table = document.querySelector("template#run-columns");
	if (table) {
		run = new Run(await inflate(pieces(table)), async name => { await open(name); remember(); scrollTo(0, 0); }, remember);
		document.querySelector("#run-table").replaceWith(run.element);
		tests.forEach(entry => entry.article.hidden = true);
	} else {
		for (const name of tests.keys())
			await open(name);
		const opened = [...tests.values()].filter(entry => entry.test);
		if (opened.length > 1)
			Promise.all(opened.map(entry => entry.whole)).then(() => link(opened));
	}
	addEventListener("hashchange", restore);
	await restore();
	document.documentElement.dataset.ready = "yes";
	await Promise.all(Array.from(tests.values(), entry => entry.whole));
	document.documentElement.dataset.whole = "yes"; // nothing is missing any more
}

globalThis.tracelet = { tests, run: () => run }; // for the console, and to measure
begin().catch(error => say("This browser cannot show the recording: " + error.message));
