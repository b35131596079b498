// The graph of a table: curves or stacked bars by time, a Gantt chart with a lane for each group, or the nested groups as a
// flame graph. Times are below those of the time line, whose zoom and selection it shares.
import { gutterOf } from "./timeline.mjs";
import { legend } from "./legend.mjs";
import { colour, context, cut, digits, duration, element, hue, isDark, tooltip } from "./ground.mjs";

export const KINDS = ["stacked", "lines", "Gantt", "flame"];
const HIGH_CHART = 170, MOST_CURVES = 12, LANE = 20, MOST_LANES = 24, MANY_ROWS = 300000;
// Columns that say when a row begins, when it ends, or how long it took.
const BEGINS = ["time", "start", "load"], ENDS = ["end", "unload"], LASTS = ["run_us", "duration_us", "lifetime_us", "open_us"];

export class Chart {
	constructor(timeline) {
		this.timeline = timeline;
		this.kind = "stacked";
		this.canvas = element("canvas", { class: "chart", role: "img", "aria-label": "Graph of the values by time" });
		this.legend = element("p", { class: "legend", role: "group", "aria-label": "Legend" });
		this.element = element("div", {}, this.canvas, this.legend);
		let down = null;
		this.canvas.addEventListener("pointermove", event => {
			if (down !== null && Math.abs(event.offsetX - down) > 4)
				timeline.select(timeline.time(down), timeline.time(event.offsetX));
			tooltip(event, down === null && this.hover ? this.hover(event.offsetX, event.offsetY) : null);
		});
		this.canvas.addEventListener("pointerleave", event => tooltip(event, null));
		this.canvas.addEventListener("pointerdown", event => { down = event.offsetX >= gutterOf(this.canvas.clientWidth) && this.kind !== "flame" ? event.offsetX : null; });
		addEventListener("pointerup", () => down = null);
		new ResizeObserver(() => this.view && this.draw(this.view)).observe(this.canvas);
	}
	fill(name) {
		return `hsl(${hue(name)} 55% ${isDark() ? 60 : 62}%)`;
	}
	swatch(name) {
		const made = element("i", { class: "swatch", "aria-hidden": "true" });
		made.style.background = this.fill(name);
		return made;
	}
	// After a zoom: at once if that is quick.
	follow() {
		clearTimeout(this.waiting);
		if (this.view)
			this.waiting = setTimeout(() => this.draw(this.view), this.view.table.rows > MANY_ROWS ? 200 : 0);
	}
	draw(view) {
		this.view = view;
		const { table, root } = view, width = this.canvas.clientWidth, column = names => names.map(name => table.columns.find(one => one.name === name)).find(one => one);
		this.begin = column(BEGINS)?.type === "s" ? column(BEGINS) : null;
		this.end = column(ENDS);
		this.lasts = column(LASTS);
		this.element.hidden = this.kind !== "flame" && !this.begin;
		if (!width || this.element.hidden || !root)
			return;
		this.gutter = gutterOf(width);
		this.wide = width - this.gutter;
		const { from, to } = this.timeline.view, { start } = this.timeline.trace;
		this.from = from - start; // in the table's time
		this.to = to - start;
		const by = node => node.sums[0] ?? node.count;
		const all = root.children.slice().sort((a, b) => by(b) - by(a)), names = all.slice(0, MOST_CURVES).map(node => this.name(node));
		this.top = all.filter(node => legend.has(this.name(node)));
		legend.fill(this.legend, [...names.map(name => legend.button(name, this.swatch(name))), legend.all()]);
		this.kind === "Gantt" ? this.gantt() : this.kind === "flame" ? this.flame() : this.curves();
	}
	name(node) {
		return node ? node.column.words(node.value) || "(none)" : this.view.table.name;
	}
	open(height) {
		const draw = this.pen = context(this.canvas, this.canvas.clientWidth, height);
		draw.clearRect(0, 0, this.canvas.clientWidth, height);
		draw.font = "12px system-ui, sans-serif";
		draw.textBaseline = "middle";
		if (this.kind === "flame")
			return draw;
		const { timeline } = this;
		draw.strokeStyle = colour("hair");
		draw.beginPath();
		for (const time of timeline.steps().times) {
			const x = Math.round(timeline.x(time)) + 0.5;
			draw.moveTo(x, 0);
			draw.lineTo(x, height);
		}
		draw.stroke();
		if (timeline.range) {
			const a = Math.max(this.gutter, timeline.x(timeline.range.from)), b = timeline.x(timeline.range.to);
			draw.fillStyle = colour("focus");
			draw.globalAlpha = 0.12;
			draw.fillRect(a, 0, b - a, height);
			draw.globalAlpha = 1;
		}
		return draw;
	}
	x(time) {
		return this.gutter + (time - this.from) / (this.to - this.from || 1) * this.wide;
	}
	// Which of these outermost groups a row is in, or undefined.
	outermost(list) {
		const which = [], [key] = this.view.keys;
		if (!key)
			return () => 0;
		const { codes } = key.codes();
		list.forEach((node, i) => which[node.code] = i);
		return row => which[codes[row]];
	}

