// The tables of `tracelet table`, read from columns, and grouped by any of them. Rows stay in typed arrays: to group ten
// million rows is a few passes over numbers.
import { Columns } from "./columns.mjs";

const DENSE = 1 << 22; // slots of an array; above that a map finds groups

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
		if (!this.coded) {
			const known = new Map(), list = [], codes = new Uint32Array(this.values.length);
			for (let i = 0; i < codes.length; i++) {
				let code = known.get(this.values[i]);
				if (code === undefined) {
					known.set(this.values[i], code = list.length);
					list.push(this.values[i]);
				}
				codes[i] = code;
			}
			this.coded = { codes, count: list.length, value: code => list[code] };
		}
		return this.coded;
	}
}

// Splits groups by the codes of one more column, in place.
function split(group, above, { codes, count, value }) {
	const parents = [], values = [], dense = above * count <= DENSE;
	const slots = dense ? new Uint32Array(above * count) : new Map(), rows = group.length;
	const add = (parent, code) => { parents.push(parent); return values.push(value(code)); };
	if (dense)
		for (let row = 0; row < rows; row++) {
			const slot = group[row] * count + codes[row];
			group[row] = (slots[slot] || (slots[slot] = add(group[row], codes[row]))) - 1;
		}
	else
		for (let row = 0; row < rows; row++) {
			const slot = group[row] * count + codes[row];
			let number = slots.get(slot);
			if (!number)
				slots.set(slot, number = add(group[row], codes[row]));
			group[row] = number - 1;
		}
	return { parents, values };
}

// The sum and the largest value of each group. Doubles are what they are; other numbers are one more, 0 is none.
function addUp(group, { type, values }, wanted, totals, most) {
	const less = type === "r" ? 0 : 1, rows = group.length;
	for (let row = 0; row < rows; row++) {
		const value = values[row] - less;
		if (!(value > 0) && !(less === 0 && value < 0) || (wanted && !wanted[row]))
			continue;
		const at = group[row];
		totals[at] += value;
		if (value > most[at])
			most[at] = value;
	}
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
	group(keys, sums, range) {
		const { rows } = this, group = new Uint32Array(rows), levels = [];
		let above = 1;
		for (const key of keys) {
			const level = split(group, above, key.codes());
			levels.push({ key, ...level });
			above = level.values.length;
		}
		const counts = new Float64Array(above), totals = sums.map(() => new Float64Array(above)), most = sums.map(() => new Float64Array(above));
		const wanted = range && this.time ? this.within(range) : null;
		for (let row = 0; row < rows; row++)
			if (!wanted || wanted[row])
				counts[group[row]]++;
		sums.forEach((column, i) => addUp(group, column, wanted, totals[i], most[i]));
		return { root: this.tree(levels, counts, totals, most), group };
	}
	// 1 for each row in the range.
	within({ from, to }) {
		const { values } = this.time, out = new Uint8Array(this.rows);
		for (let row = 0; row < out.length; row++)
			out[row] = values[row] > from && values[row] <= to + 1 ? 1 : 0; // they are one more
		return out;
	}
	tree(levels, counts, totals, most) {
		const node = (column, value) => ({ column, value, count: 0, sums: totals.map(() => 0), most: totals.map(() => 0), children: [] });
		const root = node(null, null), last = levels.length - 1;
		let above = [root];
		levels.forEach(({ key, parents, values }, level) => {
			above = values.map((value, i) => {
				const made = node(key, value);
				made.parent = above[parents[i]];
				made.parent.children.push(made);
				if (level === last)
					made.number = i;
				return made;
			});
		});
		above.forEach((leaf, i) => {
			for (let at = leaf; at; at = at.parent) {
				at.count += counts[i];
				totals.forEach((total, j) => {
					at.sums[j] += total[i];
					at.most[j] = Math.max(at.most[j], most[j][i]);
				});
			}
		});
		const drop = one => { one.children = one.children.filter(child => child.count); one.children.forEach(drop); };
		drop(root);
		return root;
	}
}

export function readTables(bytes) {
	const columns = new Columns(bytes), strings = columns.get("strings", "text"), of = name => columns.get("tables", name);
	const names = of("name"), summary = of("summary"), group = of("group"), sum = of("sum"), sort = of("sort");
	return names.map((name, i) => new Table(columns, strings, { name, summary: summary[i], group: group[i], sum: sum[i], sort: sort[i] }));
}
