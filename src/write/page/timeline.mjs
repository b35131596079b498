// The time line: the critical path, marks, threads, CPUs and counters on one canvas.
import { CATEGORIES, KIND, RUNS, READY, STATES, LOST, lowerBound } from "./trace.mjs";
import { legend } from "./legend.mjs";
import { colour, context, cut, digits, duration, element, hue, isDark, say, tooltip } from "./ground.mjs";

const ROW = 22, RULER = 24;
// How wide the names at the left are; graphs below a time line use it, too, so that times are below each other.
export const gutterOf = width => width < 600 ? 96 : 190;
const COLOURS = ["runs", "ready", "lock", "disk", "waits", "sleeps", "ended"];

export class Timeline {
	// `changed(what)`: "view", "selection" or "state".
	constructor(trace, changed) {
		this.trace = trace;
		this.changed = changed;
		this.low = 0; // the axis; other files of the page may make it longer
		this.high = trace.last;
		this.view = { from: 0, to: trace.last };
		this.range = null;
		this.picked = null;
		this.scroll = 0;
		this.row = -1;
		this.closed = new Set();
		this.canvas = element("canvas", { tabindex: 0, role: "application", "aria-label": "Time line. W and S or plus and minus zoom, A and D or "
			+ "left and right move, up and down choose a row, Enter shows its state, Escape ends the selection." });
		this.legend = element("p", { class: "legend", role: "group", "aria-label": "Legend" });
		this.about = element("span", { class: "soft about" });
		this.element = element("div", { class: "timeline" }, element("div", { class: "bar" }, this.legend), this.canvas);
		this.listen();
		this.makeRows();
		setTimeout(() => { this.later = true; this.makeRows(); }); // what takes longer comes after the first picture
		new ResizeObserver(() => this.redraw()).observe(this.canvas);
	}

	// What another time line of the same recording shows.
	take({ view, range, scroll, closed, first }) {
		Object.assign(this, { view, range, scroll, closed, first });
		this.makeRows();
	}

	// ---- rows ----

	makeRows() {
		const { trace, closed } = this, rows = [];
		if (trace.path.count)
			rows.push({ type: "path", name: "critical path", height: ROW + 4 });
		this.markRows().forEach((marks, i) => rows.push({ type: "marks", name: i ? "" : "marks and cases", marks }));
		const group = (name, count, make) => {
			if (!count)
				return;
			rows.push({ type: "group", name: `${name} (${count})`, key: name });
			if (!closed.has(name))
				make();
		};
		let pid = null;
		const processes = new Set(trace.shown.map(t => t.pid)).size;
		group("threads", trace.shown.length, () => {
			for (const thread of trace.shown.filter(t => legend.has(t.name)))
				rows.push({ type: "thread", thread, name: thread.name === thread.process || processes < 2 ? thread.name
					: `${thread.name} · ${thread.process}`, id: thread.tid });
		});
		const kinds = this.later && !trace.shown.length ? trace.eventKinds() : [];
		group("events", kinds.length, () => kinds.forEach(({ name, times }) => legend.has(name) && rows.push({ type: "ticks", times, name: name.split("/").pop(), what: "events" })));
		group("samples", trace.sampled.length, () => trace.sampled.forEach(({ thread, times }) => legend.has(thread.name) && rows.push({ type: "ticks", times, name: thread.name, id: thread.tid || "" })));
		if (closed.size === 0 && this.first === undefined) {
			this.first = true;
			if (trace.shown.length > 12)
				closed.add("CPUs");
		}
		const cpus = this.later && trace.kind.length < 2e6 ? trace.cpus() : [];
		group("CPUs", cpus.length, () => cpus.forEach(cpu => rows.push({ type: "cpu", cpu, name: `CPU ${cpu.number}` })));
		const counters = this.counterRows();
		group("counters", counters.length, () => rows.push(...counters));
		const states = trace.shown.length || trace.path.count ? CATEGORIES.slice(0, 6) : [];
		legend.fill(this.legend, [...states.map((name, i) => legend.button(name, element("i", { class: COLOURS[i] }))), legend.all()]);
		if (trace.lost.count)
			rows.push({ type: "lost", name: "lost events" });
		let top = 0;
		for (const row of rows) {
			row.top = top;
			row.height ??= ROW;
			top += row.height;
		}
		this.rows = rows;
		this.total = top;
		this.redraw();
	}
	// A row for each counter, with a curve for each of its CPUs.
	counterRows() {
		const events = new Map();
		for (const series of this.trace.series.filter(one => legend.has(one.event))) {
			const key = series.cpu ? `${series.provider}/${series.event}` : series;
			(events.get(key) || events.set(key, []).get(key)).push(series);
		}
		return [...events.values()].map(list => ({ type: "counter", list: list.sort((a, b) => a.cpu - b.cpu), height: list.length > 1 ? 48 : 36,
			name: list.length > 1 ? list[0].event : list[0].name, id: list.length > 1 ? `${list.length} CPUs` : list[0].unit }));
	}
	// Marks that overlap are in rows below each other.
	markRows() {
		const { marks } = this.trace, rows = [], ends = [];
		const order = Array.from({ length: marks.count }, (_, i) => i).sort((a, b) => marks.time[a] - marks.time[b] || marks.duration[b] - marks.duration[a]);
		for (const i of order) {
			let row = ends.findIndex(end => end <= marks.time[i]);
			if (row < 0)
				row = ends.length < 12 ? ends.length : 11;
			ends[row] = marks.time[i] + Math.max(marks.duration[i], 1);
			(rows[row] ??= []).push(i);
		}
		return rows;
	}

