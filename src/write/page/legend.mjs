// The series that are switched off, by their names. There is one legend for the page: a name that is off is in no graph of any
// file, be it a thread, a state, a counter or a group of a table.
import { element } from "./ground.mjs";

class Legend {
	constructor() {
		this.off = new Set();
		this.changed = () => {}; // the page draws all graphs again
	}
	has(name) {
		return !this.off.has(name);
	}
	set(names) {
		this.off = new Set(names);
		this.changed();
	}
	// Switches `name` off and on.
	button(name, swatch) {
		return element("button", { type: "button", class: "series", "aria-pressed": String(this.has(name)), title: this.has(name) ? "switch off" : "switch on", onclick: () => {
			this.off.delete(name) || this.off.add(name);
			this.changed();
		} }, swatch, name);
	}
	// The way back to what has no button in sight.
	all() {
		return this.off.size ? element("button", { type: "button", onclick: () => this.set([]) }, `Show all (${this.off.size} off)`) : null;
	}
	// Makes the buttons anew, and leaves the focus where it was.
	fill(box, buttons) {
		const at = [...box.children].indexOf(document.activeElement);
		box.replaceChildren(...buttons.filter(button => button));
		if (at >= 0)
			box.children[Math.min(at, box.children.length - 1)]?.focus();
	}
}

export const legend = new Legend();
