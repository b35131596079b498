// A frame's line: blanks, the address, the name with its offset, and the module
// in parentheses. The same functions come up again and again, so the frames for a
// name and module are cached in a fixed-size table; a new function whose slots
// are taken evicts another.
#include "base/buffer.h"
#include "read/perf/script.h"

#include <string.h>

#ifndef SCRIPT_LINE_SLOTS // the fuzzer uses fewer slots: it frees the table ten thousand times a second
#define SCRIPT_LINE_SLOTS (1 << 15)
#endif
enum { SLOTS = SCRIPT_LINE_SLOTS, PROBES = 4, LONGEST_REMEMBERED = 4096 };

struct slot {
	uint64_t hash;
	uint32_t symbol_size, module_size;
	uint32_t capacity;
	bool kernel;    // by its address
	uint32_t count; // number of frames
	char *text;     // symbol, then module
	uint32_t only;  // the frame if there is exactly one
	uint32_t *frames;
};

// Neighbouring frames usually share a module: caches the end of the last line, from the parenthesis
// on.
struct last_module {
	char text[256];
	size_t size; // 0 if none
	uint64_t hash;
};

struct script_lines {
	struct tables *tables;
	struct slot *slots;
	struct last_module last;
	ARRAY(uint32_t) unremembered;
	struct buffer rust; // scratch
};

struct script_lines *script_lines_new(struct tables *tables) {
	struct script_lines *lines = memory_alloc(sizeof(*lines));
	lines->tables = tables;
	lines->slots = memory_alloc(SLOTS * sizeof(*lines->slots));
	return lines;
}

void script_lines_free(struct script_lines *lines) {
	for (size_t i = 0; i < SLOTS; i++) {
		free(lines->slots[i].text);
		free(lines->slots[i].frames);
	}
	free(lines->slots);
	array_free(&lines->unremembered);
	buffer_free(&lines->rust);
	free(lines);
}

// ---- hashes ----

// Faster than hash_bytes() (16 bytes per multiplication), and good enough for a
// cache that compares the text.
static uint64_t mix(uint64_t a, uint64_t b) {
	unsigned __int128 product = (unsigned __int128)a * b;
	return (uint64_t)product ^ (uint64_t)(product >> 64);
}

static uint64_t load64(const char *at) {
	uint64_t word;
	memcpy(&word, at, 8);
	return word;
}

static uint64_t load32(const char *at) {
	uint32_t word;
	memcpy(&word, at, 4);
	return word;
}

static uint64_t hash_slice(struct slice slice, uint64_t hash) {
	const char *at = slice.text;
	size_t left = slice.size;
	for (; left > 16; at += 16, left -= 16)
		hash = mix(load64(at) ^ 0xa0761d6478bd642fu, load64(at + 8) ^ hash);
	uint64_t first = 0, last = 0; // the two overlap if fewer than 16 bytes are left
	if (left >= 8) {
		first = load64(at);
		last = load64(at + left - 8);
	} else if (left >= 4) {
		first = load32(at);
		last = load32(at + left - 4);
	} else if (left) {
		first = (uint64_t)(uint8_t)at[0] << 16 | (uint64_t)(uint8_t)at[left / 2] << 8 |
			(uint8_t)at[left - 1];
	}
	return mix(first ^ 0xe7037ed1a0b428dbu ^ slice.size, last ^ hash);
}

// ---- the parts of a line ----

struct line {
	uint64_t address;
	struct slice symbol; // without the offset; empty if unknown
	struct slice module; // empty if missing
	uint64_t module_hash;
	bool kernel; // the module is unknown, but the address is the kernel's
};

// The digit's value + 1; 0 if it is not a digit.
static const uint8_t hex_values[256] = {
	['0'] = 1,  ['1'] = 2,  ['2'] = 3,  ['3'] = 4,  ['4'] = 5,  ['5'] = 6,  ['6'] = 7,  ['7'] = 8,
	['8'] = 9,  ['9'] = 10, ['a'] = 11, ['b'] = 12, ['c'] = 13, ['d'] = 14, ['e'] = 15, ['f'] = 16,
	['A'] = 11, ['B'] = 12, ['C'] = 13, ['D'] = 14, ['E'] = 15, ['F'] = 16,
};

static int hex_digit(char c) {
	return hex_values[(uint8_t)c] - 1;
}

