// Reads a document of columns (docs/page.md): base64, deflate, a head in JSON, and the columns.

// The pieces of a long text in a template: browsers keep it in many. Each leaves the page as it is read, so that a large
// recording is not in memory twice.
export function* pieces(template) {
	for (let text; (text = template.content.firstChild);) {
		text.remove();
		yield text.data;
	}
	template.remove();
}

// `texts` may also be asked for the next piece in another thread, and answer later.
export async function inflate(texts) {
	const each = texts[Symbol.iterator](), bytes = text => Uint8Array.fromBase64 ? Uint8Array.fromBase64(text) : Uint8Array.from(atob(text), c => c.charCodeAt(0));
	let rest = "";
	const packed = new ReadableStream({
		async pull(stream) {
			for (let whole = 0; !whole;) { // base64 is read in fours
				const { value = "", done } = await each.next(), text = rest + value;
				whole = text.length - text.length % 4;
				rest = text.slice(whole);
				if (whole)
					stream.enqueue(bytes(text.slice(0, whole)));
				if (done)
					return stream.close();
			}
		},
	});
	return new Uint8Array(await new Response(packed.pipeThrough(new DecompressionStream("deflate-raw"))).arrayBuffer());
}

// Unsigned numbers of 7 bits to a byte. Numbers above 2^53 lose their last digits.
export function varints(bytes, count, Type) {
	const out = new Type(count);
	for (let i = 0, at = 0; i < count; i++) {
		let byte = bytes[at++], value = byte & 127;
		if (byte > 127) {
			byte = bytes[at++];
			value |= (byte & 127) << 7;
			if (byte > 127) {
				byte = bytes[at++];
				value |= (byte & 127) << 14;
				for (let scale = 2097152; byte > 127; scale *= 128) {
					byte = bytes[at++];
					value += (byte & 127) * scale;
				}
			}
		}
		out[i] = value;
	}
	return out;
}

export function deltas(bytes, count) {
	const out = varints(bytes, count, Float64Array);
	let sum = 0;
	for (let i = 0; i < count; i++) {
		const value = out[i];
		sum += value % 2 ? -(value + 1) / 2 : value / 2;
		out[i] = sum;
	}
	return out;
}

// Reads one number after the other.
export class Reader {
	constructor(bytes) {
		this.bytes = bytes;
		this.at = 0;
	}
	next() {
		let byte = this.bytes[this.at++], value = byte & 127;
		for (let scale = 128; byte > 127; scale *= 128) {
			byte = this.bytes[this.at++];
			value += (byte & 127) * scale;
		}
		return value;
	}
}

export class Columns {
	constructor(bytes) {
		const size = new DataView(bytes.buffer, bytes.byteOffset).getUint32(0, true);
		this.sets = new Map();
		let at = 4 + size;
		for (const set of JSON.parse(new TextDecoder().decode(bytes.subarray(4, at))).sets) {
			const columns = new Map();
			for (const [name, type, length] of set.columns) {
				columns.set(name, { type, bytes: bytes.subarray(at, at + length) });
				at += length;
			}
			this.sets.set(set.name, { rows: set.rows, columns });
		}
	}
	rows(set) {
		return this.sets.get(set)?.rows ?? 0;
	}
	bytes(set, name) {
		return this.sets.get(set)?.columns.get(name)?.bytes ?? new Uint8Array();
	}
	// For columns that only some rows have.
	reader(set, name) {
		return new Reader(this.bytes(set, name));
	}
	get(set, name, Type = Uint32Array) {
		const count = this.rows(set);
		const column = this.sets.get(set)?.columns.get(name);
		if (!column)
			return new Type(count);
		if (column.type === "d")
			return deltas(column.bytes, count);
		if (column.type === "u")
			return varints(column.bytes, count, Type);
		if (column.type === "b")
			return column.bytes.slice();
		if (column.type === "f")
			return new Float64Array(column.bytes.slice().buffer);
		return new TextDecoder().decode(column.bytes).split("\0").slice(0, count);
	}
}