	// ---- drawing ----

	redraw() {
		if (this.waiting)
			return;
		this.waiting = true;
		requestAnimationFrame(() => {
			this.waiting = false;
			this.draw();
		});
	}
	// Asked once for each frame: the browser would lay out the page again.
	get width() {
		return this.known ??= this.canvas.clientWidth;
	}
	get plot() {
		return Math.max(50, this.width - this.gutter);
	}
	get gutter() {
		return gutterOf(this.width);
	}
	get height() {
		return RULER + Math.min(this.total, Math.max(200, Math.round(innerHeight * 0.6)));
	}
	x(time) {
		return this.gutter + (time - this.view.from) / (this.view.to - this.view.from) * this.plot;
	}
	time(x) {
		return this.view.from + (x - this.gutter) / this.plot * (this.view.to - this.view.from);
	}
	draw() {
		const begun = performance.now();
		this.known = null;
		if (!this.width)
			return;
		const { width, height } = this, draw = this.pen = context(this.canvas, width, height);
		this.colours = COLOURS.map(colour);
		this.on = CATEGORIES.map(name => legend.has(name));
		this.ink = colour("ink");
		this.faint = colour("line");
		draw.font = "12px system-ui, sans-serif";
		draw.textBaseline = "middle";
		draw.fillStyle = colour("panel");
		draw.fillRect(0, 0, width, height);
		this.scroll = Math.max(0, Math.min(this.scroll, this.total - (height - RULER)));
		draw.save();
		draw.beginPath();
		draw.rect(0, RULER, width, height - RULER);
		draw.clip();
		this.lines(height);
		for (const row of this.rows) {
			const y = RULER + row.top - this.scroll;
			if (y > height || y + row.height < RULER)
				continue;
			draw.save();
			draw.beginPath();
			draw.rect(this.gutter, y, this.plot, row.height);
			draw.clip();
			this[row.type](row, y);
			draw.restore();
			this.label(row, y);
		}
		this.arrows();
		this.overlay(height);
		draw.restore();
		this.ruler();
		this.frame = performance.now() - begun;
	}
	label(row, y) {
		const draw = this.pen, bold = row.type === "group";
		if (row === this.rows[this.row]) {
			draw.fillStyle = colour("focus");
			draw.fillRect(0, y, 3, row.height);
		}
		draw.fillStyle = bold ? colour("soft") : this.ink;
		const id = row.id ? String(row.id) : "", idWidth = id && this.gutter > 150 ? draw.measureText(id).width + 6 : 0;
		const text = bold ? `${this.closed.has(row.key) ? "▸" : "▾"} ${row.name}` : row.name;
		draw.fillText(cut(draw, text, this.gutter - 14 - idWidth), bold ? 4 : 8, y + row.height / 2 + 1);
		if (idWidth) {
			draw.fillStyle = colour("soft");
			draw.fillText(id, this.gutter - idWidth - 2, y + row.height / 2 + 1);
		}
	}
	// The times that have a line, and their unit.
	steps() {
		const span = this.view.to - this.view.from, times = [];
		let step = 10 ** Math.floor(Math.log10(span / this.plot * 110));
		step *= [1, 2, 5, 10].find(n => step * n / span * this.plot >= 80) || 10;
		for (let time = Math.ceil(this.view.from / step) * step; time <= this.view.to; time += step)
			times.push(time);
		return { times, scale: this.view.to >= 2e9 && step >= 1e8 ? [1e9, "s"] : step >= 1e6 ? [1e6, "ms"] : step >= 1e3 ? [1e3, "µs"] : [1, "ns"] };
	}
	lines(height) {
		const draw = this.pen;
		draw.strokeStyle = colour("hair");
		draw.beginPath();
		for (const time of this.steps().times) {
			const x = Math.round(this.x(time)) + 0.5;
			draw.moveTo(x, RULER - 4);
			draw.lineTo(x, height);
		}
		draw.stroke();
	}
	ruler() {
		const draw = this.pen, { times, scale } = this.steps();
		draw.fillStyle = colour("panel");
		draw.fillRect(0, 0, this.width, RULER);
		draw.fillStyle = colour("soft");
		for (const time of times) {
			const text = `${digits(+(time / scale[0]).toFixed(3))} ${scale[1]}`, x = this.x(time), wide = draw.measureText(text).width;
			if (x - wide / 2 > this.gutter - 12)
				draw.fillText(text, Math.min(x - wide / 2, this.width - wide), RULER / 2);
		}
		draw.fillText(cut(draw, duration(this.view.to - this.view.from), this.gutter - 12), 4, RULER / 2);
	}
	box(x, y, wide, high, text, ink) {
		const draw = this.pen;
		draw.fillRect(x, y, Math.max(wide, 0.75), high);
		if (wide > 26 && text) {
			const left = Math.max(x, this.gutter);
			draw.fillStyle = ink || colour("dark");
			draw.fillText(cut(draw, text, Math.min(x + wide, this.width) - left - 6), left + 3, y + high / 2 + 1);
		}
	}
	path(row, y) {
		const { path, threads, strings } = this.trace, draw = this.pen;
		let low = lowerBound(path.time, this.view.from);
		for (let i = Math.max(0, low - 1); i < path.count && path.time[i] < this.view.to; i++) {
			const x = this.x(path.time[i]), name = strings[path.name[i]], category = this.pathCategory(name.split(":")[0]);
			draw.fillStyle = this.colours[category];
			if (this.on[category])
				this.box(x, y + 2, this.x(path.time[i] + path.duration[i]) - x - 0.5, row.height - 4, `${threads[path.thread[i]].name}: ${name}`, category >= 4 && isDark() && this.ink);
		}
	}
	pathCategory(reason) {
		const known = this.trace.reasons.indexOf(reason);
		return reason === "cpu" ? 0 : reason === "ready" ? 1 : known < 0 ? 4 : this.trace.categoryOfReason[known];
	}
	marks(row, y) {
		const { marks, strings } = this.trace, draw = this.pen;
		for (const i of row.marks) {
			const x = this.x(marks.time[i]), wide = this.x(marks.time[i] + marks.duration[i]) - x;
			if (x + wide < this.gutter || x > this.width)
				continue;
			const failed = marks.type[i] === 5 && marks.value[i] && marks.value[i] !== 77;
			draw.fillStyle = failed ? colour("bad") : `hsl(${hue(strings[marks.name[i]])} 45% ${isDark() ? 55 : 75}%)`;
			this.box(x, y + 2, marks.duration[i] ? wide - 0.5 : 2, row.height - 4, strings[marks.name[i]], failed ? "#fff" : "");
		}
	}
	group(row, y) {
		this.pen.fillStyle = this.faint;
		this.pen.fillRect(this.gutter, y + row.height / 2, this.plot, 1);
	}
	// What most of a pixel's time was decides its colour.
	thread(row, y) {
		const { trace, view, pen: draw, colours } = this, { thread } = row, high = row.height - 4;
		const low = trace.find(thread, view.from), end = Math.min(thread.high, trace.find(thread, view.to) + 1);
		if (end - low <= this.plot * 2) {
			for (let i = low; i < end; i++)
				this.state(i, thread, y + 2, high);
		} else {
			const per = (view.to - view.from) / this.plot, n = CATEGORIES.length;
			let a = new Float64Array(n), b = new Float64Array(n);
			trace.before(thread, view.from, low, a);
			let state = low, run = -1, begin = 0;
			for (let pixel = 0; pixel <= this.plot; pixel++) {
				const to = view.from + (pixel + 1) * per;
				let most = -1;
				if (pixel < this.plot) {
					state = this.seek(thread, state, to);
					trace.before(thread, to, state, b);
					let largest = 0;
					for (let c = 0; c < n; c++)
						if (b[c] - a[c] > largest) {
							largest = b[c] - a[c];
							most = c;
						}
					[a, b] = [b, a];
				}
				if (most !== run) {
					if (run >= 0 && run < 6 && this.on[run]) {
						draw.fillStyle = colours[run];
						const thin = run >= 4;
						draw.fillRect(this.gutter + begin, y + 2 + (thin ? high / 2 - 1.5 : 0), pixel - begin, thin ? 3 : high);
					}
					run = most;
					begin = pixel;
				}
			}
		}
		if (this.picked?.thread === thread) {
			const x = this.x(trace.startOf(this.picked.state));
			draw.strokeStyle = colour("focus");
			draw.lineWidth = 2;
			draw.strokeRect(x, y + 1, Math.max(2, this.x(trace.endOf(thread, this.picked.state)) - x), row.height - 2);
			draw.lineWidth = 1;
		}
	}
	// The state at a later time: near the last one, or by halving.
	seek(thread, state, time) {
		const { trace } = this;
		for (let step = 0; step < 16; step++, state++)
			if (state >= thread.high || trace.endOf(thread, state) > time)
				return Math.min(state, thread.high - 1);
		let low = state, high = thread.high - 1;
		while (low < high) {
			const middle = (low + high) >> 1;
			if (trace.endOf(thread, middle) <= time)
				low = middle + 1;
			else
				high = middle;
		}
		return low;
	}
	state(i, thread, y, high) {
		const { trace, pen: draw } = this, category = trace.category(i);
		if (category === 6 || !this.on[category])
			return;
		const x = Math.max(this.x(trace.startOf(i)), this.gutter - 1), wide = this.x(trace.endOf(thread, i)) - x;
		draw.fillStyle = this.colours[category];
		if (category >= 4)
			draw.fillRect(x, y + high / 2 - 1.5, Math.max(wide, 0.5), 3);
		else
			draw.fillRect(x, y, Math.max(wide, 0.75), high);
		if (trace.kind[i] & LOST) {
			draw.fillStyle = colour("bad");
			draw.fillRect(x + wide - 1, y, 2, high);
		}
		if (wide < 40)
			return;
		const text = category === 0 ? `CPU ${trace.what[i]}` : category === 1 ? "ready" : trace.reason(i);
		const left = Math.max(x, this.gutter) + 3, room = Math.min(x + wide, this.width) - left - 3, words = cut(draw, text, room);
		if (category >= 4 && words) {
			draw.fillStyle = colour("panel");
			draw.fillRect(left - 2, y, draw.measureText(words).width + 4, high);
		}
		draw.fillStyle = category >= 4 ? colour("soft") : colour("dark");
		draw.fillText(words, left, y + high / 2 + 1);
	}
	cpu(row, y) {
		const { cpu } = row, { pen: draw, trace, view } = this, dark = isDark();
		let i = lowerBound(cpu.end, view.from), last = -1, busy = 0;
		const per = (view.to - view.from) / this.plot;
		for (; i < cpu.start.length && cpu.start[i] < view.to; i++) {
			const thread = trace.threads[cpu.thread[i]], x = this.x(cpu.start[i]), wide = (cpu.end[i] - cpu.start[i]) / per;
			if (Math.floor(x) === last && wide < 1) {
				i = Math.max(i, lowerBound(cpu.end, this.time(last + 1)) - 1);
				continue;
			}
			last = Math.floor(x);
			const outside = thread.tid >= 4194304 || thread.outside;
			draw.fillStyle = outside ? this.faint : `hsl(${hue(thread.name)} 50% ${dark ? 50 : 70}%)`;
			this.box(x, y + 2, wide, row.height - 4, thread.name, outside ? colour("soft") : "");
		}
	}
	counter(row, y) {
		const { pen: draw } = this, high = row.height - 8;
		if (row.most === undefined) {
			row.most = Math.max(...row.list.map(({ value }) => value.reduce((a, b) => Math.max(a, b), -Infinity)));
			row.least = Math.min(0, ...row.list.map(({ value }) => value.reduce((a, b) => Math.min(a, b), Infinity)));
		}
		const at = value => y + 4 + high - (value - row.least) / (row.most - row.least || 1) * high;
		draw.strokeStyle = this.faint;
		draw.strokeRect(this.gutter, Math.round(at(Math.max(row.least, 0))) + 0.5, this.plot, 0);
		row.list.forEach((series, i) => {
			draw.strokeStyle = this.curveColour(row, i);
			draw.lineWidth = 1.5;
			this.curve(series, at);
			draw.lineWidth = 1;
		});
	}
	curveColour({ list }, i) {
		return `hsl(${(hue(list[0].event) + 137 * i) % 360} 60% ${isDark() ? 65 : 42}%)`;
	}
	curve({ time, value }, at) {
		const { pen: draw, view } = this, low = Math.max(0, lowerBound(time, view.from) - 1), end = Math.min(time.length, lowerBound(time, view.to) + 1);
		const step = Math.max(1, Math.floor((end - low) / this.plot / 2));
		draw.beginPath();
		for (let i = low; i < end; i += step) {
			let least = value[i], most = least;
			for (let j = i + 1; j < Math.min(i + step, end); j++) {
				least = Math.min(least, value[j]);
				most = Math.max(most, value[j]);
			}
			const x = this.x(time[i]);
			i === low ? draw.moveTo(x, at(least)) : draw.lineTo(x, at(least));
			if (most > least)
				draw.lineTo(x, at(most));
		}
		draw.stroke();
	}
	// How many samples are in each pixel.
	ticks(row, y) {
		const { times } = row, { pen: draw, view } = this, high = row.height - 4;
		let i = lowerBound(times, view.from), counts = new Uint32Array(Math.ceil(this.plot) + 1), most = 1;
		for (; i < times.length && times[i] <= view.to; i++)
			most = Math.max(most, ++counts[Math.floor(this.x(times[i]) - this.gutter)]);
		draw.fillStyle = this.colours[0];
		counts.forEach((count, x) => count && draw.fillRect(this.gutter + x, y + 2 + high * (1 - count / most), 1, high * count / most));
	}
	lost(row, y) {
		this.pen.fillStyle = colour("bad");
		for (let i = 0; i < this.trace.lost.count; i++)
			this.pen.fillRect(this.x(this.trace.lost.time[i]) - 1, y + 2, 3, row.height - 4);
	}
	rowOf(thread) {
		return this.rows.find(row => row.type === "thread" && row.thread === thread);
	}
	// From the waker to the woken thread: of the state that was picked, or of all if there are few.
	arrows() {
		const { trace, view, pen: draw } = this;
		const arrow = (thread, state, strong) => {
			const waker = trace.what[state] ? trace.threads[trace.what[state] - 1] : null, from = waker && this.rowOf(waker), to = this.rowOf(thread);
			if (!from || !to || from === to)
				return;
			const x = this.x(trace.startOf(state)), y = RULER - this.scroll, down = to.top > from.top;
			const begin = y + from.top + (down ? ROW - 4 : 4), end = y + to.top + (down ? 3 : ROW - 3), tip = down ? -5 : 5;
			draw.globalAlpha = strong ? 1 : 0.55;
			draw.strokeStyle = draw.fillStyle = strong ? colour("focus") : this.ink;
			draw.beginPath();
			draw.moveTo(x, begin);
			draw.lineTo(x, end);
			draw.stroke();
			draw.beginPath();
			draw.moveTo(x, end);
			draw.lineTo(x - 3, end + tip);
			draw.lineTo(x + 3, end + tip);
			draw.fill();
			draw.globalAlpha = 1;
		};
		const few = [];
		for (const row of this.rows) {
			if (row.type !== "thread" || row.top - this.scroll > this.height || row.top + ROW < this.scroll)
				continue;
			const low = trace.find(row.thread, view.from), high = Math.min(row.thread.high, trace.find(row.thread, view.to) + 1);
			if (few.length + high - low > 600) {
				few.length = 0;
				break;
			}
			for (let i = low; i < high; i++)
				if ((trace.kind[i] & KIND) === READY && trace.what[i])
					few.push([row.thread, i]);
		}
		if (few.length < 120)
			few.forEach(([thread, state]) => arrow(thread, state, false));
		if (this.picked)
			for (const { thread, state } of trace.chain(this.picked.thread, this.picked.state))
				if (trace.isWait(state) && state + 1 < thread.high)
					arrow(thread, state + 1, true);
				else if ((trace.kind[state] & KIND) === READY)
					arrow(thread, state, true);
	}
	overlay(height) {
		const draw = this.pen;
		if (this.range) {
			const a = Math.max(this.x(this.range.from), this.gutter), b = Math.min(this.x(this.range.to), this.width);
			draw.fillStyle = colour("focus");
			draw.globalAlpha = 0.14;
			draw.fillRect(a, RULER, b - a, height);
			draw.globalAlpha = 1;
			draw.fillRect(a, RULER, 1, height);
			draw.fillRect(b - 1, RULER, 1, height);
			const text = duration(this.range.to - this.range.from);
			if (b - a > 60)
				draw.fillText(text, (a + b) / 2 - draw.measureText(text).width / 2, RULER + 8);
		}
	}

