// A sample of a thread that runs Python comes one nanosecond after the frames of the interpreter, and these
// after each piece of code that is met for the first time. The frames become a stack; where the interpreter's
// C functions begin, it has a frame without a name. Python's own tables say to which line an instruction
// belongs (Objects/locations.md and Objects/lnotab_notes.txt in its sources describe them).
#include "read/spool/scripts.h"

#include "base/buffer.h"
#include "base/text.h"

#include <stdio.h>

// ---- lines ----

// The line of the instruction at a byte. 0 if unknown.
static uint32_t line_by_bytes(struct cursor in, uint32_t line, uint32_t at) {
	uint32_t reached = 0;
	while (cursor_left(&in) >= 2) {
		reached += cursor_u8(&in);
		if (reached > at)
			break;
		line += (uint32_t)(int8_t)cursor_u8(&in);
	}
	return line;
}

static uint32_t line_by_ranges(struct cursor in, uint32_t line, uint32_t at) {
	enum { NO_LINE = -128 };
	uint32_t reached = 0;
	while (cursor_left(&in) >= 2) {
		reached += cursor_u8(&in);
		int8_t more = (int8_t)cursor_u8(&in);
		line += more == NO_LINE ? 0 : (uint32_t)(int32_t)more;
		if (reached > at)
			return more == NO_LINE ? 0 : line;
	}
	return 0;
}

static uint32_t location_number(struct cursor *in) {
	enum { MORE = 0x40, BITS = 6, MOST_BITS = 30 };
	uint32_t value = 0;
	for (uint32_t shift = 0; shift <= MOST_BITS; shift += BITS) {
		uint8_t byte = cursor_u8(in);
		value |= (uint32_t)(byte & (MORE - 1)) << shift;
		if (!(byte & MORE))
			break;
	}
	return value;
}

static uint32_t location_signed(struct cursor *in) {
	uint32_t value = location_number(in);
	return value & 1 ? 0u - (value >> 1) : value >> 1;
}

// `at` counts instructions.
static uint32_t line_by_locations(struct cursor in, uint32_t line, uint32_t at) {
	enum { LENGTH = 7, KIND_SHIFT = 3, KINDS = 15, ONE_LINE = 10, NO_COLUMNS = 13, LONG, NONE };
	uint32_t reached = 0;
	while (cursor_left(&in)) {
		uint8_t first = cursor_u8(&in);
		uint32_t kind = first >> KIND_SHIFT & KINDS;
		reached += (first & LENGTH) + 1u;
		if (kind < ONE_LINE) {
			cursor_u8(&in);
		} else if (kind < NO_COLUMNS) {
			line += kind - ONE_LINE;
			cursor_take(&in, 2);
		} else if (kind != NONE) {
			line += location_signed(&in);
			for (int i = 0; kind == LONG && i < 3; i++)
				location_number(&in);
		}
		if (reached > at && !in.failed)
			return kind == NONE ? 0 : line;
	}
	return 0;
}

static uint32_t line_at(const struct scripts *scripts, const struct script_code *code, uint32_t position) {
	struct cursor table = cursor_of(strings_get(scripts->strings, code->lines),
					strings_length(scripts->strings, code->lines));
	if (position == SCRIPT_NO_POSITION)
		return 0;
	switch (code->line_table) {
	case PYTHON_LINES_BYTES:
		return line_by_bytes(table, code->first_line, position * 2);
	case PYTHON_LINES_RANGES:
		return line_by_ranges(table, code->first_line, position * 2);
	default:
		return line_by_locations(table, code->first_line, position);
	}
}

// ---- code ----

static void put_character(struct buffer *out, uint32_t character) {
	uint8_t bytes[4];
	size_t count = 0;
	if (character < 0x80) {
		bytes[count++] = (uint8_t)character;
	} else if (character < 0x800) {
		bytes[count++] = (uint8_t)(0xc0 | character >> 6);
	} else if (character < 0x10000) {
		bytes[count++] = (uint8_t)(0xe0 | character >> 12);
		bytes[count++] = (uint8_t)(0x80 | (character >> 6 & 0x3f));
	} else {
		bytes[count++] = (uint8_t)(0xf0 | (character >> 18 & 7));
		bytes[count++] = (uint8_t)(0x80 | (character >> 12 & 0x3f));
		bytes[count++] = (uint8_t)(0x80 | (character >> 6 & 0x3f));
	}
	if (character >= 0x80)
		bytes[count++] = (uint8_t)(0x80 | (character & 0x3f));
	buffer_append(out, bytes, count);
}

static uint32_t add_text(struct strings *strings, const uint8_t *bytes, uint32_t size, uint32_t width,
			 const char *after) {
	struct buffer text = {0};
	for (uint32_t i = 0; i < size; i++) {
		uint32_t character = 0;
		memcpy(&character, bytes + (size_t)i * width, width);
		put_character(&text, character);
	}
	buffer_append(&text, after, strlen(after));
	uint32_t id = strings_add_bytes(strings, text.data, text.size);
	buffer_free(&text);
	return id;
}

