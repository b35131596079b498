// The tables of a view: keys | values | graph. Columns are dragged, or moved with a click, between the three places.
import { copy, digits, element } from "./ground.mjs";
import { Grid } from "./grid.mjs";
import { Chart, KINDS } from "./chart.mjs";

const FORMS = ["sum", "max", "average", "share %"];
// What to begin with, by what a recording has.
const FIRST = ["pmu-app", "pmu-driver", "cpu-usage-precise", "cpu-usage", "cpu-samples", "system-calls", "generic-events", "kernel-events"];

export class View {
	constructor(tables, timeline, file, presets) {
		Object.assign(this, { tables, trace: timeline.trace, file, range: null, open: new Set(), form: "sum" });
		this.choice = element("select", { "aria-label": "Table", onchange: () => this.choose(this.choice.selectedIndex) },
			...tables.map(table => element("option", {}, `${table.name} (${digits(table.rows)})`)));
		this.about = element("span", { class: "soft" });
		this.search = element("input", { type: "search", placeholder: "search keys", "aria-label": "Search keys", oninput: () => this.list() });
		this.forms = element("select", { "aria-label": "Values are", onchange: () => { this.form = this.forms.value; this.regroup(); } }, ...FORMS.map(form => element("option", {}, form)));
		this.chart = new Chart(timeline);
		this.kinds = element("select", { "aria-label": "Graph", onchange: () => { this.chart.kind = this.kinds.value; this.draw(); } }, ...KINDS.map(kind => element("option", {}, kind)));
		this.places = ["keys", "values", "other"].map(place => {
			const box = element("div", { class: "place", role: "group", "aria-label": place });
			box.addEventListener("dragover", event => event.preventDefault());
			box.addEventListener("drop", event => { event.preventDefault(); this.move(event.dataTransfer.getData("text/plain"), place, event.target.dataset?.column); });
			return box;
		});
		this.presets = (presets || []).filter(preset => tables.some(table => table.name === preset.table));
		const presetChoice = element("select", { "aria-label": "Preset", onchange: () => this.take(this.presets[presetChoice.selectedIndex]) },
			...this.presets.map((preset, i) => element("option", {}, preset.name || `preset ${i + 1}`)));
		this.holder = element("div");
		this.element = element("section", { class: "view" },
			element("div", { class: "bar" }, element("h3", {}, "Tables"), this.presets.length > 1 ? presetChoice : null, this.choice, this.about), element("div", { class: "places" },
				...this.places.map((box, i) => element("div", {}, element("b", {}, ["Keys", "Values", "Columns"][i]), box))),
			element("div", { class: "bar" }, this.search, element("label", {}, "values are ", this.forms), element("label", {}, "graph ", this.kinds),
				element("button", { type: "button", class: "end", onclick: () => copy(this.command()) }, "Copy as a command")),
			this.chart.element, this.holder);
		const first = FIRST.map(name => tables.findIndex(table => table.name === name)).find(i => i >= 0) ?? 0;
		if (this.presets.length)
			this.take(this.presets[0]);
		else
			this.choose(first);
	}
	take(preset) {
		this.choose(this.tables.findIndex(table => table.name === preset.table));
		const { table } = this, list = words => (words || []).map(word => table.columns.find(column => column.name === word)).filter(column => column);
		this.keys = list(preset.keys);
		this.values = list(preset.values).filter(column => column.isNumber);
		this.form = this.forms.value = FORMS.includes(preset.form) ? preset.form : "sum";
		this.chart.kind = this.kinds.value = KINDS.includes(preset.graph) ? preset.graph : "stacked";
		this.regroup();
	}
	draw() {
		this.chart.draw(this);
	}
	choose(i) {
		this.choice.selectedIndex = i;
		this.table = this.tables[i];
		this.keys = this.table.keys.slice();
		this.values = this.table.sums.slice();
		this.sort = -1;
		this.chart.kind = this.kinds.value = this.table.name.startsWith("pmu") ? "lines" : "stacked"; // counters are read now and then
		this.about.textContent = this.table.summary;
		this.regroup();
	}
	update(range) {
		this.range = range && { from: range.from - this.trace.start, to: range.to - this.trace.start };
		this.regroup();
	}

	// ---- columns ----

