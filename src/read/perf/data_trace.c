// Tracepoint formats: the text from events/SYSTEM/NAME/format in tracefs, as perf
// packs it into its "tracing data".
#include "read/perf/data.h"

#include "base/buffer.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_FIELDS = 256, MOST_FORMATS = 1 << 14 };

// ---- one format ----

static bool starts(const char *line, const char *word) {
	return strncmp(line, word, strlen(word)) == 0;
}

static uint64_t number_behind(const char *line, const char *key) {
	const char *found = strstr(line, key);
	return found ? strtoull(found + strlen(key), NULL, 0) : 0;
}

// "\tfield:char prev_comm[16];\toffset:8;\tsize:16;\tsigned:0;"
static void read_field(struct trace_format *format, const char *line) {
	const char *begin = strstr(line, "field:");
	const char *end = begin ? strchr(begin, ';') : NULL;
	if (!end || format->fields.count == MOST_FIELDS)
		return;
	const char *name_end = end;
	bool array = end[-1] == ']';
	if (array)
		while (name_end > begin && *name_end != '[')
			name_end--;
	const char *name = name_end;
	while (name > begin && name[-1] != ' ' && name[-1] != '*' && name[-1] != '\t')
		name--;
	struct trace_field field = {
		.name = memory_format("%.*s", (int)(name_end - name), name),
		.offset = (uint32_t)number_behind(end, "offset:"),
		.size = (uint32_t)number_behind(end, "size:"),
		.is_signed = number_behind(end, "signed:"),
		.is_array = array,
	};
	CLEANUP_FREE char *type = memory_format("%.*s", (int)(name - begin), begin);
	field.relative = strstr(type, "__rel_loc");
	field.dynamic = field.relative || strstr(type, "__data_loc");
	field.is_text = (array || field.dynamic) && strstr(type, "char") && !strstr(type, "unsigned char");
	field.is_pointer = strchr(type, '*') && !array && !field.dynamic;
	field.common = starts(field.name, "common_");
	array_push(&format->fields, field);
}

static void read_format(struct trace_formats *formats, const char *system, char *text,
			struct strings *strings) {
	struct trace_format format = {0};
	char *save = NULL;
	for (char *line = strtok_r(text, "\n", &save); line; line = strtok_r(NULL, "\n", &save)) {
		if (starts(line, "name: ")) {
			char *name = memory_format("%s:%s", system, line + 6);
			format.name = strings_add(strings, name);
			format.system = strings_add(strings, system);
			format.event = strings_add(strings, line + 6);
			free(name);
		} else if (starts(line, "ID: ")) {
			format.id = strtoull(line + 4, NULL, 10);
		} else if (strstr(line, "field:")) {
			read_field(&format, line);
		}
	}
	array_push(&formats->items, format);
	uint64_t *index = map_put(&formats->by_id, format.id);
	*index = *index ? *index : formats->items.count;
}

// ---- the packed formats ----

static char *take_text(struct cursor *in, uint64_t size) {
	const uint8_t *bytes = size <= cursor_left(in) ? cursor_take(in, (size_t)size) : NULL;
	if (!bytes) {
		in->failed = true;
		return NULL;
	}
	return memory_format("%.*s", (int)MIN(size, 1u << 20), (const char *)bytes);
}

static void skip_piece(struct cursor *in, uint64_t size) {
	if (size > cursor_left(in))
		in->failed = true;
	else
		cursor_take(in, (size_t)size);
}

static void read_system(struct trace_formats *formats, struct cursor *in, const char *system,
			struct strings *strings) {
	uint32_t count = cursor_u32(in);
	for (uint32_t i = 0; i < count && !in->failed && formats->items.count < MOST_FORMATS; i++) {
		char *text = take_text(in, cursor_u64(in));
		if (text)
			read_format(formats, system, text, strings);
		free(text);
	}
}

void trace_formats_read(struct trace_formats *formats, struct cursor in, struct strings *strings) {
	static const char magic[10] = "\x17\x08\x44tracing";
	const uint8_t *head = cursor_take(&in, sizeof(magic));
	if (!head || memcmp(head, magic, sizeof(magic)) != 0)
		return;
	cursor_string(&in);           // version
	cursor_take(&in, 6);          // endianness, size of long, size of a page
	for (int i = 0; i < 2; i++) { // header_page and header_event
		cursor_string(&in);
		skip_piece(&in, cursor_u64(&in));
	}
	uint32_t own = cursor_u32(&in); // ftrace's own events
	for (uint32_t i = 0; i < own && !in.failed; i++)
		skip_piece(&in, cursor_u64(&in));
	uint32_t systems = cursor_u32(&in);
	for (uint32_t i = 0; i < systems && !in.failed; i++) {
		const char *system = cursor_string(&in);
		if (system)
			read_system(formats, &in, system, strings);
	}
}

struct trace_format *trace_format_by_id(const struct trace_formats *formats, uint64_t id) {
	const uint64_t *index = map_get(&formats->by_id, id);
	return index ? &formats->items.items[*index - 1] : NULL;
}

const struct trace_field *trace_field_by_name(const struct trace_format *format, const char *name) {
	for (size_t i = 0; i < format->fields.count; i++)
		if (strcmp(format->fields.items[i].name, name) == 0)
			return &format->fields.items[i];
	return NULL;
}

bool trace_field_number(const struct trace_field *field, const uint8_t *raw, size_t size, int64_t *value) {
	if (!field || field->size > 8 || !field->size || field->offset > size ||
	    field->size > size - field->offset)
		return false;
	uint64_t bits = 0;
	memcpy(&bits, raw + field->offset, field->size);
	unsigned unused = 64 - 8 * field->size;
	*value = field->is_signed ? (int64_t)(bits << unused) >> unused : (int64_t)bits;
	return true;
}

const uint8_t *trace_field_bytes(const struct trace_field *field, const uint8_t *raw, size_t size,
				 size_t *length) {
	uint64_t offset = field->offset, bytes = field->size;
	if (offset > size || bytes > size - offset)
		return NULL;
	if (field->dynamic) {
		uint32_t place = 0;
		memcpy(&place, raw + offset, MIN(bytes, sizeof(place)));
		offset = (place & 0xffff) + (field->relative ? offset + bytes : 0);
		bytes = place >> 16;
		if (offset > size || bytes > size - offset)
			return NULL;
	}
	*length = field->is_text ? strnlen((const char *)raw + offset, (size_t)bytes) : (size_t)bytes;
	return raw + offset;
}

void trace_formats_free(struct trace_formats *formats) {
	for (size_t i = 0; i < formats->items.count; i++) {
		struct trace_format *format = &formats->items.items[i];
		for (size_t k = 0; k < format->fields.count; k++)
			free(format->fields.items[k].name);
		array_free(&format->fields);
	}
	array_free(&formats->items);
	map_free(&formats->by_id);
}