	// ---- by time ----

	// The first value (or the count) of each outermost group, by time.
	curves() {
		const { view, from, to } = this, { table } = view, value = view.values[0], top = this.top.slice(0, MOST_CURVES);
		const buckets = Math.max(1, Math.min(400, Math.floor(this.wide / 2))), which = this.outermost(top), times = this.begin.values, scale = buckets / (to - from || 1);
		const curves = (view.keys.length ? top : [null]).map(() => new Float64Array(buckets));
		for (let row = 0; row < table.rows; row++) {
			const curve = curves[which(row)], at = Math.floor((times[row] - 1 - from) * scale);
			if (curve && at >= 0 && at <= buckets)
				curve[Math.min(at, buckets - 1)] += value ? value.number(row) : 1;
		}
		const draw = this.open(HIGH_CHART), stacked = this.kind === "stacked", base = new Float64Array(buckets), step = this.wide / buckets, high = HIGH_CHART - 12;
		let most = 0;
		for (let i = 0; i < buckets; i++)
			most = Math.max(most, stacked ? curves.reduce((sum, curve) => sum + curve[i], 0) : Math.max(...curves.map(curve => curve[i])));
		const y = part => HIGH_CHART - 2 - part / (most || 1) * high;
		curves.forEach((curve, c) => {
			draw.fillStyle = draw.strokeStyle = this.fill(this.name(top[c]));
			if (stacked)
				curve.forEach((part, i) => {
					draw.fillRect(this.gutter + i * step, y(base[i] + part), Math.max(step - 0.3, 0.7), part / (most || 1) * high);
					base[i] += part;
				});
			else
				this.line(curve, step, y);
		});
		draw.fillStyle = colour("soft");
		draw.fillText(cut(draw, value ? value.name : "count", this.gutter - 16), 4, 12);
		draw.fillText(cut(draw, `up to ${digits(most)}`, this.gutter - 16), 4, 30);
		draw.fillText(cut(draw, `in ${duration((to - from) / buckets)}`, this.gutter - 16), 4, 48);
		this.hover = x => {
			const at = Math.floor((x - this.gutter) / step), parts = curves.map((curve, i) => [curve[at] || 0, this.name(top[i])]).filter(part => part[0]).sort((a, b) => b[0] - a[0]);
			return at < 0 ? null : [`at ${duration(from + (to - from) * at / buckets)}`, ...parts.slice(0, 8).map(([part, name]) => `${name}: ${digits(part)}`)];
		};
	}
	// Values that are there, joined: a counter that is read every 100 ms is not 0 in between.
	line(curve, step, y) {
		const draw = this.pen;
		let first = true;
		draw.lineWidth = 1.5;
		draw.beginPath();
		curve.forEach((part, i) => {
			if (!part)
				return;
			first ? draw.moveTo(this.gutter + (i + 0.5) * step, y(part)) : draw.lineTo(this.gutter + (i + 0.5) * step, y(part));
			first = false;
		});
		draw.stroke();
		curve.forEach((part, i) => part && draw.fillRect(this.gutter + (i + 0.5) * step - 1.5, y(part) - 1.5, 3, 3));
		draw.lineWidth = 1;
	}

	// ---- from when to when ----

