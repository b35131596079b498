// Flame graphs of the samples in a range of time: the sums of `tracelet top`, and against the last passing run.
import { colour, context, cut, digits, duration, element, hue, isDark, tooltip } from "./ground.mjs";
import { Grid } from "./grid.mjs";
import { legend } from "./legend.mjs";

const FRAME = 18;
const BASELINE = 4, METRIC = 64, AT_EVENT = 128;

// The profiles of a recording: kinds of samples, with those of the last passing run.
export function profiles(trace) {
	const list = [];
	trace.kinds.forEach((kind, i) => {
		if (kind.flags & BASELINE)
			return;
		const base = trace.kinds.findIndex(k => k.flags & BASELINE && k.name === kind.name);
		const time = ["off-cpu", "critical path", "cpu-clock", "task-clock", "CPU samples"].includes(kind.name);
		const title = kind.name === "off-cpu" ? "Waiting" : kind.name === "critical path" ? "Critical path" : kind.flags & METRIC ? "Heap: " + kind.name
			: kind.flags & AT_EVENT ? "At " + kind.name : "On CPU" + (time ? "" : ": " + kind.name);
		list.push({ kind: i, base, title, show: time ? duration : value => digits(value), metric: kind.flags & METRIC });
	});
	const rank = title => ["Critical", "On CPU", "Waiting", "Heap"].findIndex(word => title.startsWith(word)) & 7;
	return list.sort((a, b) => rank(a.title) - rank(b.title));
}

