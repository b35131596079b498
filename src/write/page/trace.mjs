// One recording: threads with their states, samples, marks, counters, the critical path.
import { Columns, Reader, deltas, inflate, varints } from "./columns.mjs";

export const STATES = ["Running", "R", "R+", "S", "D", "T", "t", "X", "Z", "P", "I"];
export const RUNS = 0, READY = 1, PREEMPTED = 2, DEAD = 7, ZOMBIE = 8, LOST = 128, SAMPLED = 64, KIND = 63;

// What is drawn in one colour.
export const CATEGORIES = ["running", "ready, no CPU is free", "waits for a lock", "waits for disk or memory",
	"waits for others", "sleeps", "ended"];
const CHUNK = 64, WORD = 2 ** 32;

// The times at which each CPU changed hands, and which of them is the next run of a thread.
class Turns {
	constructor(columns) {
		const times = columns.get("turns", "time");
		let at = 0;
		const numbers = columns.get("cpus", "number");
		this.cpus = new Map(Array.from(columns.get("cpus", "turns"), (count, i) => [numbers[i], { times: times.subarray(at, at += count), at: 0 }]));
		this.turn = columns.reader("runs", "turn");
		this.known = false;
	}
	rewind() {
		for (const cpu of this.cpus.values())
			cpu.at = 0;
	}
	// Sets `cpu`, and `begin` and `end` if they are known. What was ready since `time` is never before what was asked last.
	next(cpu, time) {
		const turn = this.turn.next(), own = this.cpus.get(cpu), { times } = own;
		this.cpu = cpu;
		this.known = turn > 0;
		if (!turn)
			return;
		let low = own.at, step = 1;
		while (low + step < times.length && times[low + step] < time) {
			low += step;
			step *= 2;
		}
		let high = Math.min(low + step, times.length);
		while (low < high) {
			const middle = (low + high) >> 1;
			if (times[middle] < time)
				low = middle + 1;
			else
				high = middle;
		}
		own.at = low;
		this.begin = times[low + turn - 1];
		this.end = times[low + turn];
	}
}

