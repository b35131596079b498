// One test: its time line with what is selected in it, in tables and flame graphs.
import { CATEGORIES, KIND, RUNS, READY, STATES } from "./trace.mjs";
import { digits, duration, element } from "./ground.mjs";
import { Timeline } from "./timeline.mjs";
import { Graph } from "./graph.mjs";
import { Grid } from "./grid.mjs";

export class Test {
	// `before`: the test as its overview showed it; zoom and selection stay.
	constructor(trace, moved, before) {
		this.trace = trace;
		this.timeline = new Timeline(trace, what => this.changed(what, moved));
		this.details = element("section", { class: "details", "aria-live": "polite" });
		this.graph = new Graph(trace);
		this.tables = this.makeTables();
		this.tab = 0;
		this.tabs = element("div", { role: "tablist", class: "tabs" }, ...this.tables.map((table, i) => element("button", { type: "button", role: "tab",
			onclick: () => this.open(i) }, table.name)));
		this.tabs.addEventListener("keydown", event => {
			const by = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
			if (by) {
				this.open((this.tab + by + this.tables.length) % this.tables.length);
				this.tabs.children[this.tab].focus();
			}
		});
		this.panel = element("div", { role: "tabpanel" });
		this.about = this.timeline.about;
		const keys = element("span", { class: "soft keys" }, ...["W", "S", " zoom  ", "A", "D", " move  ", "drag", " selects a range  ", "click", " explains a state  ", "F", " zooms to the selection  ", "0", " shows all"]
			.map(word => word.startsWith(" ") ? word : element("kbd", {}, word)));
		this.timeline.element.append(element("div", { class: "bar below" }, keys, this.about)); // below: the canvas must not move
		this.element = element("div", { class: "app" }, this.timeline.element, this.details,
			this.tables.length ? element("section", {}, this.tabs, this.panel) : null, this.graph.element);
		if (before)
			this.timeline.take(before.timeline);
		this.open(0);
		setTimeout(() => this.refresh()); // the time line comes first
	}
	changed(what, moved) {
		if (what === "view")
			this.zoomed?.();
		if (what !== "state")
			this.linked?.(what);
		if (what === "selection")
			this.refresh();
		if (what === "state")
			this.explain();
		moved?.();
	}
	get span() {
		return this.timeline.range || { from: 0, to: this.trace.last };
	}
	refresh() {
		const { range } = this.timeline;
		this.about.textContent = range ? `Selected: ${duration(range.to - range.from)}, from ${duration(range.from)} to ${duration(range.to)}. Tables and graphs are about it; Escape ends it.`
			: `All of the recording: ${duration(this.trace.last)}.` + (this.waits ? " This is an overview: details are being unpacked." : "") + (this.trace.leftOut ? ` ${digits(this.trace.leftOut)} events are not in this page.` : "");
		this.stale = new Set(this.tables);
		this.fill();
		this.graph.update(range);
		this.selected?.(range);
	}
	open(i) {
		this.tab = i;
		[...this.tabs.children].forEach((tab, j) => {
			tab.setAttribute("aria-selected", i === j);
			tab.tabIndex = i === j ? 0 : -1;
		});
		if (this.tables[i])
			this.panel.replaceChildren(this.tables[i].grid.element);
		this.fill();
	}
	fill() {
		const table = this.tables[this.tab];
		if (table && this.stale?.delete(table))
			table.grid.show(table.rows(this.span), table.sort);
	}

	// ---- tables ----

