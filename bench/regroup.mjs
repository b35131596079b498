// node bench/regroup.mjs MODULES ROWS: groups this many rows by two keys, with the code of the page, and prints the median ms.
const [, , modules, rows] = process.argv;
const { Column, Table } = await import(`${modules}/tables.mjs`);
const strings = Array.from({ length: 400 }, (_, i) => "name " + i), count = +rows;
const texts = seed => { const out = new Uint32Array(count); for (let i = 0, x = seed; i < count; i++) { x = (x * 1103515245 + 12345) >>> 0; out[i] = (x >>> 8) % 200 + 1; } return out; };
const table = Object.create(Table.prototype);
table.rows = count;
const keys = [new Column("process", "t", texts(1), strings), new Column("thread", "t", texts(7), strings)];
const values = [new Column("weight", "r", Float64Array.from(texts(3)), strings)];
const times = [];
for (let i = 0; i < 7; i++) {
	const begun = performance.now();
	table.group(i % 2 ? keys : [keys[1], keys[0]], values, null);
	times.push(performance.now() - begun);
}
console.log(times.sort((a, b) => a - b)[3].toFixed(1));