export class Trace {
	constructor(bytes) {
		const columns = new Columns(bytes);
		this.strings = [""].concat(columns.get("strings", "text"));
		this.reasons = columns.get("reasons", "name");
		this.last = columns.get("trace", "last", Float64Array)[0] || 1;
		this.start = columns.get("trace", "start")[0] || 0;
		this.origin = BigInt(columns.get("trace", "origin")[0] || 0);
		this.leftOut = columns.get("trace", "left", Float64Array)[0];
		this.readThreads(columns);
		this.readStates(columns);
		this.readLists(columns);
		this.readStacks(columns);
		this.order();
	}
	list(columns, set, ...names) {
		const out = { count: columns.rows(set) };
		for (const name of names)
			out[name] = columns.get(set, name, ["time", "duration", "weight", "count"].includes(name) ? Float64Array : Uint32Array);
		return out;
	}
	readThreads(columns) {
		const t = this.list(columns, "threads", "tid", "pid", "name", "outside", "states", "first");
		this.threads = [];
		const named = new Map();
		for (let i = 0, at = 0; i < t.count; i++) {
			const thread = { index: i, tid: t.tid[i], pid: t.pid[i], name: this.strings[t.name[i]] || "?", outside: t.outside[i],
				low: at, high: at += t.states[i], first: t.first[i], path: 0, end: 0 };
			this.threads.push(thread);
			if (thread.tid === thread.pid)
				named.set(thread.pid, thread.name);
		}
		for (const thread of this.threads)
			thread.process = named.get(thread.pid) || thread.name;
	}
	// In one pass over all columns: there may be ten million of them. A run and the state before it have no duration of
	// their own if the run is a turn of its CPU.
	readStates(columns) {
		const count = columns.rows("states"), kind = this.kind = columns.get("states", "kind"), lengths = columns.reader("states", "duration");
		const cpu = columns.reader("states", "cpu"), waker = columns.reader("states", "waker"), context = columns.reader("states", "context");
		const stack = columns.reader("states", "stack"), reason = columns.bytes("states", "reason");
		const Small = this.threads.length < 65535 && columns.rows("stacks") < 65535 ? Uint16Array : Uint32Array; // numbers of CPUs have 16 bits
		const early = this.early = new Uint32Array(count), late = this.late = new (this.last < 2 ** 40 ? Uint8Array : Uint32Array)(count), what = this.what = new Small(count), detail = this.detail = new Uint8Array(count);
		const turns = new Turns(columns);
		let waits = 0;
		for (const thread of this.threads) {
			let time = thread.first, ran = 0;
			turns.rewind();
			for (let i = thread.low; i < thread.high; i++) {
				const now = kind[i] & KIND;
				early[i] = time; // the lower 32 bits, and the upper ones: 5 bytes for most recordings, not 8
				late[i] = time / WORD;
				if (now === RUNS) {
					if (i === thread.low || (kind[i - 1] & KIND) === RUNS)
						turns.next(cpu.next(), time);
					what[i] = turns.cpu;
					ran -= time;
					time = turns.known ? turns.end : time + lengths.next();
					ran += time;
					continue;
				}
				if (i + 1 < thread.high && (kind[i + 1] & KIND) === RUNS)
					turns.next(cpu.next(), time);
				else
					turns.known = false;
				time = turns.known ? turns.begin : time + lengths.next();
				if (now === READY) {
					detail[i] = context.next();
					what[i] = waker.next();
				} else if (now !== PREEMPTED && now !== DEAD && now !== ZOMBIE) {
					detail[i] = reason[waits++];
					what[i] = stack.next();
				}
			}
			thread.end = time;
			thread.ran = ran;
		}
		this.categoryOfReason = columns.get("reasons", "colour");
		this.more = columns.bytes("states", "more").slice();
	}
	readLists(columns) {
		this.samples = this.list(columns, "samples", "time", "thread", "stack", "weight", "kind");
		const kinds = this.list(columns, "kinds", "name", "flags");
		this.kinds = Array.from(kinds.name, (name, i) => ({ name: this.strings[name], flags: kinds.flags[i] }));
		this.marks = this.list(columns, "marks", "time", "duration", "thread", "name", "type");
		this.marks.value = columns.get("marks", "value", Float64Array);
		this.path = this.list(columns, "path", "time", "duration", "thread", "name");
		this.lost = this.list(columns, "lost", "time", "source");
		this.lost.counts = columns.get("lost", "count", Float64Array);
		this.events = this.list(columns, "events", "time", "duration", "thread", "cpu", "name", "text");
		for (let i = 0; i < this.path.count; i++)
			this.threads[this.path.thread[i]].path += this.path.duration[i];
		const s = this.list(columns, "series", "provider", "name", "unit", "cpu", "tid", "adds", "points");
		const time = columns.get("points", "time"), value = columns.get("points", "value", Float64Array);
		this.series = [];
		for (let i = 0, at = 0; i < s.count; i++) {
			const low = at;
			at += s.points[i];
			const whose = s.cpu[i] ? ` CPU ${s.cpu[i] - 1}` : s.tid[i] ? ` ${s.tid[i]}` : "";
			this.series.push({ name: this.strings[s.name[i]] + whose, event: this.strings[s.name[i]], provider: this.strings[s.provider[i]],
				unit: this.strings[s.unit[i]], cpu: s.cpu[i], adds: s.adds[i], time: time.subarray(low, at), value: value.subarray(low, at) });
		}
		const facts = this.list(columns, "facts", "key", "value");
		this.facts = new Map(Array.from(facts.key, (key, i) => [this.strings[key], this.strings[facts.value[i]]]));
	}
	// Stacks whose functions have the same names are one, as in a flame graph: `canon` has its number.
	readStacks(columns) {
		const count = columns.rows("stacks"), caller = columns.get("stacks", "caller"), frame = columns.get("stacks", "frame");
		const f = this.list(columns, "frames", "name", "module", "file", "line", "kind");
		this.frames = f;
		this.functions = Array.from(f.name, name => this.strings[name].replace(/_\[[kjiw]\]$/, ""));
		this.caller = new Uint32Array(count + 1);
		this.frame = new Uint32Array(count + 1);
		this.canon = new Uint32Array(count + 1);
		const known = new Map();
		for (let i = 1; i <= count; i++) {
			this.caller[i] = caller[i - 1];
			this.frame[i] = frame[i - 1] - 1;
			const key = this.canon[this.caller[i]] * 4294967296 + f.name[this.frame[i]];
			let same = known.get(key);
			if (!same)
				known.set(key, same = i);
			this.canon[i] = same;
		}
	}
	// The threads in the order in which they are shown: those on the path, then those that ran most.
	order() {
		this.shown = this.threads.filter(t => t.tid && t.tid < 4194304 && t.high > t.low && (!t.outside || t.path))
			.sort((a, b) => (b.path - a.path) || (b.ran - a.ran) || (a.index - b.index));
		if (!this.shown.length)
			this.shown = this.threads.filter(t => t.high > t.low && t.tid < 4194304);
		// Threads of which only samples are known.
		const { samples } = this, times = new Map();
		for (let i = 0; i < samples.count; i++) {
			const thread = this.threads[samples.thread[i]];
			if (thread.high === thread.low && !this.kinds[samples.kind[i]].flags)
				(times.get(thread) || times.set(thread, []).get(thread)).push(samples.time[i]);
		}
		this.sampled = [...times].map(([thread, list]) => ({ thread, times: Float64Array.from(list).sort() })).sort((a, b) => b.times.length - a.times.length);
	}
	// When the most frequent events were; for recordings without threads.
	eventKinds() {
		const { events, strings } = this, kinds = new Map();
		for (let i = 0; i < events.count; i++)
			(kinds.get(events.name[i]) || kinds.set(events.name[i], []).get(events.name[i])).push(events.time[i]);
		return [...kinds].sort((a, b) => b[1].length - a[1].length).slice(0, 12).map(([name, times]) => ({ name: strings[name].split(" ").pop(), times: Float64Array.from(times).sort() }));
	}
	startOf(state) {
		return this.late[state] * WORD + this.early[state];
	}
	endOf(thread, state) {
		return state + 1 < thread.high ? this.startOf(state + 1) : thread.end;
	}
	isWait(state) {
		const kind = this.kind[state] & KIND;
		return kind > PREEMPTED && kind !== DEAD && kind !== ZOMBIE;
	}
	category(state) {
		const kind = this.kind[state] & KIND;
		if (kind === RUNS)
			return 0;
		if (kind <= PREEMPTED)
			return 1;
		if (kind === DEAD || kind === ZOMBIE)
			return 6;
		const by = this.categoryOfReason[this.detail[state]] ?? 4;
		return by === 4 && kind === 4 ? 3 : by;
	}
	// The first state of a thread that ends after a time.
	find(thread, time) {
		let low = thread.low, high = thread.high;
		while (low < high) {
			const middle = (low + high) >> 1;
			if (this.endOf(thread, middle) <= time)
				low = middle + 1;
			else
				high = middle;
		}
		return low;
	}
	// How long a thread was in each category before a time. Sums over chunks of states make that quick for any time,
	// so that a pixel shows what most of its time was, however much is in it.
	sums(thread) {
		if (thread.sums)
			return thread.sums;
		const n = CATEGORIES.length, chunks = Math.ceil((thread.high - thread.low) / CHUNK) + 1;
		const sums = thread.sums = new Float64Array(chunks * n), now = new Float64Array(n);
		for (let i = thread.low; i < thread.high; i++) {
			if ((i - thread.low) % CHUNK === 0)
				sums.set(now, (i - thread.low) / CHUNK * n);
			now[this.category(i)] += this.endOf(thread, i) - this.startOf(i);
		}
		sums.set(now, (chunks - 1) * n);
		return sums;
	}
	before(thread, time, state, out) {
		const n = CATEGORIES.length, sums = this.sums(thread), chunk = Math.floor((state - thread.low) / CHUNK);
		for (let c = 0; c < n; c++)
			out[c] = sums[chunk * n + c];
		for (let i = thread.low + chunk * CHUNK; i <= state && i < thread.high; i++)
			if (this.startOf(i) < time)
				out[this.category(i)] += Math.min(time, this.endOf(thread, i)) - this.startOf(i);
	}
	within(thread, from, to) {
		const a = new Float64Array(CATEGORIES.length), b = new Float64Array(CATEGORIES.length);
		this.before(thread, from, this.find(thread, from), a);
		this.before(thread, to, this.find(thread, to), b);
		return b.map((value, i) => value - a[i]);
	}
	stackNames(stack) {
		const names = [];
		for (; stack; stack = this.caller[stack])
			names.push(this.frameWords(this.frame[stack]));
		return names;
	}
	frameWords(frame) {
		const f = this.frames, file = this.strings[f.file[frame]];
		return this.functions[frame] + (file ? ` (${file.replace(/.*\//, "")}${f.line[frame] ? ":" + f.line[frame] : ""})` : "");
	}
	reason(state) {
		return this.isWait(state) ? this.reasons[this.detail[state]] || "" : "";
	}
	// The thread that woke a thread after a wait, and when; or null.
	wakerOf(thread, state) {
		const next = state + 1;
		if (next >= thread.high || (this.kind[next] & KIND) !== READY)
			return null;
		return { thread: this.what[next] ? this.threads[this.what[next] - 1] : null, time: this.startOf(next), context: this.detail[next] };
	}
	// Calls `take(thread, time, stack, weight, ready)` for each wait, and each ready state after one, that is a sample as well.
	eachWait(take) {
		const more = new Reader(this.more);
		for (const thread of this.threads)
			for (let i = thread.low; i < thread.high; i++)
				if (this.kind[i] & SAMPLED) {
					const ready = (this.kind[i] & KIND) === READY, coded = more.next(), difference = coded % 2 ? -(coded + 1) / 2 : coded / 2;
					take(thread, this.endOf(thread, i), this.what[ready ? i - 1 : i], this.endOf(thread, i) - this.startOf(i) + difference, ready);
				}
	}
	// What a wait waited for: the waker, what that one waited for before, and so on.
	chain(thread, state) {
		const links = [], from = this.startOf(state);
		for (let depth = 0; depth < 12; depth++) {
			links.push({ thread, state });
			const waker = this.wakerOf(thread, state);
			if (!waker || !waker.thread || waker.thread.high <= waker.thread.low)
				break;
			thread = waker.thread;
			state = this.find(thread, waker.time - 1);
			if (state >= thread.high)
				state = thread.high - 1;
			if ((this.kind[state] & KIND) === RUNS || (this.kind[state] & KIND) <= PREEMPTED)
				while (state > thread.low && !this.isWait(state) && this.startOf(state) > from)
					state--;
			if (!this.isWait(state) || this.endOf(thread, state) <= from) {
				links.push({ thread, state: this.find(thread, waker.time - 1) });
				break;
			}
		}
		return links;
	}
	// Running states of each CPU, in order of time; made when they are first shown. They do not overlap, so starts and ends
	// are sorted each for themselves, as numbers, which is much quicker than by a comparison.
	cpus() {
		if (this.cpuList)
			return this.cpuList;
		const counts = [];
		for (let i = 0; i < this.kind.length; i++)
			if ((this.kind[i] & KIND) === RUNS)
				counts[this.what[i]] = (counts[this.what[i]] || 0) + 1;
		const cpus = counts.map((count, number) => ({ number, start: new Float64Array(count), end: new Float64Array(count), whose: new Map(), at: 0 }));
		for (const thread of this.threads)
			for (let i = thread.low; i < thread.high; i++)
				if ((this.kind[i] & KIND) === RUNS) {
					const cpu = cpus[this.what[i]], start = this.startOf(i);
					cpu.start[cpu.at] = start;
					cpu.end[cpu.at++] = this.endOf(thread, i);
					cpu.whose.set(start, thread.index);
				}
		this.cpuList = cpus.filter(cpu => cpu).map(({ number, start, end, whose }) => {
			start.sort();
			end.sort();
			return { number, start, end, thread: Uint32Array.from(start, time => whose.get(time)) };
		});
		return this.cpuList;
	}
}