	makeTables() {
		const { trace } = this, time = ns => [ns, duration(ns)], list = [];
		const table = (name, there, columns, sort, rows, options) => there && list.push({ name, sort, rows: rows.bind(this),
			grid: new Grid(columns.map(c => c[0] === "#" ? { name: c.slice(1), number: true, share: c.endsWith("%") } : { name: c }), { name: name.toLowerCase(), ...options }) });
		const inOrder = { down: false }, whose = ({ name, tid }) => name === "?" ? (tid ? String(tid) : "") : name, length = ns => [ns, ns ? duration(ns) : ""];
		table("Critical path", trace.path.count, ["reason", "thread", "#time", "#share %", "#pieces", "#longest"], 2, this.pathRows);
		table("Threads", trace.shown.length, ["thread", "process", "#tid", ...CATEGORIES.slice(0, 6).map(c => "#" + c.split(",")[0])], 3,
			({ from, to }) => trace.shown.map(t => [t.name, t.process, [t.tid, String(t.tid)], ...Array.from(trace.within(t, from, to).slice(0, 6), time)]),
			{ pick: row => { const t = trace.shown.find(one => one.tid === row[2][0]); this.timeline.pick(t, Math.min(trace.find(t, this.span.from), t.high - 1)); } });
		table("Waits", trace.shown.length, ["thread", "reason", "function", "woken by", "#count", "#time", "#longest"], 5, this.waitRows);
		table("CPUs", trace.kind.length && trace.kind.length < 2e6, ["cpu", "task", "#time", "#slices"], 2, this.cpuRows);
		table("Marks and cases", trace.marks.count, ["name", "thread", "#from", "#time", "result"], 2, ({ from, to }) => this.listRows(trace.marks, from, to, i =>
			[trace.strings[trace.marks.name[i]], whose(trace.threads[trace.marks.thread[i]]), time(trace.marks.time[i]), length(trace.marks.duration[i]),
				trace.marks.type[i] === 5 ? (trace.marks.value[i] === 0 ? "passed" : trace.marks.value[i] === 77 ? "skipped" : "failed") : ""]), inOrder);
		table("Events", trace.events.count, ["event", "thread", "#time", "#duration", "fields"], 2, ({ from, to }) => this.listRows(trace.events, from, to, i =>
			[trace.strings[trace.events.name[i]], whose(trace.threads[trace.events.thread[i]]), time(trace.events.time[i]), length(trace.events.duration[i]), trace.strings[trace.events.text[i]]]), inOrder);
		table("Counters", trace.series.length, ["counter", "provider", "#sum", "#average", "#least", "#most", "#values"], 2, this.counterRows);
		table("About", trace.facts.size, ["fact", "value"], 0, () => [...trace.facts]);
		return list;
	}
	listRows(list, from, to, make) {
		const rows = [];
		for (let i = 0; i < list.count; i++)
			if (list.time[i] <= to && list.time[i] + list.duration[i] >= from)
				rows.push(make(i));
		return rows;
	}
	pathRows({ from, to }) {
		const { path, strings, threads } = this.trace, sums = new Map();
		for (let i = 0; i < path.count; i++) {
			const part = Math.min(to, path.time[i] + path.duration[i]) - Math.max(from, path.time[i]);
			if (part <= 0)
				continue;
			const key = path.name[i] + "/" + path.thread[i], row = sums.get(key) || sums.set(key, [strings[path.name[i]], threads[path.thread[i]].name, 0, 0, 0, 0]).get(key);
			row[2] += part;
			row[4]++;
			row[5] = Math.max(row[5], part);
		}
		return [...sums.values()].map(([name, thread, sum, , pieces, longest]) => [name, thread, [sum, duration(sum)], 100 * sum / (to - from), pieces, [longest, duration(longest)]]);
	}
	waitRows({ from, to }) {
		const { trace } = this, sums = new Map();
		for (const thread of trace.shown)
			for (let i = trace.find(thread, from); i < thread.high && trace.startOf(i) < to; i++) {
				if (!trace.isWait(i))
					continue;
				const waker = trace.wakerOf(thread, i), part = Math.min(to, trace.endOf(thread, i)) - Math.max(from, trace.startOf(i));
				const own = trace.what[i] ? this.ownFunction(trace.what[i]) : "", by = waker ? (waker.thread ? waker.thread.name : "an interrupt") : "";
				const key = thread.index + "/" + trace.detail[i] + "/" + own + "/" + by;
				const row = sums.get(key) || sums.set(key, [thread.name, trace.reason(i), own, by, 0, 0, 0]).get(key);
				row[4]++;
				row[5] += part;
				row[6] = Math.max(row[6], part);
			}
		return [...sums.values()].map(row => [...row.slice(0, 5), [row[5], duration(row[5])], [row[6], duration(row[6])]]);
	}
	// The innermost function that is not of the kernel or of a library of the system.
	ownFunction(stack) {
		const { trace } = this;
		let first = "";
		for (; stack; stack = trace.caller[stack]) {
			const frame = trace.frame[stack], module = trace.strings[trace.frames.module[frame]], name = trace.functions[frame];
			first ||= name;
			if (trace.frames.kind[frame] !== 1 && !/(^|\/)(libc|libpthread|ld-|libstdc|libm)[^/]*\.so/.test(module))
				return name;
		}
		return first;
	}
	cpuRows({ from, to }) {
		const sums = new Map();
		for (const cpu of this.trace.cpus())
			for (let i = 0; i < cpu.start.length; i++) {
				const part = Math.min(to, cpu.end[i]) - Math.max(from, cpu.start[i]);
				if (part <= 0)
					continue;
				const key = cpu.number + "/" + cpu.thread[i], row = sums.get(key) || sums.set(key, ["CPU " + cpu.number, this.trace.threads[cpu.thread[i]].name, 0, 0]).get(key);
				row[2] += part;
				row[3]++;
			}
		return [...sums.values()].map(([cpu, task, sum, count]) => [cpu, task, [sum, duration(sum)], count]);
	}
	counterRows({ from, to }) {
		return this.trace.series.map(series => {
			let sum = 0, least = Infinity, most = -Infinity, count = 0;
			for (let i = 0; i < series.time.length; i++)
				if (series.time[i] >= from && series.time[i] <= to) {
					sum += series.value[i];
					least = Math.min(least, series.value[i]);
					most = Math.max(most, series.value[i]);
					count++;
				}
			return [series.name + (series.unit ? ` (${series.unit})` : ""), series.provider, sum, count ? sum / count : 0, count ? least : 0, count ? most : 0, count];
		});
	}

