// Parses the text of a frame:
//     0x4005D0: function (file.c:12)
//     0x4005D0: function (in /usr/lib/libx.so)
//     0x4005D0: ??? (in ...)
//     0x4005D0: [libx.so+0x5c0] (in /usr/lib/libx.so)
//     0x4005D0: <T as U>::function (src/file.rs:12:34)
#include "read/dhat.h"

static bool is_number(const char *text, size_t size) {
	for (size_t i = 0; i < size; i++)
		if (text[i] < '0' || text[i] > '9')
			return false;
	return size > 0;
}

// Takes ":NUMBER" off the end.
static bool take_number(const char *text, size_t *size, uint32_t *number) {
	size_t colon = *size;
	while (colon && text[colon - 1] != ':')
		colon--;
	if (!colon || !is_number(text + colon, *size - colon))
		return false;
	*number = (uint32_t)strtoul(text + colon, NULL, 10);
	*size = colon - 1;
	return true;
}

// Parses the parentheses at the end if they hold a location; they may also be an argument list.
static bool take_place(struct tables *tables, struct frame *frame, const char *text, size_t size) {
	uint32_t last, line;
	if (size > 3 && memcmp(text, "in ", 3) == 0) {
		frame->module = strings_add_bytes(tables->strings, text + 3, size - 3);
		return true;
	}
	if (!take_number(text, &size, &last))
		return false;
	frame->line = take_number(text, &size, &line) ? line : last; // else `last` is a column
	frame->file = strings_add_bytes(tables->strings, text, size);
	return true;
}

// Valgrind's stacks begin with its own functions.
static bool is_of_valgrind(const struct tables *tables, const struct frame *frame) {
	return strstr(strings_get(tables->strings, frame->module), "/vgpreload_") ||
	       strcmp(strings_get(tables->strings, frame->file), "vg_replace_malloc.c") == 0;
}

static const char *last_parenthesis(const char *text, size_t size) {
	for (size_t at = size; at-- > 1;)
		if (text[at] == '(' && text[at - 1] == ' ')
			return text + at;
	return NULL;
}

// Recognizes "[module+0x12]", which replaces the name of an unknown function.
static bool is_place(const char *module, const char *text, size_t size, uint64_t *position) {
	size_t plus = size;
	while (plus && text[plus - 1] != '+')
		plus--;
	if (!plus || *text != '[' || !*module)
		return false;
	*position = strtoull(text + plus, NULL, 16);
	CLEANUP_FREE char *place = frame_place(module, *position);
	return strlen(place) == size && memcmp(text, place, size) == 0;
}

// In the same form as for samples (symbol/symbolizer.c).
static void set_place(struct tables *tables, struct frame *frame, uint64_t position) {
	if (tables->details || tables->addresses != ADDRESSES_NONE) {
		frame->position = position;
		frame->exact = NAME_OF_SYMBOL;
	}
}

uint32_t dhat_frame(struct tables *tables, const char *text) {
	struct frame frame = {.kind = FRAME_USER};
	if (strcmp(text, "[root]") == 0)
		return UINT32_MAX;
	uint64_t address = 0;
	if (strncmp(text, "0x", 2) == 0) {
		char *end;
		address = strtoull(text, &end, 16);
		if (strncmp(end, ": ", 2) == 0)
			text = end + 2;
	}
	size_t size = strlen(text);
	const char *open = size && text[size - 1] == ')' ? last_parenthesis(text, size) : NULL;
	if (open && take_place(tables, &frame, open + 1, (size_t)(text + size - 1 - (open + 1))))
		size = (size_t)(open - 1 - text);
	if (is_of_valgrind(tables, &frame))
		return UINT32_MAX;
	uint64_t position;
	bool place = is_place(strings_get(tables->strings, frame.module), text, size, &position);
	bool named = size && !place && !(size == 3 && memcmp(text, "???", 3) == 0);
	if (place)
		set_place(tables, &frame, position);
	frame.symbol = named ? strings_add_bytes(tables->strings, text, size) : 0;
	if (tables->addresses == ADDRESSES_ALL || (tables->addresses == ADDRESSES_OF_UNNAMED && !named))
		frame.address = address;
	return stacks_add_frame(tables->stacks, &frame);
}
