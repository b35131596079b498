// The tables of a view: keys | values | graph. Columns are dragged, or moved with a click, between the three places.
import { colour, context, copy, digits, element, hue, isDark, tooltip, duration } from "./ground.mjs";
import { Grid } from "./grid.mjs";

const FORMS = ["sum", "max", "average", "share %"];
// What to begin with, by what a recording has.
const FIRST = ["pmu-app", "pmu-driver", "cpu-usage-precise", "cpu-usage", "cpu-samples", "system-calls", "generic-events", "kernel-events"];
const HIGH_GRAPH = 150, MOST_CURVES = 12;

export class View {
	constructor(tables, trace, file, preset) {
		Object.assign(this, { tables, trace, file, range: null, open: new Set(), form: "sum", kind: "stacked" });
		this.choice = element("select", { "aria-label": "Table", onchange: () => this.choose(this.choice.selectedIndex) },
			...tables.map(table => element("option", {}, `${table.name} (${digits(table.rows)})`)));
		this.about = element("span", { class: "soft" });
		this.search = element("input", { type: "search", placeholder: "search keys", "aria-label": "Search keys", oninput: () => this.list() });
		this.forms = element("select", { "aria-label": "Values are", onchange: () => { this.form = this.forms.value; this.list(); } }, ...FORMS.map(form => element("option", {}, form)));
		this.kinds = element("select", { "aria-label": "Graph", onchange: () => { this.kind = this.kinds.value; this.draw(); } }, ...["stacked", "lines"].map(kind => element("option", {}, kind)));
		this.places = ["keys", "values", "other"].map(place => {
			const box = element("div", { class: "place", role: "group", "aria-label": place });
			box.addEventListener("dragover", event => event.preventDefault());
			box.addEventListener("drop", event => { event.preventDefault(); this.move(event.dataTransfer.getData("text/plain"), place, event.target.dataset?.column); });
			return box;
		});
		this.canvas = element("canvas", { role: "img", "aria-label": "Graph of the values by time" });
		this.canvas.addEventListener("pointermove", event => tooltip(event, this.hover(event)));
		this.canvas.addEventListener("pointerleave", event => tooltip(event, null));
		this.holder = element("div");
		this.element = element("section", { class: "view" }, element("h3", {}, "Tables"),
			element("p", { class: "bar" }, this.choice, this.about), element("div", { class: "places" },
				...this.places.map((box, i) => element("div", {}, element("b", {}, ["Keys", "Values", "Columns"][i]), box))),
			element("p", { class: "bar" }, this.search, "values are", this.forms, "graph", this.kinds,
				element("button", { type: "button", onclick: () => copy(this.command()) }, "Copy as a command")),
			this.canvas, this.holder);
		new ResizeObserver(() => this.draw()).observe(this.canvas);
		const wanted = preset && tables.findIndex(table => table.name === preset.table);
		const first = FIRST.map(name => tables.findIndex(table => table.name === name)).find(i => i >= 0) ?? 0;
		this.choose(wanted >= 0 && preset ? wanted : first);
		if (wanted >= 0 && preset) {
			const { table } = this, list = words => (words || []).map(word => table.columns.find(column => column.name === word)).filter(column => column);
			this.keys = list(preset.keys);
			this.values = list(preset.values).filter(column => column.isNumber);
			this.form = this.forms.value = FORMS.includes(preset.form) ? preset.form : "sum";
			this.regroup();
		}
	}
	choose(i) {
		this.choice.selectedIndex = i;
		this.table = this.tables[i];
		this.keys = this.table.keys.slice();
		this.values = this.table.sums.slice();
		this.sort = -1;
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
		const { root, group } = this.table.group(this.keys, this.values, this.range);
		this.root = root;
		this.group = group;
		const names = this.keys.length ? [this.keys.map(key => key.name).join(" / "), "count", ...this.values.map(value => value.name)] : this.table.columns.map(column => column.name);
		this.grid = new Grid(names.map((name, i) => ({ name, number: this.keys.length ? i > 0 : this.table.columns[i].isNumber, make: i === 0 && this.keys.length ? (cell, row) => this.label(row) : null })),
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
		return element("span", { class: "depth" + Math.min(depth, 6) }, depth === 0 ? Object.assign(element("i", { class: "swatch" }), { ariaHidden: "true" }) : null, mark + text);
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

	// ---- the graph ----

	// The first value (or the count) of each outermost group, by time.
	draw() {
		const { table, canvas } = this, width = canvas.clientWidth;
		canvas.hidden = !table?.time;
		if (!width || !table?.time || !this.root)
			return;
		const whole = this.trace.last, from = this.range ? this.range.from : -this.trace.start, to = this.range ? this.range.to : whole - this.trace.start;
		const top = this.root.children.slice().sort((a, b) => (b.sums[0] ?? b.count) - (a.sums[0] ?? a.count)).slice(0, MOST_CURVES), buckets = Math.min(400, Math.floor(width / 2));
		const curves = top.map(() => new Float64Array(buckets)), of = new Map(top.map((node, i) => [node, i])), curveOf = [];
		const leaves = node => node.number !== undefined ? [node] : node.children.flatMap(leaves);
		for (const node of top)
			for (const leaf of leaves(node))
				curveOf[leaf.number] = of.get(node);
		const value = this.values[0];
		if (!this.keys.length)
			curves.push(new Float64Array(buckets));
		for (let row = 0; row < table.rows; row++) {
			const curve = this.keys.length ? curveOf[this.group[row]] : 0, at = Math.floor((table.time.values[row] - 1 - from) / (to - from || 1) * buckets);
			if (curve !== undefined && at >= 0 && at <= buckets)
				curves[curve][Math.min(at, buckets - 1)] += value ? value.number(row) : 1;
		}
		const draw = context(canvas, width, HIGH_GRAPH), stacked = this.kind === "stacked", dark = isDark();
		draw.clearRect(0, 0, width, HIGH_GRAPH);
		let most = 0;
		for (let i = 0; i < buckets; i++)
			most = Math.max(most, stacked ? curves.reduce((sum, curve) => sum + curve[i], 0) : Math.max(...curves.map(curve => curve[i])));
		const base = new Float64Array(buckets), step = width / buckets, y = part => HIGH_GRAPH - 4 - part / (most || 1) * (HIGH_GRAPH - 24);
		curves.forEach((curve, c) => {
			const name = top[c] ? top[c].column.words(top[c].value) : table.name;
			draw.fillStyle = draw.strokeStyle = `hsl(${hue(name)} 55% ${dark ? 60 : 55}%)`;
			if (stacked)
				for (let i = 0; i < buckets; i++) {
					draw.fillRect(i * step, y(base[i] + curve[i]), Math.max(step - 0.3, 0.7), curve[i] / (most || 1) * (HIGH_GRAPH - 24));
					base[i] += curve[i];
				}
			else {
				draw.beginPath();
				curve.forEach((part, i) => i ? draw.lineTo((i + 0.5) * step, y(part)) : draw.moveTo(step / 2, y(part)));
				draw.stroke();
			}
		});
		draw.fillStyle = colour("soft");
		draw.font = "12px system-ui, sans-serif";
		draw.fillText(`${value ? value.name : "count"}, at most ${digits(most)} in ${duration((to - from) / buckets)}; from ${duration(from)} to ${duration(to)}`, 4, 12);
		this.drawn = { curves, top, buckets, from, to };
		this.holder.querySelectorAll("i.swatch").forEach((swatch, i) => swatch.style.background = `hsl(${hue(swatch.parentElement.textContent.slice(2))} 55% ${dark ? 60 : 55}%)`);
	}
	hover(event) {
		const box = this.canvas.getBoundingClientRect(), { curves, top, buckets, from, to } = this.drawn || {};
		if (!curves)
			return null;
		const at = Math.floor((event.clientX - box.left) / box.width * buckets);
		const parts = curves.map((curve, i) => [curve[at] || 0, top[i] ? top[i].column.words(top[i].value) : this.table.name]).filter(part => part[0]).sort((a, b) => b[0] - a[0]);
		return [`at ${duration(from + (to - from) * at / buckets)}`, ...parts.slice(0, 8).map(([part, name]) => `${name}: ${digits(part)}`)];
	}
}
