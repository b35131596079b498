// The flame graph's behaviour, for both the SVG and the HTML page. The frames already in
// the document are for viewers without scripts; this script redraws them from `profile`,
// which is defined before it:
//
//   names, modules  texts; nodes refer to them by number
//   nodes           tree nodes, parents before children, each as
//                   depth, name, total, kind, module [, total before, self before]
//   sources         file and line of functions, by "name:module" in these numbers
//   look            title, unit, theme, frame height, font size, ... (flame_data.c)
"use strict";
(() => {
const SVG = "http://www.w3.org/2000/svg", XHTML = "http://www.w3.org/1999/xhtml";
const KERNEL = 1, INLINED = 2, JIT = 3;
const { names, modules, nodes, sources, look } = profile;
const svg = document.getElementById("flame");
const frames = document.getElementById("frames");
const details = document.getElementById("details");
const tip = document.getElementById("tip"); // HTML page only
const page = document.documentElement.localName === "html";

// ---- the tree, and the inverted tree from the leaves ----

function makeNode(name, kind, module, parent) {
	return { name, kind, module, parent, depth: parent ? parent.depth + 1 : 0,
		total: 0, self: 0, before: 0, selfBefore: 0, children: [] };
}

function readTree() {
	const step = look.differential ? 7 : 5;
	const path = [];
	let root = null;
	for (let i = 0; i < nodes.length; i += step) {
		const depth = nodes[i];
		const node = makeNode(names[nodes[i + 1]], nodes[i + 3], nodes[i + 4], depth ? path[depth - 1] : null);
		node.total = node.self = nodes[i + 2];
		if (look.differential) {
			node.before = nodes[i + 5];
			node.selfBefore = nodes[i + 6];
		}
		path[depth] = node;
		if (depth) {
			path[depth - 1].children.push(node);
			path[depth - 1].self -= node.total;
		} else {
			root = node;
		}
	}
	return root;
}

// Inserts each node's own weight again, with its stack reversed.
function reverseTree(root) {
	const top = makeNode(root.name, 0, 0, null);
	top.total = root.total;
	top.before = root.before;
	const index = new Map([[top, new Map()]]);
	const visit = (node) => {
		node.children.forEach(visit);
		if (!node.parent || (node.self <= 0 && node.selfBefore <= 0))
			return;
		let at = top;
		for (let caller = node; caller.parent; caller = caller.parent) {
			let below = index.get(at).get(caller.name);
			if (!below) {
				below = makeNode(caller.name, caller.kind, caller.module, at);
				index.get(at).set(caller.name, below);
				index.set(below, new Map());
				at.children.push(below);
			}
			below.total += node.self;
			below.before += node.selfBefore;
			at = below;
		}
		at.self += node.self;
		at.selfBefore += node.selfBefore;
	};
	visit(root);
	for (const node of index.keys())
		node.children.sort((a, b) => (a.name < b.name ? -1 : a.name > b.name ? 1 : 0));
	return top;
}

const trees = { given: readTree(), turned: null };
const state = {
	turned: false, inverted: look.inverted, theme: look.theme, pattern: null,
	root: trees.given, zoom: trees.given, selected: null,
};

function deepest(node) {
	return node.children.reduce((most, child) => Math.max(most, deepest(child)), node.depth);
}

// ---- colours: the same as in flame_colour.c ----

function hash(text) {
	let value = 0x811c9dc5;
	for (const byte of new TextEncoder().encode(text))
		value = Math.imul(value ^ byte, 0x01000193) >>> 0;
	return value;
}

function shade([low, high, saturation, light, range], text) {
	const value = hash(text);
	const hue = low + (high - low) * ((value & 0xff) / 255);
	return `hsl(${(hue + 360) % 360}, ${saturation}%, ${light + range * ((value >>> 8 & 0xff) / 255)}%)`;
}

function kindTheme(node) {
	if (node.kind === KERNEL)
		return "orange";
	if (node.kind === JIT)
		return "green";
	if (node.kind === INLINED)
		return "aqua";
	return node.name.includes("::") ? "yellow" : "red";
}

function difference(node) {
	const delta = node.self - node.selfBefore;
	if (!delta || !state.most)
		return "hsl(0, 0%, 92%)";
	const share = Math.sqrt(Math.min(1, Math.abs(delta) / state.most));
	return `hsl(${delta > 0 ? 4 : 214}, 85%, ${92 - 37 * share}%)`;
}

function mostDifference(node) {
	return node.children.reduce((most, child) => Math.max(most, mostDifference(child)),
		node.parent ? Math.abs(node.self - node.selfBefore) : 0);
}

function colour(node) {
	if (!node.parent)
		return "hsl(0, 0%, 86%)";
	if (state.theme === "difference")
		return difference(node);
	if (state.theme === look.theme && Object.hasOwn(look.palette, node.name))
		return look.palette[node.name];
	if (state.theme === "module") {
		const module = modules[node.module];
		return module ? shade([0, 359, 55, 68, 0], module) : "hsl(0, 0%, 80%)";
	}
	return shade(look.themes[state.theme === "kind" ? kindTheme(node) : state.theme], node.name);
}

// ---- words ----

const number = (value) => Math.round(value * look.factor).toLocaleString("en-US");
const percent = (part, whole) => (whole ? (100 * part / whole).toFixed(2) : "0.00") + "%";

const places = new Map(Object.entries(sources).map(([key, place]) => {
	const [name, module] = key.split(":");
	return [`${names[name]}:${module}`, place];
}));

function describe(node) {
	let text = `${node.name.replace(/_\[[kjiw]\]$/, "")} (${number(node.total)} ${look.unit}, ${percent(node.total, state.root.total)}`;
	if (state.zoom !== state.root && state.zoom.total)
		text += `, ${percent(node.total, state.zoom.total)} of what is shown`;
	if (node.self > 0 && node.self < node.total)
		text += `; self ${percent(node.self, state.root.total)}`;
	if (look.differential) {
		const delta = node.total - node.before;
		text += `; ${delta >= 0 ? "+" : "−"}${number(Math.abs(delta))}, ${delta >= 0 ? "+" : "−"}${percent(Math.abs(delta), state.root.total)}`;
	}
	text += ")";
	const place = places.get(`${node.name}:${node.module}`);
	return [text, modules[node.module], place].filter(Boolean).join(" — ");
}

function tell(text) {
	details.textContent = text || " ";
}

// ---- drawing ----

function element(name, attributes, text) {
	const made = document.createElementNS(SVG, name);
	for (const key in attributes)
		made.setAttribute(key, attributes[key]);
	if (text !== undefined)
		made.textContent = text;
	return made;
}

const geometry = { width: look.width, top: 0, height: 0, scroll: 0, framed: false };

// Browsers fit a picture into <object>, <embed> and sandboxed frames instead of scrolling it: a tall one would
// be too small to read. There the view is a part of the picture, and the wheel moves it.
const scale = () => (geometry.framed ? geometry.width / window.innerWidth : 1);
const viewHeight = () => window.innerHeight * scale();
const scrolled = () => (geometry.framed ? geometry.scroll : window.scrollY);

function scrollTo(y) {
	if (!geometry.framed) {
		window.scrollTo(0, y);
		return;
	}
	geometry.scroll = Math.max(0, Math.min(y, geometry.whole - viewHeight()));
	svg.setAttribute("viewBox", `0 ${geometry.scroll} ${geometry.width} ${viewHeight()}`);
	controls.place();
}

function onWheel(event) {
	if (!geometry.framed || event.ctrlKey)
		return;
	const before = geometry.scroll;
	scrollTo(before + event.deltaY * scale() * (event.deltaMode ? look.frameHeight : 1));
	if (geometry.scroll !== before)
		event.preventDefault();
}

function reveal(node) {
	const y = place(node.depth), bar = 48;
	if (!geometry.framed)
		node.drawn.scrollIntoView({ block: "nearest" });
	else if (y < geometry.scroll + bar)
		scrollTo(y - bar);
	else if (y + bar > geometry.scroll + viewHeight())
		scrollTo(y + bar - viewHeight());
}

function place(depth) {
	return state.inverted ? geometry.top + depth * look.frameHeight
		: geometry.top + geometry.height - (depth + 1) * look.frameHeight;
}

function drawNode(node, x, width, above) {
	const y = place(node.depth);
	const group = element("g", {});
	group.node = node;
	node.drawn = group;
	const classes = [above && "above", node.found && "found", node === state.selected && "selected"].filter(Boolean);
	if (classes.length)
		group.setAttribute("class", classes.join(" "));
	const rect = element("rect", { x: x.toFixed(2), y, width: Math.max(width - 0.5, 0.4).toFixed(2),
		height: look.frameHeight - 1, rx: width > 6 ? 2 : 0, fill: colour(node) });
	group.append(rect);
	if (!page)
		group.append(element("title", {}, describe(node)));
	const room = Math.floor((width - 6) / (look.fontSize * 0.6));
	if (room >= 3) {
		const name = node.name.replace(/_\[[kjiw]\]$/, "");
		const text = name.length > room ? name.slice(0, room - 1) + "…" : name;
		group.append(element("text", { x: (x + 3).toFixed(2), y: y + look.frameHeight - look.fontSize * 0.4,
			"font-size": look.fontSize }, text));
	}
	frames.append(group);
}

function drawBelow(node, x, scale) {
	let at = x + Math.max(0, node.self) * scale;
	for (const child of node.children) {
		const width = child.total * scale;
		if (width >= 0.3) {
			drawNode(child, at, width, false);
			drawBelow(child, at, scale);
		}
		at += width;
	}
}

function draw() {
	frames.replaceChildren();
	const margin = page ? 0 : 10;
	const room = geometry.width - 2 * margin;
	for (let node = state.zoom.parent; node; node = node.parent)
		drawNode(node, margin, room, true);
	drawNode(state.zoom, margin, room, false);
	if (state.zoom.total)
		drawBelow(state.zoom, margin, room / state.zoom.total);
	controls.reset.disabled = state.zoom === state.root;
}

// The depth of the displayed tree determines the height.
function resize() {
	geometry.width = page ? svg.parentElement.clientWidth : Math.max(600, look.fluid ? window.innerWidth : look.width);
	geometry.top = page ? 0 : look.top;
	geometry.height = (deepest(state.root) + 1) * look.frameHeight;
	const height = geometry.top + geometry.height + (page ? 0 : look.bottom);
	svg.setAttribute("width", geometry.width);
	svg.setAttribute("height", height);
	svg.setAttribute("viewBox", `0 0 ${geometry.width} ${height}`);
	geometry.whole = height;
	const shown = svg.getBoundingClientRect();
	const before = geometry.framed;
	geometry.framed = !page && window.innerWidth > 0 && window.innerHeight > 0 &&
		(Math.abs(shown.width - geometry.width) > 1 || Math.abs(shown.height - height) > 1);
	if (geometry.framed)
		scrollTo(before ? geometry.scroll : state.inverted ? 0 : height); // a frame may get its size late
	else if (!page)
		controls.place();
	draw();
}

// ---- search ----

// The total weight of the matches. A match includes everything below it, so that each stack counts once.
function mark(node, pattern) {
	node.found = Boolean(pattern && node.parent && pattern.test(node.name));
	const below = node.children.reduce((sum, child) => sum + mark(child, pattern), 0);
	return node.found ? node.total : below;
}

function search(text) {
	let pattern = null;
	controls.search.classList.remove("wrong");
	try {
		pattern = text ? new RegExp(text, controls.search.ignoreCase ? "i" : "") : null;
	} catch {
		controls.search.classList.add("wrong");
	}
	state.pattern = pattern;
	const found = mark(state.root, pattern);
	controls.matched.textContent = pattern ? `Matched: ${percent(found, state.root.total)}` : "";
	draw();
}

// ---- actions ----

function zoomTo(node) {
	state.zoom = node;
	draw();
	tell(node.parent ? describe(node) : "");
}

function turn() {
	state.turned = !state.turned;
	trees.turned = trees.turned || reverseTree(trees.given);
	state.root = state.zoom = state.turned ? trees.turned : trees.given;
	state.selected = null;
	state.most = mostDifference(state.root);
	controls.reverse.setAttribute("aria-pressed", state.turned);
	resize();
	search(controls.search.value);
}

function invert() {
	state.inverted = !state.inverted;
	controls.invert.setAttribute("aria-pressed", state.inverted);
	draw();
}

function select(node) {
	if (!node)
		return;
	if (!(node === state.zoom || isBelow(node, state.zoom) || isBelow(state.zoom, node)))
		return;
	state.selected = node;
	draw();
	tell(describe(node));
	if (node.drawn.isConnected)
		reveal(node);
}

function isBelow(node, above) {
	for (let at = node.parent; at; at = at.parent)
		if (at === above)
			return true;
	return false;
}

function sibling(node, step) {
	const row = node.parent ? node.parent.children : [node];
	return row[row.indexOf(node) + step];
}

const largest = (node) => node.children.reduce((best, child) => (!best || child.total > best.total ? child : best), null);

const keys = {
	"/": () => controls.search.focus(),
	F3: () => controls.search.focus(),
	Escape: () => { search(controls.search.value = ""); state.selected = null; zoomTo(state.root); },
	Enter: () => state.selected && zoomTo(state.selected),
	i: invert,
	r: turn,
	c: () => { controls.theme.selectedIndex = (controls.theme.selectedIndex + 1) % controls.theme.length; chooseTheme(); },
	ArrowUp: () => select(!state.selected ? state.zoom : state.inverted ? state.selected.parent : largest(state.selected)),
	ArrowDown: () => select(!state.selected ? state.zoom : state.inverted ? largest(state.selected) : state.selected.parent),
	ArrowLeft: () => state.selected && select(sibling(state.selected, -1)),
	ArrowRight: () => state.selected && select(sibling(state.selected, 1)),
};

function onKey(event) {
	if (event.ctrlKey && event.key === "f") {
		event.preventDefault();
		controls.search.focus();
	} else if (event.target === controls.search) {
		if (event.key === "Escape") {
			keys.Escape();
			controls.search.blur();
		}
	} else if (keys[event.key] && !event.ctrlKey && !event.metaKey && !event.altKey && event.target.localName !== "select") {
		event.preventDefault();
		keys[event.key]();
	}
}

function chooseTheme() {
	state.theme = controls.theme.value;
	draw();
}

// ---- the bar ----

function control(name, attributes, text) {
	const made = document.createElementNS(XHTML, name);
	for (const key in attributes)
		made.setAttribute(key, attributes[key]);
	if (text)
		made.textContent = text;
	return made;
}

function button(id, text, title, action) {
	const made = control("button", { id, title, type: "button" }, text);
	made.addEventListener("click", action);
	return made;
}

function makeControls() {
	const bar = control("div", { class: "flame-bar" });
	const made = { bar };
	made.matched = control("span", { id: "matched", style: "align-self: center" });
	made.search = control("input", { id: "search", type: "search", placeholder: "Search (regex)  /", spellcheck: "false" });
	made.search.ignoreCase = true;
	made.search.addEventListener("input", () => search(made.search.value));
	made.reset = button("reset", "Reset zoom", "Show everything again (Esc)", () => { state.selected = null; zoomTo(state.root); });
	made.invert = button("invert", "Icicle", "Root on top (i)", invert);
	made.reverse = button("reverse", "Reverse", "Merge from the innermost function (r)", turn);
	made.theme = control("select", { id: "theme", title: "Colours (c)" });
	for (const theme of look.choices)
		made.theme.append(control("option", { value: theme }, `Colours: ${theme}`));
	made.theme.value = look.theme;
	made.theme.addEventListener("change", chooseTheme);
	bar.append(made.matched, made.search, made.reset, made.invert, made.reverse, made.theme);
	made.invert.setAttribute("aria-pressed", state.inverted);
	if (page) {
		const root = document.documentElement;
		const dark = window.matchMedia("(prefers-color-scheme: dark)");
		const follow = () => { root.dataset.mode = dark.matches ? "dark" : "light"; };
		follow();
		dark.addEventListener("change", follow);
		bar.append(button("mode", "◐", "Dark or light", () => { root.dataset.mode = root.dataset.mode === "dark" ? "light" : "dark"; }));
		document.getElementById("bar").append(bar);
	} else {
		const hole = element("foreignObject", { height: 32 });
		const ground = element("rect", { class: "ground", x: 0, height: 22 });
		hole.append(bar);
		svg.append(hole);
		details.before(ground);
		svg.append(ground, details);
		// The bar and the details stay visible while a tall picture scrolls.
		made.place = () => {
			const begin = Math.min(geometry.width - 200, look.titleWidth + 20);
			const below = Math.min(geometry.whole, scrolled() + viewHeight());
			hole.setAttribute("x", begin);
			hole.setAttribute("y", scrolled() + 8);
			hole.setAttribute("width", geometry.width - begin - 10);
			ground.setAttribute("y", below - 26);
			ground.setAttribute("width", geometry.width);
			details.setAttribute("y", below - 11);
		};
		window.addEventListener("scroll", made.place);
	}
	return made;
}

// ---- the mouse ----

const nodeAt = (event) => event.target.closest && event.target.closest("#frames > g")?.node;

function hover(event) {
	const node = nodeAt(event);
	tell(node ? describe(node) : "");
	if (!tip)
		return;
	tip.style.display = node ? "block" : "none";
	if (node) {
		tip.textContent = describe(node);
		tip.style.left = Math.max(0, Math.min(event.clientX + 14, window.innerWidth - tip.offsetWidth - 8)) + "px";
		const above = event.clientY - tip.offsetHeight - 12;
		tip.style.top = (above > 0 ? above : event.clientY + 18) + "px";
	}
}

state.most = mostDifference(state.root);
const controls = makeControls();
frames.addEventListener("click", (event) => nodeAt(event) && zoomTo(nodeAt(event)));
svg.addEventListener("mousemove", hover);
svg.addEventListener("mouseleave", hover);
window.addEventListener("keydown", onKey);
window.addEventListener("wheel", onWheel, { passive: false });
window.addEventListener("resize", resize);
resize();
// In a tall picture, scroll to the root first.
if (!state.inverted)
	scrollTo(Math.max(document.documentElement.scrollHeight, geometry.whole));
})();