static bool is_blank(char c) {
	return c == ' ' || c == '\t';
}

// The module: the last parentheses, including nested ones ("(/tmp/x (deleted))"). Returns where it
// begins, or `end` if there is none.
static const char *module_begin(const char *begin, const char *end) {
	size_t depth = 0;
	for (const char *at = end; at-- > begin;) {
		if (*at == ')')
			depth++;
		else if (*at == '(' && --depth == 0)
			return at == begin || is_blank(at[-1]) ? at : end;
	}
	return end;
}

static const char *module_end(const char *begin, const char *end) {
	if (end > begin && end[-1] == ')')
		return end;
	// More fields may follow the module.
	for (const char *at = end; at-- > begin;)
		if (*at == ')')
			return is_blank(at[1]) ? at + 1 : begin;
	return begin;
}

static struct slice without_offset(const char *begin, const char *end) {
	const char *at = end;
	while (at > begin && hex_digit(at[-1]) >= 0)
		at--;
	if (at < end && at - begin > 3 && memcmp(at - 3, "+0x", 3) == 0)
		end = at - 3;
	return (struct slice){begin, (size_t)(end - begin)};
}

static bool ends_with_last(const struct last_module *last, const char *begin, const char *end) {
	return last->size && (size_t)(end - begin) > last->size &&
	       is_blank(end[-(ptrdiff_t)last->size - 1]) &&
	       memcmp(end - last->size, last->text, last->size) == 0;
}

// Finds the module and returns the end of the text before it.
static const char *take_module(struct script_lines *lines, const char *begin, const char *end,
			       struct line *line) {
	struct last_module *last = &lines->last;
	const char *module = end, *stop = end;
	if (ends_with_last(last, begin, end)) {
		module = end - last->size;
		line->module_hash = last->hash;
	} else {
		stop = module_end(begin, end);
		module = module_begin(begin, stop);
	}
	if (module >= stop) {
		line->module = (struct slice){"", 0};
		line->module_hash = 0;
		return end;
	}
	line->module = (struct slice){module + 1, (size_t)(stop - module - 2)};
	if (!last->size || module != end - last->size || line->module_hash != last->hash) {
		line->module_hash = hash_slice(line->module, 0);
		last->size = 0;
		if (stop == end && (size_t)(stop - module) <= sizeof(last->text)) {
			last->size = (size_t)(stop - module);
			last->hash = line->module_hash;
			memcpy(last->text, module, last->size);
		}
	}
	while (module > begin && is_blank(module[-1]))
		module--;
	return module;
}

static bool equals(struct slice slice, const char *text) {
	return slice.size == strlen(text) && memcmp(slice.text, text, slice.size) == 0;
}

// The upper half is the kernel's, but for the page of vsyscall; its end is what is left of small negative
// numbers.
static bool is_kernel_address(uint64_t address) {
	const uint64_t vsyscall = 0xffffffffff600000u, end = 0xfffffffffffff000u;
	return address >> 63 && address < end && (address & ~UINT64_C(0xfff)) != vsyscall;
}

static bool parse_line(struct script_lines *lines, const char *at, size_t size, struct line *line) {
	const char *end = at + size;
	while (at < end && is_blank(*at))
		at++;
	const char *digits = at;
	uint64_t address = 0;
	for (int digit; at < end && (digit = hex_digit(*at)) >= 0; at++)
		address = address << 4 | (uint64_t)digit;
	if (at == digits || at - digits > 16 || (at < end && !is_blank(*at)))
		return false;
	while (at < end && is_blank(*at))
		at++;
	while (end > at && is_blank(end[-1]))
		end--;
	line->address = address;
	line->module_hash = 0;
	end = take_module(lines, at, end, line);
	line->symbol = without_offset(at, end);
	line->kernel = is_kernel_address(address) &&
		       (line->module.size == 0 || equals(line->module, "[unknown]"));
	return true;
}

// ---- frames ----

static bool starts_with(struct slice slice, const char *text) {
	size_t size = strlen(text);
	return slice.size >= size && memcmp(slice.text, text, size) == 0;
}

static bool ends_with(struct slice slice, const char *text) {
	size_t size = strlen(text);
	return slice.size >= size && memcmp(slice.text + slice.size - size, text, size) == 0;
}

static bool contains(struct slice slice, const char *text) {
	size_t size = strlen(text);
	for (size_t i = 0; i + size <= slice.size; i++)
		if (memcmp(slice.text + i, text, size) == 0)
			return true;
	return false;
}

