// node runs.mjs PAGE.html: the tests of a run's page, one line of JSON for each, sorted; without the folders that they come from.
import { readFileSync } from "node:fs";
import { Columns, inflate } from "../../src/write/page/columns.mjs";

const [, packed] = /<template id="run-columns">([^<]*)/.exec(readFileSync(process.argv[2], "utf8"));
const columns = new Columns(await inflate([packed])), texts = columns.get("strings", "text"), rows = [];
const names = [...columns.sets.get("tests").columns.keys()].filter(name => name !== "folder" && name !== "place"), values = names.map(name => columns.get("tests", name, Float64Array));
for (let i = 0; i < columns.rows("tests"); i++)
	rows.push(JSON.stringify(Object.fromEntries(names.map((name, j) => [name, ["name", "status", "result", "why"].includes(name) ? texts[values[j][i]] : values[j][i]]))));
console.log(rows.sort().join("\n"));