static bool is_width(uint8_t width) {
	return width == 1 || width == 2 || width == 4;
}

static uint64_t place_of(uint32_t pid, uint64_t code) {
	const uint64_t key[] = {pid, code};
	return hash_bytes(key, sizeof(key));
}

// A module has no name of its own: "<module> test.py".
static uint32_t name_of(struct strings *strings, const struct record_code *record, uint32_t file) {
	static const char module[] = "<module>";
	char after[CODE_FILE_ROOM] = "";
	const char *path = strings_get(strings, file), *slash = strrchr(path, '/');
	if (record->name_width == 1 && record->name_size == strlen(module) &&
	    memcmp(record->name, module, strlen(module)) == 0)
		snprintf(after, sizeof(after), " %s", slash ? slash + 1 : path);
	return add_text(strings, record->name, record->name_size, record->name_width, after);
}

static bool take_code(struct scripts *scripts, struct cursor *in) {
	struct record_code record = {0};
	enum { HEAD = sizeof(struct record), FIXED = offsetof(struct record_code, lines) };
	cursor_copy(in, (char *)&record + HEAD, FIXED - HEAD);
	const uint8_t *lines = cursor_take(in, record.lines_size);
	if (in->failed || !is_width(record.name_width) || !is_width(record.file_width) ||
	    record.name_size > CODE_NAME_ROOM / record.name_width ||
	    record.file_size > CODE_FILE_ROOM / record.file_width || record.first_line > INT32_MAX)
		return false;
	struct script_code code = {.first_line = record.first_line, .line_table = record.line_table};
	code.file = add_text(scripts->strings, record.file, record.file_size, record.file_width, "");
	code.name = name_of(scripts->strings, &record, code.file);
	code.lines = strings_add_bytes(scripts->strings, lines, record.lines_size);
	array_push(&scripts->codes, code);
	*map_put(&scripts->by_place, place_of(record.pid, record.code)) = scripts->codes.count;
	return true;
}

// ---- frames ----

static uint32_t add_frame(struct scripts *scripts, uint32_t stack, const struct script_code *code,
			  uint32_t position) {
	struct frame frame = {.kind = FRAME_JIT, .exact = NAME_OF_SYMBOL};
	if (code) {
		frame.symbol = code->name;
		frame.module = frame.file = code->file;
		frame.line = code->first_line;
		frame.at_line = line_at(scripts, code, position);
		frame.at_file = frame.at_line ? code->file : 0;
	}
	return stacks_add(scripts->stacks, stack, stacks_add_frame(scripts->stacks, &frame));
}

// A flight recording may have lost what a frame refers to: then the C functions have to do.
static bool take_frames(struct scripts *scripts, const struct record *head, struct cursor *in,
			uint64_t time) {
	uint32_t tid = cursor_u32(in), pid = cursor_u32(in), stack = 0;
	size_t count = cursor_left(in) / sizeof(uint64_t);
	const uint8_t *words = cursor_take(in, count * sizeof(uint64_t));
	if (!words || !count || count > SCRIPT_MOST_FRAMES)
		return false;
	while (count--) {
		uint64_t word;
		memcpy(&word, words + count * sizeof(word), sizeof(word));
		uint64_t *known = map_get(&scripts->by_place, place_of(pid, word & SCRIPT_CODE));
		if (word & SCRIPT_ENTRY && !(stack == 0 && head->flags & SCRIPT_CUT))
			stack = add_frame(scripts, stack, NULL, 0);
		if (!(word & SCRIPT_CODE))
			continue;
		if (!known)
			return true;
		stack = add_frame(scripts, stack, &scripts->codes.items[*known - 1],
				  (uint32_t)(word >> SCRIPT_POSITION_SHIFT));
	}
	*map_put(&scripts->waiting, tid) = (time + 1) << 32 | stack;
	return true;
}

void scripts_take(struct scripts *scripts, const struct record *head, struct cursor *in, uint64_t time,
		  bool *bad) {
	if (head->kind == RECORD_CODE)
		*bad = !take_code(scripts, in);
	else if (head->kind == RECORD_SCRIPT)
		*bad = !take_frames(scripts, head, in, time);
}

// The lower half of the time is enough: four seconds later it is another sample's.
uint32_t scripts_for(struct scripts *scripts, uint32_t tid, uint64_t time) {
	uint64_t *waiting = scripts->waiting.count ? map_get(&scripts->waiting, tid) : NULL;
	return waiting && *waiting >> 32 == (time & UINT32_MAX) ? (uint32_t)*waiting : 0;
}

void scripts_free(struct scripts *scripts) {
	array_free(&scripts->codes);
	map_free(&scripts->by_place);
	map_free(&scripts->waiting);
}
