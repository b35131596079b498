// node tables.mjs PAGE.html TABLE [KEYS SUMS]: a table of a view as `tracelet table --csv` prints it, or "rows" of each. Read by the page's
// own modules.
import { readFileSync } from "node:fs";
import { inflateRawSync } from "node:zlib";
import { readTables } from "../../src/write/page/tables.mjs";

const [, , file, name, keys, sums] = process.argv;
const text = readFileSync(file, "utf8").match(/<template class="tables">([^<]*)</)[1];
const tables = readTables(new Uint8Array(inflateRawSync(Buffer.from(text, "base64"))));
const table = tables.find(one => one.name === name);
if (!name) {
	process.stdout.write(tables.map(one => one.name + "\n").join(""));
} else if (!keys) {
	process.stdout.write(table.csv());
} else {
	const columns = table.named(keys), values = table.named(sums || ""), root = table.group(columns, values, null), lines = [];
	const walk = (node, words) => node.children.length ? node.children.forEach(child => walk(child, [...words, child.column.words(child.value)]))
		: lines.push([...words, node.count, ...node.sums.map((sum, i) => values[i].type === "r" ? sum.toFixed(3) : sum)].join(","));
	walk(root, []);
	process.stdout.write(lines.sort().join("\n") + "\n");
}