	// ---- moving ----

	zoom(factor, at = (this.view.from + this.view.to) / 2) {
		const span = Math.min((this.high - this.low) * 1.02 + 1, Math.max(100, (this.view.to - this.view.from) * factor));
		const share = (at - this.view.from) / (this.view.to - this.view.from);
		this.show(at - span * share, at + span * (1 - share));
	}
	pan(share) {
		const by = (this.view.to - this.view.from) * share;
		this.show(this.view.from + by, this.view.to + by);
	}
	show(from, to) {
		const span = to - from, { low, high } = this;
		from = Math.max(low - span * 0.02, Math.min(from, Math.max(high + (high - low) * 0.02 - span, low)));
		this.view = { from, to: from + span };
		this.redraw();
		this.changed("view");
	}
	select(from, to) {
		this.range = from === null ? null : { from: Math.max(0, Math.min(from, to)), to: Math.min(this.trace.last, Math.max(from, to)) };
		this.redraw();
		this.changed("selection");
	}
	pick(thread, state) {
		this.picked = thread ? { thread, state } : null;
		if (thread) {
			const row = this.rowOf(thread), bottom = this.height - RULER;
			if (row && (row.top < this.scroll || row.top + ROW > this.scroll + bottom))
				this.scroll = row.top - bottom / 2;
			const start = this.trace.startOf(state), end = this.trace.endOf(thread, state);
			if (end < this.view.from || start > this.view.to)
				this.show(start - (end - start), end + (end - start));
		}
		this.redraw();
		this.changed("state");
	}