// Unpacks a recording in another thread, so that the page stays usable. The thread gets the source of what it needs, and asks
// for one piece of the text after the other.
export async function unpack(texts) {
	const source = [inflate, varints, deltas, lowerBound].map(String).join("\n") + `\nconst STATES=[],RUNS=${RUNS},READY=${READY},PREEMPTED=${PREEMPTED},DEAD=${DEAD},ZOMBIE=${ZOMBIE},KIND=${KIND},CHUNK=${CHUNK},WORD=${WORD},CATEGORIES=${JSON.stringify(CATEGORIES)};\n`
		+ [Reader, Columns, Turns, Trace].map(String).join("\n") + `
const next=()=>new Promise(take=>{onmessage=({data})=>take(data);postMessage(null)});
inflate({[Symbol.iterator]:()=>({next})}).then(bytes=>{const t={...new Trace(bytes)};postMessage(t,[t.kind,t.early,t.late,t.what,t.detail].map(a=>a.buffer))}).catch(error=>setTimeout(()=>{throw error}))`;
	const address = URL.createObjectURL(new Blob([source], { type: "text/javascript" }));
	let asked = false;
	try {
		return await new Promise((take, fail) => {
			const worker = new Worker(address);
			worker.onerror = worker.onmessageerror = event => fail(new Error(event.message || "no thread"));
			worker.onmessage = ({ data }) => {
				asked = true;
				if (!data)
					return worker.postMessage(texts.next());
				worker.terminate();
				take(Object.setPrototypeOf(data, Trace.prototype));
			};
		});
	} catch (error) {
		if (asked)
			throw error;
		return new Trace(await inflate(texts)); // no threads here
	} finally {
		URL.revokeObjectURL(address);
	}
}

// The first index whose value is at least `wanted`.
export function lowerBound(values, wanted) {
	let low = 0, high = values.length;
	while (low < high) {
		const middle = (low + high) >> 1;
		if (values[middle] < wanted)
			low = middle + 1;
		else
			high = middle;
	}
	return low;
}
