// A table of rows: sorted by a click on a column, searched, copied as CSV. Only the rows in sight are elements,
// so that a hundred thousand rows are as quick as ten.
import { copy, digits, element } from "./ground.mjs";

const LINE = 26, MOST = 400;

export class Grid {
	// `columns`: {name, number, share: a part of 100, shown as a bar, too}. A cell is a text, a number, or [value, text].
	constructor(columns, { name = "rows", pick = null, search = true, down = true } = {}) {
		this.columns = columns;
		this.pick = pick;
		this.rows = this.shown = [];
		this.sort = -1;
		this.down = down; // the largest number first
		this.head = element("thead", {}, element("tr", {}, ...columns.map((column, i) => element("th", { scope: "col", class: column.number && "number" },
			element("button", { type: "button", onclick: () => this.sortBy(i) }, column.name)))));
		this.body = element("tbody");
		this.search = element("input", { type: "search", placeholder: "filter " + name, "aria-label": "Filter " + name, oninput: () => this.filter() });
		this.count = element("span", { class: "soft" });
		this.box = element("div", { class: "rows", tabindex: 0, role: "region", "aria-label": name }, element("table", {}, this.head, this.body));
		this.box.addEventListener("scroll", () => this.draw());
		this.element = element("div", { class: "grid" }, element("p", { class: "bar" }, search && this.search, this.count,
			element("button", { type: "button", class: "end", onclick: () => copy(this.csv()) }, "Copy as CSV")), this.box);
	}
	show(rows, sort = this.sort) {
		this.rows = rows;
		if (this.sort < 0)
			this.sort = sort;
		this.filter();
	}
	value(cell) {
		return Array.isArray(cell) ? cell[0] : cell;
	}
	text(cell) {
		return Array.isArray(cell) ? cell[1] : typeof cell === "number" ? digits(cell) : cell ?? "";
	}
	sortBy(column) {
		this.down = this.sort === column ? !this.down : true;
		this.sort = column;
		this.filter();
	}
	filter() {
		const words = this.search.value.toLowerCase().split(" ").filter(word => word);
		this.shown = words.length ? this.rows.filter(row => {
			const line = row.map(cell => this.text(cell)).join("\t").toLowerCase();
			return words.every(word => line.includes(word));
		}) : this.rows.slice();
		const by = this.sort, sign = this.columns[by]?.number ? (this.down ? -1 : 1) : this.down ? 1 : -1;
		if (by >= 0)
			this.shown = this.sorted(by, sign);
		this.head.querySelectorAll("th").forEach((th, i) => th.setAttribute("aria-sort", i !== by ? "none" : sign > 0 ? "ascending" : "descending"));
		this.count.textContent = `${digits(this.shown.length)}${words.length ? " of " + digits(this.rows.length) : ""} row${this.shown.length === 1 ? "" : "s"}`;
		this.box.scrollTop = 0;
		this.draw(true);
	}
	// Each cell is looked at once; equal ones stay in their order.
	sorted(by, sign) {
		const keys = this.shown.map(row => this.value(row[by]) ?? ""), order = Uint32Array.from(keys.keys());
		const numbers = keys.every(key => typeof key === "number") && Float64Array.from(keys);
		if (numbers)
			order.sort((a, b) => sign * (numbers[a] - numbers[b]) || a - b);
		else
			order.sort((a, b) => keys[a] < keys[b] ? -sign : keys[a] > keys[b] ? sign : a - b);
		return Array.from(order, i => this.shown[i]);
	}
	draw(anew) {
		const all = this.shown.length <= MOST, first = all ? 0 : Math.max(0, Math.floor(this.box.scrollTop / LINE) - 20);
		if (!anew && (all || first === this.first))
			return;
		this.first = first;
		const last = all ? this.shown.length : Math.min(this.shown.length, first + 80), spacer = rows =>
			element("tr", { "aria-hidden": "true" }, Object.assign(element("td", { colspan: this.columns.length }), { height: rows * LINE }));
		const rows = this.shown.slice(first, last).map(row => {
			const made = element("tr", {}, ...this.columns.map((column, i) => {
				const cell = element("td", { class: column.number && "number" }, this.cell(row[i], i, row)), share = column.share && this.value(row[i]);
				if (share >= 0.5) {
					cell.classList.add("share");
					cell.style.setProperty("--share", Math.min(share, 100) + "%");
				}
				return cell;
			}));
			if (this.pick) {
				made.tabIndex = 0;
				made.addEventListener("click", () => this.pick(row));
				made.addEventListener("keydown", event => event.key === "Enter" && this.pick(row));
			}
			return made;
		});
		if (first)
			rows.unshift(spacer(first));
		if (last < this.shown.length)
			rows.push(spacer(this.shown.length - last));
		this.body.replaceChildren(...rows);
	}
	cell(cell, i, row) {
		return this.columns[i].make ? this.columns[i].make(cell, row) : this.text(cell);
	}
	csv() {
		const quote = value => /[",\n\r]/.test(value) ? `"${value.replaceAll('"', '""')}"` : value;
		return [this.columns.map(c => c.name), ...this.shown.map(row => row.map(cell => String(this.value(cell) ?? "")))].map(row => row.map(quote).join(",")).join("\n") + "\n";
	}
}
