// The tables of `tracelet table`, read from columns, and grouped by any of them. Rows stay in typed arrays: to group ten
// million rows is a few passes over numbers.
import { Columns } from "./columns.mjs";

const DENSE = 1 << 22, SMALL = 1 << 20; // slots of an array; above that a map finds groups

export class Column {
	constructor(name, type, values, strings) {
		Object.assign(this, { name, type, values, strings });
	}
	get isNumber() {
		return this.type !== "t";
	}
	// As `tracelet table --csv` prints it.
	text(row) {
		return this.words(this.values[row]);
	}
	words(value) {
		if (this.type === "t")
			return value ? this.strings[value - 1] : "";
		if (this.type === "r")
			return Number.isNaN(value) ? "" : value.toFixed(3);
		if (!value)
			return "";
		return this.type === "u" ? String(value - 1) : Math.floor((value - 1) / 1e9) + "." + String((value - 1) % 1e9).padStart(9, "0");
	}
	// The number in a row, to be added up; none counts as 0.
	number(row) {
		const value = this.values[row];
		return this.type === "r" ? (Number.isNaN(value) ? 0 : value) : value ? value - 1 : 0;
	}
	// Small numbers that stand for equal values: the ids of texts, others are numbered once.
	codes() {
		if (this.type === "t")
			return { codes: this.values, count: this.strings.length + 1, value: code => code };
		return this.coded ??= this.numbered();
	}
	numbered() {
		const { values } = this, list = [], codes = new Uint32Array(values.length);
		const small = this.type === "u" && values.every(value => value < SMALL), known = small ? new Uint32Array(SMALL) : new Map();
		for (let i = 0; i < codes.length; i++) {
			const value = values[i];
			let code = small ? known[value] : known.get(value);
			if (!code) {
				code = list.push(value);
				if (small)
					known[value] = code;
				else
					known.set(value, code);
			}
			codes[i] = code - 1;
		}
		return { codes, count: list.length, value: code => list[code] };
	}
}

// The place of each row among all combinations of keys. Where there would be too many, those that occur are numbered.
// `above` has the places among the outer keys.
function refine(group, above, { codes, count }) {
	const rows = codes.length, places = new Uint32Array(rows);
	if (above * count <= DENSE) {
		for (let row = 0; row < rows; row++)
			places[row] = group[row] * count + codes[row];
		return { places, many: above * count, ...dense(count) };
	}
	const known = new Map(), list = [];
	for (let row = 0; row < rows; row++) {
		const wide = group[row] * count + codes[row];
		let number = known.get(wide);
		if (!number)
			known.set(wide, number = list.push(wide));
		places[row] = number - 1;
	}
	return { places, many: list.length, parent: place => Math.floor(list[place] / count), code: place => list[place] % count };
}

const dense = count => ({ parent: place => Math.floor(place / count), code: place => place % count });

// Counts the rows of each group, and adds up a column: its sum and its largest value. Doubles are what they are, and NaN is
// none; other numbers are one more, 0 is none. A group is an outer and an inner code: for two keys no array of places is
// made, which would take longer than to add up. `wanted` has 1 for the rows that count, or is null; `counts` is null if they
// are counted already.
function addUp(outer, inner, many, { type, values }, wanted, counts, totals, most) {
	const less = type === "r" ? 0 : 1, least = less ? 0 : -Infinity, rows = outer.length;
	for (let row = 0; row < rows; row++) {
		if (wanted !== null && !wanted[row])
			continue;
		const at = inner === null ? outer[row] : outer[row] * many + inner[row], value = values[row] - less;
		if (counts !== null)
			counts[at]++;
		if (value >= least) { // not so for NaN
			totals[at] += value;
			if (value > most[at])
				most[at] = value;
		}
	}
}

function countUp(outer, inner, many, wanted, counts) {
	for (let row = 0; row < outer.length; row++)
		if (wanted === null || wanted[row])
			counts[inner === null ? outer[row] : outer[row] * many + inner[row]]++;
}

