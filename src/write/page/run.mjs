// A run of many tests: a table that is sorted and filtered, failed tests first, and where the time went.
import { Columns } from "./columns.mjs";
import { digits, duration, element } from "./ground.mjs";
import { Grid } from "./grid.mjs";

const SLOW = 10;
const COLOURS_OF_TIME = ["runs", "ready", "lock", "disk", "waits", "sleeps"];
const passes = status => status === "passed" || status === "skipped" || status === "recorded";

export class Run {
	// `open(name)` shows a test that is in the page.
	constructor(bytes, open, moved) {
		const columns = new Columns(bytes), text = columns.get("strings", "text"), get = (name, Type) => columns.get("tests", name, Type);
		const names = get("name"), status = get("status"), wall = get("wall", Float64Array), cpu = get("cpu", Float64Array), why = get("why"), place = get("place");
		const tries = get("tries"), flaky = get("flaky"), folder = get("folder"), result = get("result");
		const times = COLOURS_OF_TIME.map((_, j) => get("s" + j, Uint8Array));
		this.rows = Array.from(names, (name, i) => {
			const row = [text[status[i]], text[name], [wall[i], duration(wall[i])], [cpu[i], duration(cpu[i])], tries[i], text[result[i]], text[why[i]], text[folder[i]]];
			row.times = COLOURS_OF_TIME.map((_, j) => times[j][i]);
			row.place = place[i];
			row.flaky = flaky[i];
			return row;
		});
		const slowest = Float64Array.from(wall).sort(), limit = slowest[Math.max(0, slowest.length - SLOW)];
		this.rows.forEach(row => row.slow = row[2][0] >= limit);
		this.grid = new Grid([{ name: "status", make: (cell, row) => element("span", { class: "status " + cell }, cell + (row.flaky ? ", flaky" : "")) },
			{ name: "test", make: (cell, row) => row.place ? element("a", { href: "#test=" + encodeURIComponent(cell) }, cell) : cell },
			{ name: "time", number: true }, { name: "CPU", number: true }, { name: "runs", number: true }, { name: "result" }, { name: "where the time went", make: (cell, row) => element("span", { title: cell }, ...this.bar(row.times), cell) }, ...(folder.some(f => f !== folder[0]) ? [{ name: "folder" }] : [])],
			{ name: "tests", search: false, pick: row => row.place && open(row[1]) });
		this.search = element("input", { type: "search", class: "wide", placeholder: "s:failed slow: flaky: or words of a name", "aria-label": "Filter tests", oninput: () => { this.filter(); moved?.(); } });
		const many = wanted => digits(this.rows.filter(wanted).length), bad = row => !passes(row[0]);
		this.chips = [["", "All " + digits(this.rows.length)], ["s:failed", "Failed " + many(bad)], ["s:passed", "Passed " + many(row => row[0] === "passed")],
			["flaky:", "Flaky " + many(row => row.flaky)], ["slow:", "Slowest"]].map(([word, name]) => element("button", { type: "button", "data-word": word,
			onclick: () => { this.search.value = word; this.filter(); moved?.(); } }, name));
		this.element = element("section", {}, element("p", { class: "bar" }, this.search, ...this.chips), this.grid.element);
		this.filter();
	}
	// Where the time went, as a small bar.
	bar(times) {
		const parts = times.map((part, i) => part > 2 && Object.assign(element("i", { class: COLOURS_OF_TIME[i] }), { part })).filter(part => part);
		parts.forEach(part => part.style.flex = part.part);
		return parts.length ? [element("span", { class: "mini", "aria-hidden": "true" }, ...parts), " "] : [];
	}
	filter() {
		this.chips.forEach(chip => chip.setAttribute("aria-pressed", chip.dataset.word === this.search.value.trim()));
		const words = this.search.value.toLowerCase().split(" ").filter(word => word);
		const bad = status => passes(status) ? 1 : 0;
		const rows = this.rows.filter(row => words.every(word => word.startsWith("s:") ? row[0].startsWith(word.slice(2)) || (word === "s:failed" && !bad(row[0]))
			: word === "flaky:" ? row.flaky : word === "slow:" ? row.slow : row.join("\t").toLowerCase().includes(word)));
		if (this.grid.sort < 0)
			rows.sort((a, b) => bad(a[0]) - bad(b[0]) || b.flaky - a.flaky || b[2][0] - a[2][0]);
		this.grid.show(rows);
	}
}