export class Graph {
	constructor(trace) {
		this.trace = trace;
		this.profiles = profiles(trace);
		this.wanted = 0;
		this.canvas = element("canvas", { class: "flame", tabindex: 0, role: "img" });
		this.choice = element("select", { "aria-label": "Profile", onchange: () => { this.wanted = this.choice.selectedIndex; this.zoomed = null; this.update(this.range); } },
			...this.profiles.map(profile => element("option", {}, profile.title)));
		this.search = element("input", { type: "search", placeholder: "search functions", "aria-label": "Search functions", oninput: () => this.draw() });
		this.compare = element("input", { type: "checkbox", onchange: () => this.update(this.range) });
		this.compareLabel = element("label", {}, this.compare, " compare with the last passing run");
		this.reset = element("button", { type: "button", onclick: () => { this.zoomed = null; this.draw(); } }, "Reset zoom");
		this.sum = element("span", { class: "soft" });
		this.grid = new Grid([{ name: "function" }, { name: "self", number: true }, { name: "self %", number: true, share: true }, { name: "total", number: true }, { name: "total %", number: true, share: true }], { name: "functions" });
		this.element = element("section", { class: "graph" },
			element("div", { class: "bar" }, element("h3", {}, "Flame graph"), this.choice, this.search, this.reset, this.compareLabel, this.sum), element("div", { class: "flames" }, this.canvas), element("details", {}, element("summary", {}, "The same as a table"), this.grid.element));
		this.canvas.addEventListener("pointermove", event => tooltip(event, this.words(this.hit(event))));
		this.canvas.addEventListener("pointerleave", event => tooltip(event, null));
		this.canvas.addEventListener("click", event => { this.zoomed = this.hit(event) || null; this.draw(); });
		this.canvas.addEventListener("keydown", event => { if (event.key === "Escape") { this.zoomed = null; this.draw(); } });
		new ResizeObserver(() => this.draw()).observe(this.canvas);
	}
	// Adds up the stacks of the samples in a range: a tree below the names of threads.
	tree(kind, range) {
		const { trace } = this, { samples } = trace, roots = new Map();
		let sum = 0;
		for (let i = 0; i < samples.count; i++) {
			if (samples.kind[i] !== kind || (range && (samples.time[i] < range.from || samples.time[i] > range.to)))
				continue;
			const name = trace.threads[samples.thread[i]].name;
			let weights = roots.get(name);
			if (!weights)
				roots.set(name, weights = new Map());
			const stack = trace.canon[samples.stack[i]];
			weights.set(stack, (weights.get(stack) || 0) + samples.weight[i]);
			sum += samples.weight[i];
		}
		const ready = new Map();
		if (trace.kinds[kind].name === "off-cpu" && !trace.kinds[kind].flags)
			trace.eachWait((thread, time, stack, weight, isReady) => {
				if (range && (time < range.from || time > range.to))
					return;
				const all = isReady ? ready : roots, weights = all.get(thread.name) || all.set(thread.name, new Map()).get(thread.name);
				weights.set(trace.canon[stack], (weights.get(trace.canon[stack]) || 0) + weight);
				sum += weight;
			});
		const root = { name: "all", total: sum, self: 0, base: 0, children: new Map() };
		for (const [all, below] of [[roots, []], [ready, ["[ready]"]]])
			for (const [name, weights] of all)
				for (const [stack, weight] of weights)
					this.add(root, [...below, name], stack, weight);
		return root;
	}
	// `outer`: names above the stack, the outermost last.
	add(root, outer, stack, weight) {
		const { trace } = this, frames = [];
		for (; stack; stack = trace.caller[stack])
			frames.push(trace.frame[stack]);
		let node = root;
		for (let i = frames.length + outer.length - 1; i >= 0; i--) {
			const name = i >= frames.length ? outer[i - frames.length] : trace.functions[frames[i]];
			let child = node.children.get(name);
			if (!child)
				node.children.set(name, child = { name, frame: frames[i], parent: node, total: 0, self: 0, base: 0, children: new Map() });
			child.total += weight;
			node = child;
		}
		node.self += weight;
	}
	update(range) {
		this.range = range;
		const profile = this.profiles[this.wanted];
		this.element.hidden = !profile;
		if (!profile)
			return;
		this.root = this.tree(profile.kind, profile.metric ? null : range);
		this.compareLabel.hidden = profile.base < 0;
		this.delta = profile.base >= 0 && this.compare.checked;
		if (this.delta)
			this.mergeBase(this.root, this.tree(profile.base, null));
		if (this.zoomed) { // the same path in the new tree
			const names = [];
			for (let node = this.zoomed; node.parent; node = node.parent)
				names.unshift(node.name);
			this.zoomed = names.reduce((node, name) => node && node.children.get(name), this.root) || null;
		}
		this.sum.textContent = `${profile.show(this.root.total)} in all`;
		this.functions(profile);
		this.draw();
	}
	mergeBase(node, base) {
		node.base = base.total;
		for (const [name, child] of base.children) {
			const own = node.children.get(name);
			if (own)
				this.mergeBase(own, child);
		}
	}
	functions(profile) {
		const all = new Map(), open = new Map();
		const walk = node => {
			const known = all.get(node.name) || all.set(node.name, { self: 0, total: 0 }).get(node.name);
			known.self += node.self;
			if (!open.get(node.name))
				known.total += node.total;
			open.set(node.name, (open.get(node.name) || 0) + 1);
			node.children.forEach(walk);
			open.set(node.name, open.get(node.name) - 1);
		};
		this.root.children.forEach(thread => thread.children.size ? thread.children.forEach(walk) : walk(thread));
		const whole = this.root.total || 1;
		this.grid.show([...all].map(([name, { self, total }]) => [name, [self, profile.show(self)], 100 * self / whole, [total, profile.show(total)], 100 * total / whole]), 1);
	}
	draw() {
		const width = this.canvas.clientWidth;
		if (!width || !this.root)
			return;
		const boxes = this.boxes = [], top = this.zoomed || this.root, parents = [];
		for (let node = top.parent; node; node = node.parent)
			parents.unshift(node);
		parents.forEach((node, depth) => boxes.push({ node, x: 0, wide: width, depth, faint: true }));
		let deepest = parents.length;
		const place = (node, x, wide, depth) => {
			if (wide < 0.4 || depth > 400)
				return;
			deepest = Math.max(deepest, depth);
			boxes.push({ node, x, wide, depth });
			let children = [...node.children.values()].sort((a, b) => b.total - a.total), whole = node.total;
			if (node === this.root) { // its children are threads
				children = children.filter(child => legend.has(child.name));
				whole = children.reduce((sum, child) => sum + child.total, 0);
			}
			for (const child of children) {
				const part = wide * child.total / (whole || 1);
				place(child, x, part, depth + 1);
				x += part;
			}
		};
		place(top, 0, width, parents.length);
		const draw = context(this.canvas, width, (deepest + 1) * FRAME + 2), dark = isDark(), wanted = this.search.value.toLowerCase();
		draw.clearRect(0, 0, width, (deepest + 1) * FRAME + 2);
		draw.font = "12px system-ui, sans-serif";
		draw.textBaseline = "middle";
		const ink = colour("dark");
		for (const { node, x, wide, depth, faint } of boxes) {
			draw.globalAlpha = faint ? 0.5 : 1;
			draw.fillStyle = wanted && node.name.toLowerCase().includes(wanted) ? "#e040fb" : this.fill(node, dark);
			draw.fillRect(x, depth * FRAME, Math.max(wide - 0.5, 0.4), FRAME - 1);
			if (wide > 24) {
				draw.fillStyle = ink;
				draw.fillText(cut(draw, node.name, wide - 6), x + 3, depth * FRAME + FRAME / 2);
			}
		}
		draw.globalAlpha = 1;
		const profile = this.profiles[this.wanted];
		this.canvas.setAttribute("aria-label", `Flame graph, ${profile.title}: ${profile.show(this.root.total)}; the table below has its functions`);
	}
	fill(node, dark) {
		if (this.delta && node.parent) {
			const share = (node.total - node.base) / (this.root.total || 1), strength = Math.min(1, Math.abs(share) * 3);
			return `hsl(${share > 0 ? 5 : 215} ${Math.round(80 * strength)}% ${Math.round((dark ? 62 : 88) - 22 * strength)}%)`;
		}
		const kind = node.frame === undefined ? -1 : this.trace.frames.kind[node.frame];
		const base = kind === 1 ? 195 : kind < 0 ? 220 : 20, spread = hue(node.name) % 30;
		return kind < 0 ? (dark ? "#8d96a5" : "#cfd6e0") : `hsl(${base + spread} ${dark ? 55 : 75}% ${dark ? 58 : 74}%)`;
	}
	hit(event) {
		const box = this.canvas.getBoundingClientRect(), x = event.clientX - box.left, depth = Math.floor((event.clientY - box.top) / FRAME);
		return this.boxes?.find(b => b.depth === depth && x >= b.x && x < b.x + b.wide)?.node;
	}
	words(node) {
		if (!node)
			return null;
		const { show } = this.profiles[this.wanted], whole = this.root.total || 1;
		const { frames, strings } = this.trace, file = node.frame === undefined ? "" : strings[frames.file[node.frame]];
		return [node.name, `${show(node.total)}, ${(100 * node.total / whole).toFixed(2)} %` + (node.self ? `; itself ${show(node.self)}` : ""),
			this.delta ? `${node.total >= node.base ? "+" : "−"}${show(Math.abs(node.total - node.base))} against the last passing run` : "",
			file ? file + (frames.line[node.frame] ? ":" + frames.line[node.frame] : "") : "", node.frame === undefined ? "" : strings[frames.module[node.frame]]];
	}
}