// "/boot/vmlinux-6.1.0-13-amd64"
static bool is_vmlinux(struct slice module) {
	size_t name = module.size;
	while (name && module.text[name - 1] != '/')
		name--;
	return starts_with((struct slice){module.text + name, module.size - name}, "vmlinux");
}

static enum frame_kind module_kind(struct slice module) {
	// These look like kernel modules but belong to the process.
	static const char *const user[] = {"[vdso",  "[vsyscall", "[vectors", "[heap",
					   "[stack", "[anon",     "[uprobes", "[unknown"};
	if (equals(module, "inlined"))
		return FRAME_INLINED;
	if (contains(module, "/perf-") && ends_with(module, ".map"))
		return FRAME_JIT;
	if (starts_with(module, "[JIT]") || contains(module, "/jitted-"))
		return FRAME_JIT;
	for (size_t i = 0; i < ARRAY_SIZE(user); i++)
		if (starts_with(module, user[i]))
			return FRAME_USER;
	if (starts_with(module, "[") || is_vmlinux(module) || ends_with(module, ".ko") ||
	    contains(module, ".ko."))
		return FRAME_KERNEL;
	return FRAME_USER;
}

// Finds the start of an inlined function's name as perf-map-agent writes it:
// "Caller->Inlined". Skips C++ operators and the results of function types.
static size_t next_arrow(struct slice name, size_t at) {
	int depth = 0;
	for (; at + 2 < name.size; at++) {
		char c = name.text[at];
		bool arrow = c == '-' && name.text[at + 1] == '>';
		if (c == '<')
			depth++;
		else if (c == '>' && depth && name.text[at - 1] != '-')
			depth--;
		if (!arrow || depth || at == 0 || is_blank(name.text[at - 1]) || is_blank(name.text[at + 2]))
			continue;
		if (!(at >= 8 && memcmp(name.text + at - 8, "operator", 8) == 0))
			return at;
	}
	return name.size;
}

// perf leaves some names mangled, mainly from newer Rust versions, and some of older ones half demangled.
static uint32_t symbol_string(struct script_lines *lines, struct slice name) {
	struct strings *strings = lines->tables->strings;
	if (script_rust_name(name, &lines->rust))
		return strings_add_bytes(strings, (char *)lines->rust.data, lines->rust.size);
	uint32_t id = strings_add_bytes(strings, name.text, name.size);
	struct symbolizer *symbolizer = lines->tables->symbolizer;
	char *readable = symbolizer && name.text[0] == '_' ? symbolizer->demangle(strings_get(strings, id))
							   : NULL;
	if (readable)
		id = strings_add(strings, readable);
	free(readable);
	return id;
}

static void build_frames(struct script_lines *lines, const struct line *line) {
	struct strings *strings = lines->tables->strings;
	lines->unremembered.count = 0;
	// Old versions of perf print the process in parentheses in place of a name.
	if (starts_with(line->symbol, "(") && !starts_with(line->symbol, "(anonymous namespace)"))
		return;
	bool unnamed = line->symbol.size == 0 || equals(line->symbol, "[unknown]");
	enum frame_addresses addresses = lines->tables->addresses;
	struct frame frame = {.kind = line->kernel ? FRAME_KERNEL : module_kind(line->module)};
	if (addresses == ADDRESSES_ALL || (addresses == ADDRESSES_OF_UNNAMED && unnamed))
		frame.address = line->address;
	if (frame.kind != FRAME_INLINED && !equals(line->module, "[unknown]"))
		frame.module = strings_add_bytes(strings, line->module.text, line->module.size);
	if (unnamed) {
		array_push(&lines->unremembered, stacks_add_frame(lines->tables->stacks, &frame));
		return;
	}
	for (size_t at = 0; at < line->symbol.size;) {
		size_t end = next_arrow(line->symbol, at);
		frame.symbol = symbol_string(lines, (struct slice){line->symbol.text + at, end - at});
		array_push(&lines->unremembered, stacks_add_frame(lines->tables->stacks, &frame));
		frame.kind = FRAME_INLINED;
		at = end + 2;
	}
	for (size_t i = 0, j = lines->unremembered.count - 1; i < j; i++, j--) {
		uint32_t swap = lines->unremembered.items[i];
		lines->unremembered.items[i] = lines->unremembered.items[j];
		lines->unremembered.items[j] = swap;
	}
}

