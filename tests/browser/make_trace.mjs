// Makes small Perfetto traces for tests of pages: switches and wakeups that are written down here.
const bytes = (...parts) => parts.flat(Infinity);

function varint(value) {
	const out = [];
	for (; value >= 128; value = Math.floor(value / 128))
		out.push(value % 128 + 128);
	return [...out, value];
}
const number = (field, value) => bytes(varint(field * 8), varint(value));
const data = (field, value) => bytes(varint(field * 8 + 2), varint(value.length), value);
const text = (field, value) => data(field, [...Buffer.from(value)]);

const STATES = { R: 0, S: 1, D: 2, X: 16, "R+": 256 };

// from leaves a CPU in a state, to gets it: [time, "switch", fromName, from, state, toName, to]; waker wakes:
// [time, "wake", waker, name, wakee].
export function makeTrace(events, { cpu = 0, facts = {} } = {}) {
	const list = events.map(([time, kind, ...rest]) => {
		if (kind === "switch") {
			const [fromName, from, state, toName, to] = rest;
			return data(2, bytes(number(1, time), number(2, from), data(4, bytes(text(1, fromName), number(2, from), number(3, 120), number(4, STATES[state]),
				text(5, toName), number(6, to), number(7, 120)))));
		}
		const [waker, name, wakee] = rest;
		return data(2, bytes(number(1, time), number(2, waker), data(20, bytes(text(1, name), number(2, wakee), number(3, 120), number(4, 1), number(5, cpu)))));
	});
	const metadata = Object.entries(facts).map(([key, value]) => data(1, bytes(text(1, "tracelet." + key), text(3, value))));
	return Uint8Array.from(bytes(
		data(1, bytes(number(10, 1), data(126, bytes(metadata)))),
		data(1, bytes(number(10, 1), data(1, bytes(number(1, cpu), list))))));
}

// main runs 10 ms and waits 30 ms for worker, which runs 25 ms; then main runs 10 ms.
export const ms = 1000000;
export function simple(main = "main", worker = "worker") {
	const t = 5000000000;
	return makeTrace([
		[t, "switch", "swapper/0", 0, "R", main, 10],
		[t + 2 * ms, "wake", 10, worker, 11],
		[t + 10 * ms, "switch", main, 10, "S", worker, 11],
		[t + 35 * ms, "wake", 11, main, 10],
		[t + 40 * ms, "switch", worker, 11, "S", main, 10],
		[t + 50 * ms, "switch", main, 10, "X", "swapper/0", 0],
	]);
}
