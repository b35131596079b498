// Small things that all other parts use: elements, durations, colours. Names from recordings only ever become
// text nodes or text on a canvas.

export function element(tag, attributes = {}, ...children) {
	const made = document.createElement(tag);
	for (const [name, value] of Object.entries(attributes))
		if (name.startsWith("on"))
			made.addEventListener(name.slice(2), value);
		else if (value !== false && value != null)
			made.setAttribute(name, value === true ? "" : value);
	made.append(...children.filter(child => child != null && child !== false));
	return made;
}

export function duration(ns) {
	const size = Math.abs(ns);
	for (const [scale, unit] of [[1e9, "s"], [1e6, "ms"], [1e3, "µs"]])
		if (size >= scale)
			return `${(ns / scale).toFixed(size >= 100 * scale ? 0 : size >= 10 * scale ? 1 : 2)} ${unit}`;
	return `${Math.round(ns)} ns`;
}

// By hand: toLocaleString() takes 50 times as long.
function thousands(whole) {
	const text = String(Math.abs(whole));
	let out = text.slice(-3);
	for (let at = text.length - 3; at > 0; at -= 3)
		out = text.slice(Math.max(0, at - 3), at) + "," + out;
	return whole < 0 ? "-" + out : out;
}

export function digits(value) {
	if (Number.isInteger(value) && Math.abs(value) < 1e15)
		return thousands(value);
	const size = Math.abs(value);
	return size >= 1e15 ? value.toExponential(3) : size >= 100 ? thousands(Math.round(value)) : size >= 10 ? value.toFixed(1)
		: size >= 1 ? value.toFixed(2) : value ? value.toPrecision(3) : "0";
}

export function colour(name) {
	return getComputedStyle(document.documentElement).getPropertyValue("--" + name).trim();
}

export function hue(text) {
	let hash = 7;
	for (let i = 0; i < text.length; i++)
		hash = (hash * 31 + text.charCodeAt(i)) % 360;
	return hash;
}

export function isDark() {
	const chosen = document.documentElement.dataset.theme;
	return chosen ? chosen === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
}

export function save(name, type, parts) {
	const link = element("a", { download: name, href: URL.createObjectURL(new Blob(parts, { type })) });
	link.click();
	setTimeout(() => URL.revokeObjectURL(link.href), 10000);
}

export async function copy(text) {
	try {
		await navigator.clipboard.writeText(text);
	} catch { // not permitted, as in a page from a file in some browsers
		const area = element("textarea", { "aria-hidden": "true" });
		area.value = text;
		document.body.append(area);
		area.select();
		document.execCommand("copy");
		area.remove();
	}
	say("Copied");
}

// For people and for screen readers.
export function say(text) {
	let line = document.getElementById("said");
	if (!line)
		document.body.append(line = element("p", { id: "said", role: "status" }));
	line.textContent = text;
	clearTimeout(say.timer);
	say.timer = setTimeout(() => line.textContent = "", 2500);
}

// A canvas that follows its size and the screen's resolution.
export function context(canvas, width, height) {
	const ratio = window.devicePixelRatio || 1;
	if (canvas.width !== Math.round(width * ratio) || canvas.height !== Math.round(height * ratio)) {
		canvas.width = Math.round(width * ratio);
		canvas.height = Math.round(height * ratio);
		canvas.style.height = height + "px";
	}
	const draw = canvas.getContext("2d");
	draw.setTransform(ratio, 0, 0, ratio, 0, 0);
	return draw;
}

export function cut(draw, text, room) {
	if (room < 12)
		return "";
	const most = Math.floor(room / 5.2);
	if (text.length <= most && draw.measureText(text).width <= room)
		return text;
	let low = 0, high = Math.min(text.length, most);
	while (low < high) {
		const middle = (low + high + 1) >> 1;
		if (draw.measureText(text.slice(0, middle) + "…").width <= room)
			low = middle;
		else
			high = middle - 1;
	}
	return low > 1 ? text.slice(0, low) + "…" : "";
}

let tip;
export function tooltip(event, lines) {
	tip ??= document.body.appendChild(element("div", { id: "tip", hidden: true }));
	tip.hidden = !lines;
	if (!lines)
		return;
	tip.replaceChildren(...lines.filter(line => line).map((line, i) => element(i ? "div" : "b", {}, line)));
	const x = Math.min(event.clientX + 14, innerWidth - tip.offsetWidth - 8), below = event.clientY + 18;
	tip.style.left = Math.max(4, x) + "px";
	tip.style.top = (below + tip.offsetHeight > innerHeight ? Math.max(4, event.clientY - tip.offsetHeight - 10) : below) + "px";
}