// ---- the cache of names ----

static bool slot_is(const struct slot *slot, uint64_t hash, const struct line *line) {
	return slot->hash == hash && slot->symbol_size == line->symbol.size &&
	       slot->module_size == line->module.size && slot->kernel == line->kernel && slot->text &&
	       memcmp(slot->text, line->symbol.text, line->symbol.size) == 0 &&
	       memcmp(slot->text + line->symbol.size, line->module.text, line->module.size) == 0;
}

static void remember(struct script_lines *lines, struct slot *slot, uint64_t hash, const struct line *line) {
	size_t size = line->symbol.size + line->module.size;
	if (slot->capacity < size || !slot->text) {
		slot->text = memory_resize(slot->text, size + 1);
		slot->capacity = (uint32_t)size;
	}
	memcpy(slot->text, line->symbol.text, line->symbol.size);
	memcpy(slot->text + line->symbol.size, line->module.text, line->module.size);
	slot->hash = hash;
	slot->symbol_size = (uint32_t)line->symbol.size;
	slot->module_size = (uint32_t)line->module.size;
	slot->kernel = line->kernel;
	slot->count = (uint32_t)lines->unremembered.count;
	if (slot->count == 1) {
		slot->only = lines->unremembered.items[0];
	} else if (slot->count) {
		slot->frames = memory_resize(slot->frames, slot->count * sizeof(*slot->frames));
		memcpy(slot->frames, lines->unremembered.items, slot->count * sizeof(*slot->frames));
	}
}

static struct script_frames slot_frames(const struct slot *slot) {
	return (struct script_frames){slot->count == 1 ? &slot->only : slot->frames, slot->count};
}

bool script_frame(struct script_lines *lines, const char *text, size_t size, struct script_frames *frames) {
	struct line line;
	if (!parse_line(lines, text, size, &line))
		return false;
	bool addressed = lines->tables->addresses == ADDRESSES_ALL ||
			 (lines->tables->addresses == ADDRESSES_OF_UNNAMED &&
			  (line.symbol.size == 0 || equals(line.symbol, "[unknown]")));
	if (!addressed && line.symbol.size + line.module.size <= LONGEST_REMEMBERED) {
		uint64_t hash = hash_slice(line.symbol, line.module_hash ^ 0x9e3779b97f4a7c15u);
		struct slot *victim = NULL;
		for (size_t i = 0; i < PROBES; i++) {
			struct slot *slot = &lines->slots[(hash + i) & (SLOTS - 1)];
			if (slot_is(slot, hash, &line)) {
				*frames = slot_frames(slot);
				return true;
			}
			if (!slot->text && !victim)
				victim = slot;
		}
		build_frames(lines, &line);
		victim = victim ? victim : &lines->slots[(hash + (hash >> 60) % PROBES) & (SLOTS - 1)];
		remember(lines, victim, hash, &line);
		*frames = slot_frames(victim);
		return true;
	}
	build_frames(lines, &line);
	*frames = (struct script_frames){lines->unremembered.items, lines->unremembered.count};
	return true;
}

// ---- source lines ----

static struct slice trimmed(const char *line, size_t size) {
	struct slice text = {line, size};
	while (text.size && is_blank(*text.text)) {
		text.text++;
		text.size--;
	}
	while (text.size && is_blank(text.text[text.size - 1]))
		text.size--;
	return text;
}

struct slice script_source(const char *line, size_t size, uint32_t *number) {
	struct slice text = trimmed(line, size);
	size_t digits = 0;
	uint32_t unit = 1;
	*number = 0;
	for (; digits < text.size && text.text[text.size - 1 - digits] >= '0' &&
	       text.text[text.size - 1 - digits] <= '9';
	     digits++, unit *= 10)
		*number += unit * (uint32_t)(text.text[text.size - 1 - digits] - '0');
	bool numbered = digits && digits + 1 < text.size && text.text[text.size - 1 - digits] == ':';
	return numbered && !equals(text, "??:0") ? (struct slice){text.text, text.size - digits - 1}
						 : (struct slice){"", 0};
}

bool script_is_source_line(const char *line, size_t size) {
	uint32_t number;
	struct slice text = trimmed(line, size);
	return script_source(line, size, &number).size || equals(text, "??:0") || ends_with(text, "]");
}