	move(name, place, before) {
		const column = this.table.columns.find(one => one.name === name);
		if (!column || (place === "values" && !column.isNumber))
			return;
		this.keys = this.keys.filter(one => one !== column);
		this.values = this.values.filter(one => one !== column);
		const list = place === "keys" ? this.keys : place === "values" ? this.values : null, at = list?.findIndex(one => one.name === before);
		list?.splice(at >= 0 ? at : list.length, 0, column);
		this.sort = -1;
		this.regroup();
	}
	chip(column, place) {
		const next = place === "keys" ? (column.isNumber ? "values" : "other") : place === "values" ? "other" : "keys";
		const chip = element("button", { type: "button", class: "chip", draggable: "true", "data-column": column.name, title: `to ${next}`, onclick: () => this.move(column.name, next) }, column.name);
		chip.addEventListener("dragstart", event => event.dataTransfer.setData("text/plain", column.name));
		return chip;
	}
	regroup() {
		const used = new Set([...this.keys, ...this.values]), lists = [this.keys, this.values, this.table.columns.filter(column => !used.has(column))];
		this.places.forEach((box, i) => box.replaceChildren(...lists[i].map(column => this.chip(column, ["keys", "values", "other"][i]))));
		this.open.clear();
		this.root = this.table.group(this.keys, this.values, this.range);
		const names = this.keys.length ? [this.keys.map(key => key.name).join(" / "), "count", ...this.values.map(value => value.name)] : this.table.columns.map(column => column.name);
		this.grid = new Grid(names.map((name, i) => ({ name, number: this.keys.length ? i > 0 : this.table.columns[i].isNumber, share: i > 1 && this.keys.length && this.form === "share %", make: i === 0 && this.keys.length ? (cell, row) => this.label(row) : null })),
			{ name: this.table.name, search: false, pick: row => row.node && this.toggle(row.node) });
		if (this.keys.length)
			this.grid.sortBy = i => { this.down = this.sort === i ? !this.down : true; this.sort = i; this.list(); };
		this.holder.replaceChildren(this.grid.element);
		if (!this.keys.length || !(this.sort >= 0 && this.sort < this.values.length + 2))
			this.sort = this.keys.length ? (this.values.length ? 2 : 1) : -1;
		this.down ??= true;
		this.list();
		this.draw();
	}
	label({ node, depth }) {
		const mark = node.children.length ? (this.open.has(node) ? "▾ " : "▸ ") : "   ", text = node.column.words(node.value) || "(none)";
		return element("span", { class: "depth" + Math.min(depth, 6) }, depth === 0 ? this.chart.swatch(text) : null, mark + text);
	}
	toggle(node) {
		if (!node.children.length)
			return;
		this.open.has(node) ? this.open.delete(node) : this.open.add(node);
		this.list(true);
	}
	value(node, i) {
		const sum = node.sums[i];
		return this.form === "sum" ? sum : this.form === "max" ? node.most[i] : this.form === "average" ? sum / (node.count || 1) : 100 * sum / (this.root.sums[i] || 1);
	}
	list(keep) {
		const words = this.search.value.toLowerCase(), scroll = this.grid.box.scrollTop;
		if (!this.keys.length) {
			const rows = [], { table, range } = this;
			for (let row = 0; row < table.rows && rows.length < 200000; row++)
				if (!range || !table.time || (table.time.values[row] - 1 >= range.from && table.time.values[row] - 1 <= range.to))
					rows.push(table.columns.map(column => column.isNumber ? [column.values[row], column.text(row)] : column.text(row)));
			this.grid.show(words ? rows.filter(row => row.some(cell => String(cell[1] ?? cell).toLowerCase().includes(words))) : rows);
			return;
		}
		const key = node => this.sort === 0 ? node.column.words(node.value) : this.sort === 1 ? node.count : this.value(node, this.sort - 2);
		const rows = [], fits = node => !words || node.column.words(node.value).toLowerCase().includes(words) || node.children.some(fits);
		const add = (nodes, depth) => {
			const sign = (this.sort === 0) === this.down ? 1 : -1;
			for (const node of nodes.slice().sort((a, b) => sign * (key(a) < key(b) ? -1 : key(a) > key(b) ? 1 : 0))) {
				if (!fits(node))
					continue;
				rows.push(Object.assign([node.column.words(node.value), node.count, ...this.values.map((_, i) => this.value(node, i))], { node, depth }));
				if (this.open.has(node) || (words && node.children.length))
					add(node.children, depth + 1);
			}
		};
		add(this.root.children, 0);
		this.grid.sort = -1;
		this.grid.show(rows);
		if (keep)
			this.grid.box.scrollTop = scroll;
	}
	command() {
		const quote = word => /^[\w./,-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`, names = list => list.map(column => column.name).join(",");
		const sort = this.keys.length && this.sort >= 0 ? ["--sort", this.sort === 0 ? this.keys[0].name : this.sort === 1 ? "count" : this.values[this.sort - 2].name] : [];
		return ["tracelet", "table", this.file, this.table.name, "--group-by", names(this.keys) || "none", ...(this.values.length && this.keys.length ? ["--sum", names(this.values)] : []), ...sort].map(quote).join(" ");
	}
}