export class Table {
	constructor(columns, strings, { name, summary, group, sum, sort }) {
		const set = columns.sets.get(name);
		Object.assign(this, { name, summary, sort, rows: set.rows });
		this.columns = [...set.columns.keys()].map(key => new Column(key.slice(2), key[0], columns.get(name, key, key[0] === "t" ? Uint32Array : Float64Array), strings));
		this.keys = this.named(group);
		this.sums = this.named(sum);
		this.time = this.columns.find(column => column.type === "s" && column.name === "time");
	}
	named(words) {
		return words.split(",").filter(word => word).map(word => this.columns.find(column => column.name === word)).filter(column => column);
	}
	csv() {
		const quote = text => /[",\n\r]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
		const lines = [this.columns.map(column => column.name).join(",")];
		for (let row = 0; row < this.rows; row++)
			lines.push(this.columns.map(column => quote(column.text(row))).join(","));
		return lines.join("\n") + "\n";
	}
	// The groups of nested keys: a tree of {column, value, count, sums, most, children}. `range` is in nanoseconds of the table.
	// The outermost ones have the `code` that their rows have in the first key.
	group(keys, sums, range) {
		const { rows } = this, levels = [], wanted = range && this.time ? this.within(range) : null;
		let outer = null, inner = null, many = 1, above = 1;
		keys.forEach((key, i) => {
			const coded = key.codes();
			let level = { places: coded.codes, many: coded.count, parent: () => 0, code: place => place };
			if (i && i === keys.length - 1 && above * coded.count <= DENSE) {
				inner = coded.codes;
				many = coded.count;
				level = { places: outer, many: above * many, ...dense(many) };
			} else if (i) {
				level = refine(outer, above, coded);
			}
			levels.push({ key, value: coded.value, parent: level.parent, code: level.code });
			outer = level.places;
			above = level.many;
		});
		outer ??= new Uint32Array(rows);
		const counts = new Uint32Array(above), totals = sums.map(() => new Float64Array(above)), most = sums.map(() => new Float64Array(above));
		sums.forEach((column, i) => addUp(outer, inner, many, column, wanted, i ? null : counts, totals[i], most[i]));
		if (!sums.length)
			countUp(outer, inner, many, wanted, counts);
		return this.tree(levels, counts, totals, most);
	}
	// 1 for each row in the range.
	within({ from, to }) {
		const { values } = this.time, out = new Uint8Array(this.rows);
		for (let row = 0; row < out.length; row++)
			out[row] = values[row] > from && values[row] <= to + 1 ? 1 : 0; // they are one more
		return out;
	}
	tree(levels, counts, totals, most) {
		const node = (column, value, parent) => ({ column, value, parent, count: 0, sums: totals.map(() => 0), most: totals.map(() => 0), children: [] });
		const root = node(null, null), made = levels.map(() => new Map());
		const find = (place, level) => {
			if (level < 0)
				return root;
			let found = made[level].get(place);
			if (!found) {
				const { key, value, parent, code } = levels[level], above = find(parent(place), level - 1);
				found = node(key, value(code(place)), above);
				found.code = place;
				above.children.push(found);
				made[level].set(place, found);
			}
			return found;
		};
		counts.forEach((count, place) => {
			if (!count)
				return;
			for (let at = find(place, levels.length - 1); at; at = at.parent) {
				at.count += count;
				totals.forEach((total, j) => {
					at.sums[j] += total[place];
					at.most[j] = Math.max(at.most[j], most[j][place]);
				});
			}
		});
		return root;
	}
}

export function readTables(bytes) {
	const columns = new Columns(bytes), strings = columns.get("strings", "text"), of = name => columns.get("tables", name);
	const names = of("name"), summary = of("summary"), group = of("group"), sum = of("sum"), sort = of("sort");
	return names.map((name, i) => new Table(columns, strings, { name, summary: summary[i], group: group[i], sum: sum[i], sort: sort[i] }));
}