	// ---- pointer and keys ----

	at(event) {
		const box = this.canvas.getBoundingClientRect(), x = event.clientX - box.left, y = event.clientY - box.top - RULER + this.scroll;
		const row = this.rows.findIndex(r => y >= r.top && y < r.top + r.height);
		return { x, row, time: this.time(x), inside: x >= this.gutter, ruler: event.clientY - box.top < RULER };
	}
	listen() {
		const { canvas } = this;
		let down = null;
		canvas.addEventListener("pointerdown", event => {
			if (event.button)
				return;
			down = { ...this.at(event), moved: false };
			canvas.setPointerCapture(event.pointerId);
		});
		canvas.addEventListener("pointermove", event => {
			const now = this.at(event);
			if (!down) {
				tooltip(event, now.inside ? this.words(this.rows[now.row], now.time) : null);
				return;
			}
			if (down.inside && (down.moved ||= Math.abs(now.x - down.x) > 4)) {
				tooltip(event, null);
				this.range = { from: Math.max(0, Math.min(down.time, now.time)), to: Math.min(this.trace.last, Math.max(down.time, now.time)) };
				this.redraw();
			}
		});
		canvas.addEventListener("pointerup", event => {
			if (!down)
				return;
			if (down.moved)
				this.select(this.range.from, this.range.to);
			else
				this.click(down);
			down = null;
		});
		canvas.addEventListener("pointerleave", event => tooltip(event, null));
		canvas.addEventListener("dblclick", () => this.range && this.show(this.range.from, this.range.to));
		canvas.addEventListener("wheel", event => {
			if (event.ctrlKey || event.metaKey) {
				this.zoom(event.deltaY > 0 ? 1.2 : 1 / 1.2, this.at(event).time);
			} else if (event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY)) {
				this.pan((event.deltaX || event.deltaY) / this.plot);
			} else {
				const before = this.scroll;
				this.scroll += event.deltaY;
				this.scroll = Math.max(0, Math.min(this.scroll, this.total - (this.height - RULER)));
				if (before === this.scroll)
					return; // the page scrolls on
				this.redraw();
			}
			event.preventDefault();
		}, { passive: false });
		canvas.addEventListener("keydown", event => this.key(event));
	}
	click({ row, time, inside, ruler }) {
		const hit = this.rows[row];
		this.row = row;
		if (ruler)
			return this.select(null);
		if (hit?.type === "group") {
			this.closed.has(hit.key) ? this.closed.delete(hit.key) : this.closed.add(hit.key);
			return this.makeRows();
		}
		if (this.range && (!hit || hit.type !== "thread"))
			this.select(null);
		if (!hit || !inside)
			return this.redraw();
		if (hit.type === "thread") {
			const state = this.trace.find(hit.thread, time);
			const real = state < hit.thread.high && this.trace.startOf(state) <= time;
			this.pick(real ? hit.thread : null, state);
		} else if (hit.type === "path") {
			const { path, threads } = this.trace, i = lowerBound(path.time, time + 1) - 1;
			if (i >= 0)
				this.pick(threads[path.thread[i]], Math.min(this.trace.find(threads[path.thread[i]], Math.max(time, path.time[i])), threads[path.thread[i]].high - 1));
		} else if (hit.type === "marks") {
			const { marks } = this.trace, i = hit.marks.find(m => marks.time[m] <= time && marks.time[m] + marks.duration[m] >= time);
			if (i !== undefined && marks.duration[i])
				this.select(marks.time[i], marks.time[i] + marks.duration[i]);
		}
	}
	key(event) {
		if (event.ctrlKey || event.altKey || event.metaKey)
			return;
		const middle = (this.view.from + this.view.to) / 2;
		const keys = {
			w: () => this.zoom(1 / 1.4), "+": () => this.zoom(1 / 1.4), "=": () => this.zoom(1 / 1.4), s: () => this.zoom(1.4), "-": () => this.zoom(1.4),
			a: () => this.pan(-0.15), d: () => this.pan(0.15), ArrowLeft: () => this.pan(-0.15), ArrowRight: () => this.pan(0.15),
			ArrowDown: () => this.moveRow(1), ArrowUp: () => this.moveRow(-1), "0": () => this.show(this.low, this.high), Home: () => this.show(this.low, this.high),
			f: () => this.range && this.show(this.range.from, this.range.to), Escape: () => { this.select(null); this.pick(null); },
			Enter: () => this.click({ row: this.row, time: this.range ? this.range.from : middle, inside: true }),
			m: () => this.picked && this.select(this.trace.startOf(this.picked.state), this.trace.endOf(this.picked.thread, this.picked.state)),
			"]": () => this.step(1), "[": () => this.step(-1),
		};
		const act = keys[event.key] || keys[event.key.toLowerCase()];
		if (act) {
			act();
			event.preventDefault();
		}
	}
	step(by) {
		const { picked } = this, next = picked && picked.state + by;
		if (picked && next >= picked.thread.low && next < picked.thread.high)
			this.pick(picked.thread, next);
	}
	moveRow(by) {
		this.row = Math.max(0, Math.min(this.rows.length - 1, this.row + by));
		const row = this.rows[this.row], bottom = this.height - RULER;
		if (row.top < this.scroll)
			this.scroll = row.top;
		else if (row.top + row.height > this.scroll + bottom)
			this.scroll = row.top + row.height - bottom;
		say([row.name, ...(this.words(row, (this.view.from + this.view.to) / 2) || [])].join(", "));
		this.redraw();
	}

	// ---- what is under the pointer ----

	words(row, time) {
		const { trace } = this;
		if (!row)
			return null;
		if (row.type === "thread") {
			const i = trace.find(row.thread, time);
			return i < row.thread.high && trace.startOf(i) <= time ? this.stateWords(row.thread, i) : null;
		}
		if (row.type === "path") {
			const i = lowerBound(trace.path.time, time + 1) - 1;
			return i < 0 || time > trace.path.time[i] + trace.path.duration[i] ? null
				: [trace.strings[trace.path.name[i]], trace.threads[trace.path.thread[i]].name, duration(trace.path.duration[i]) + " of the critical path"];
		}
		if (row.type === "marks") {
			const { marks } = trace, near = 3 * (this.view.to - this.view.from) / this.plot;
			const i = row.marks.find(m => marks.time[m] - near <= time && marks.time[m] + marks.duration[m] + near >= time);
			return i === undefined ? null : [trace.strings[marks.name[i]], marks.duration[i] ? duration(marks.duration[i]) : "at " + duration(marks.time[i]),
				marks.type[i] === 5 ? (marks.value[i] === 0 ? "passed" : marks.value[i] === 77 ? "skipped" : "failed") : ""];
		}
		if (row.type === "cpu") {
			const i = lowerBound(row.cpu.end, time);
			return i >= row.cpu.start.length || row.cpu.start[i] > time ? [row.name, "idle, or not of this test"]
				: [trace.threads[row.cpu.thread[i]].name, row.name, duration(row.cpu.end[i] - row.cpu.start[i])];
		}
		if (row.type === "counter") {
			const values = row.list.map(series => [series, lowerBound(series.time, time + 1) - 1]).filter(([, i]) => i >= 0);
			return values.length ? [row.name, ...values.slice(0, 16).map(([series, i]) => `${row.list.length > 1 ? `CPU ${series.cpu - 1}: ` : ""}${digits(series.value[i])} ${series.unit}`), "at " + duration(time)] : null;
		}
		if (row.type === "ticks") {
			const near = 4 * (this.view.to - this.view.from) / this.plot;
			return [row.name, `${digits(lowerBound(row.times, time + near) - lowerBound(row.times, time - near))} ${row.what || "samples"} near here`];
		}
		if (row.type === "lost")
			{
			let sum = 0;
			trace.lost.counts.forEach(count => sum += count);
			return [`${digits(sum)} events were lost`, [...new Set(Array.from(trace.lost.source, s => trace.strings[s]))].join(", ")];
		}
		return null;
	}
	stateWords(thread, i) {
		const { trace } = this, kind = trace.kind[i] & KIND, waker = trace.wakerOf(thread, i);
		const words = kind === RUNS ? `runs on CPU ${trace.what[i]}` : kind <= 2 ? "ready: no CPU was free" + (kind === 2 ? " (lost it to another task)" : "")
			: trace.isWait(i) ? `waits${trace.reason(i) && trace.reason(i) !== "unknown" ? ": " + trace.reason(i) : ""} (${STATES[kind]})` : "ended";
		const stack = trace.isWait(i) && trace.what[i] ? trace.stackNames(trace.what[i]) : [];
		const woken = kind === READY && trace.what[i] ? "woken by " + trace.threads[trace.what[i] - 1].name
			: waker ? (waker.thread && !(waker.context & 8) ? "woken by " + waker.thread.name : "woken by an interrupt") : "";
		return [`${thread.name} (${thread.tid})`, `${words}, ${duration(trace.endOf(thread, i) - trace.startOf(i))}`, woken, ...stack.slice(0, 8),
			stack.length > 8 ? `… ${stack.length - 8} more` : "", trace.kind[i] & LOST ? "events are missing: the end is not known" : ""];
	}
}