	// ---- one state ----

	explain() {
		const { trace, timeline } = this, { picked } = timeline;
		if (!picked)
			return this.details.replaceChildren();
		const { thread, state } = picked, parts = [element("h3", {}, `${thread.name} (${thread.tid})`)];
		const line = (words, stack) => parts.push(element("p", {}, words), stack ? element("pre", { class: "stack" }, trace.stackNames(stack).join("\n")) : null);
		timeline.stateWords(thread, state).slice(1, 3).forEach(words => words && line(words));
		if (trace.isWait(state) && trace.what[state])
			line("It waited in:", trace.what[state]);
		const links = trace.chain(thread, state);
		if (links.length > 1) {
			parts.push(element("h4", {}, "Why until here"), element("ol", { class: "chain" }, ...links.map(link => element("li", {},
				element("button", { type: "button", onclick: () => timeline.pick(link.thread, link.state) }, link.thread.name), ` ${timeline.stateWords(link.thread, link.state)[1]}`,
				link !== links[0] && trace.isWait(link.state) && trace.what[link.state] ? element("pre", { class: "stack" }, trace.stackNames(trace.what[link.state]).slice(0, 6).join("\n")) : null))));
		}
		const near = this.stackAround(thread, state);
		if (near)
			line("Sampled while it ran:", near);
		this.details.replaceChildren(...parts.filter(part => part));
	}
	// The heaviest sample of a running state.
	stackAround(thread, state) {
		const { samples, kinds } = this.trace;
		if ((this.trace.kind[state] & KIND) !== RUNS)
			return 0;
		const end = this.trace.endOf(thread, state);
		for (let i = 0; i < samples.count; i++)
			if (samples.thread[i] === thread.index && samples.time[i] >= this.trace.startOf(state) && samples.time[i] <= end && !kinds[samples.kind[i]].flags
				&& kinds[samples.kind[i]].name !== "off-cpu" && kinds[samples.kind[i]].name !== "critical path")
				return samples.stack[i];
		return 0;
	}
}