	span(row) {
		const { begin, end, lasts } = this, ns = lasts ? lasts.number(row) * 1000 : 0;
		const from = begin.values[row] - 1, ends = this.view.table.name === "generic-events"; // there the time is that of the end
		return end ? [from, end.values[row] ? end.values[row] - 1 : this.to] : ends ? [from - ns, from] : [from, from + ns];
	}
	gantt() {
		const { view } = this, { table } = view, lanes = this.top.slice(0, MOST_LANES), which = this.outermost(lanes), most = Math.max(1, lanes.length);
		const draw = this.open(most * LANE + 4), last = new Float64Array(most).fill(-1), inner = view.keys[view.keys.length - 1];
		draw.save();
		draw.beginPath();
		draw.rect(this.gutter, 0, this.wide, most * LANE + 4);
		draw.clip();
		for (let row = 0; row < table.rows; row++) {
			const lane = which(row);
			if (lane === undefined || !this.begin.values[row])
				continue;
			const [from, to] = this.span(row), x = this.x(from), wide = Math.max(this.x(to) - x, 1);
			if (x > this.gutter + this.wide || x + wide < Math.max(this.gutter, last[lane] + 0.5))
				continue;
			last[lane] = x + wide;
			const name = inner ? inner.text(row) || "(none)" : table.name;
			draw.fillStyle = this.fill(view.keys.length > 1 ? name : this.name(lanes[lane]));
			draw.fillRect(x, lane * LANE + 3, wide, LANE - 5);
			if (wide > 30) {
				draw.fillStyle = colour("dark");
				draw.fillText(cut(draw, name, Math.min(wide, this.gutter + this.wide - x) - 6), Math.max(x, this.gutter) + 3, lane * LANE + LANE / 2);
			}
		}
		draw.restore();
		draw.fillStyle = colour("ink");
		lanes.forEach((node, i) => draw.fillText(cut(draw, this.name(node), this.gutter - 14), 8, i * LANE + LANE / 2));
		this.hover = (x, y) => {
			const lane = Math.floor(y / LANE), time = this.from + (x - this.gutter) / this.wide * (this.to - this.from), near = 2 * (this.to - this.from) / this.wide;
			for (let row = 0; row < table.rows && x >= this.gutter; row++) {
				const [from, to] = which(row) === lane ? this.span(row) : [];
				if (from - near <= time && to + near >= time)
					return [this.name(lanes[lane]), ...view.keys.slice(1).map(key => key.text(row)), `${duration(to - from)}, at ${duration(from)}`];
			}
			return null;
		};
	}

	// ---- nested groups ----

	flame() {
		const { view } = this, { root } = view, boxes = [], whole = this.canvas.clientWidth, by = node => node.sums[0] ?? node.count;
		const place = (node, x, wide, depth) => {
			if (wide < 0.4)
				return;
			boxes.push({ node, x, wide, depth });
			const children = node === root ? this.top : node.children.slice().sort((a, b) => by(b) - by(a));
			const all = node === root ? children.reduce((sum, child) => sum + Math.max(by(child), 0), 0) : by(node);
			for (const child of children) {
				const part = wide * Math.max(by(child), 0) / (all || 1);
				place(child, x, part, depth + 1);
				x += part;
			}
		};
		place(root, 0, whole, 0);
		const draw = this.open((view.keys.length + 1) * LANE + 2), name = node => node === root ? `all: ${digits(by(root))} ${view.values[0]?.name || "rows"}` : this.name(node);
		for (const { node, x, wide, depth } of boxes) {
			draw.fillStyle = node === root ? colour("line") : this.fill(name(node));
			draw.fillRect(x, depth * LANE, Math.max(wide - 0.5, 0.4), LANE - 1);
			draw.fillStyle = node === root ? colour("ink") : colour("dark");
			draw.fillText(cut(draw, name(node), wide - 6), x + 3, depth * LANE + LANE / 2);
		}
		this.hover = (x, y) => {
			const hit = boxes.find(box => box.depth === Math.floor(y / LANE) && x >= box.x && x < box.x + box.wide)?.node;
			return hit ? [name(hit), `${digits(by(hit))} ${view.values[0]?.name || "rows"}, ${(100 * by(hit) / (by(root) || 1)).toFixed(2)} %`, `${digits(hit.count)} rows`] : null;
		};
	}
}
