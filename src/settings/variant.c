// The canonical form is built while a text is parsed: each value becomes its own canonical
// text, and a container sorts those of its members.
#include "settings/variant.h"
#include "base/array.h"
#include "base/json_read.h"
#include "base/siphash.h"
#include "base/utf8.h"

#include <inttypes.h>
#include <stdio.h>

enum { DEEPEST = 16 };

struct part {
	char *name; // of a member; of an item that is a text: this text, else NULL
	char *value;
};

typedef ARRAY(struct part) part_array;

static void parts_free(part_array *parts) {
	for (size_t i = 0; i < parts->count; i++) {
		free(parts->items[i].name);
		free(parts->items[i].value);
	}
	array_free(parts);
}

static int compare_parts(const void *left, const void *right) {
	return strcmp(((const struct part *)left)->name, ((const struct part *)right)->name);
}

static void sort_parts(part_array *parts) {
	if (parts->count)
		qsort(parts->items, parts->count, sizeof(*parts->items), compare_parts);
}

// Takes both; the same name again replaces the value.
static void set_member(part_array *members, char *name, char *value) {
	for (size_t i = 0; i < members->count; i++)
		if (strcmp(members->items[i].name, name) == 0) {
			free(members->items[i].value);
			members->items[i].value = value;
			free(name);
			return;
		}
	array_push(members, (struct part){name, value});
}

// ---- writing ----

static char *text_of(struct buffer *buffer) {
	buffer_append(buffer, "", 1);
	return (char *)buffer->data;
}

// As short as JSON allows.
static void add_quoted(struct buffer *out, const char *text) {
	static const char special[] = "\"\"\\\\\bb\ff\nn\rr\tt"; // pairs: the byte, how it is written
	buffer_append(out, "\"", 1);
	for (; *text; text++) {
		const char *pair = special;
		while (*pair && *pair != *text)
			pair += 2;
		if (*pair)
			buffer_printf(out, "\\%c", pair[1]);
		else if ((unsigned char)*text < 0x20)
			buffer_printf(out, "\\u%04x", (unsigned char)*text);
		else
			buffer_append(out, text, 1);
	}
	buffer_append(out, "\"", 1);
}

static char *quoted(const char *text) {
	struct buffer out = {0};
	add_quoted(&out, text);
	return text_of(&out);
}

static char *write_object(part_array *members) {
	struct buffer out = {0};
	sort_parts(members);
	buffer_append(&out, "{", 1);
	for (size_t i = 0; i < members->count; i++) {
		buffer_append(&out, ",", i > 0);
		add_quoted(&out, members->items[i].name);
		buffer_append(&out, ":", 1);
		buffer_text(&out, members->items[i].value);
	}
	buffer_append(&out, "}", 1);
	return text_of(&out);
}

// Only a list of texts is a set; others may mean their order.
static char *write_array(part_array *items) {
	struct buffer out = {0};
	bool texts = true;
	for (size_t i = 0; i < items->count; i++)
		texts &= items->items[i].name != NULL;
	if (texts)
		sort_parts(items);
	buffer_append(&out, "[", 1);
	for (size_t i = 0; i < items->count; i++) {
		buffer_append(&out, ",", i > 0);
		buffer_text(&out, items->items[i].value);
	}
	buffer_append(&out, "]", 1);
	return text_of(&out);
}

// ---- reading ----

static char *take_value(struct json_reader *reader, unsigned depth);

static char *take_text(struct json_reader *reader) {
	CLEANUP_FREE char *text = json_read_if_text(reader);
	return text ? quoted(text) : NULL;
}

static void take_members(struct json_reader *reader, part_array *members, unsigned depth) {
	struct json_piece key;
	json_enter(reader, '{');
	while (json_member(reader, &key)) {
		struct json_reader name = json_from(key.text - 1, key.size + 2); // with its quotation marks
		char *plain = json_read_if_text(&name);
		reader->failed |= name.failed;
		set_member(members, plain, take_value(reader, depth));
	}
}

static char *take_object(struct json_reader *reader, unsigned depth) {
	part_array members = {0};
	take_members(reader, &members, depth);
	char *text = reader->failed ? NULL : write_object(&members);
	parts_free(&members);
	return text;
}

static char *take_array(struct json_reader *reader, unsigned depth) {
	part_array items = {0};
	json_enter(reader, '[');
	while (json_item(reader)) {
		struct json_reader again = *reader;
		bool is_text = json_peek(&again) == '"';
		char *value = take_value(reader, depth);
		array_push(&items, (struct part){is_text ? json_read_if_text(&again) : NULL, value});
	}
	char *text = reader->failed ? NULL : write_array(&items);
	parts_free(&items);
	return text;
}

// A number or a word, as it stands there, but for a zero that has a sign.
static char *take_plain(struct json_reader *reader) {
	json_peek(reader);
	const char *begin = reader->at;
	json_skip(reader);
	if (reader->failed)
		return NULL;
	begin += reader->at - begin == 2 && memcmp(begin, "-0", 2) == 0;
	char *text = memory_format("%.*s", (int)(reader->at - begin), begin);
	reader->failed |= !json_is_plain(text);
	return text;
}

// NULL, or something, where the reader has failed.
static char *take_value(struct json_reader *reader, unsigned depth) {
	char first = json_peek(reader);
	if (depth == DEEPEST) {
		reader->failed = true;
		return NULL;
	}
	return first == '{'   ? take_object(reader, depth + 1)
	       : first == '[' ? take_array(reader, depth + 1)
	       : first == '"' ? take_text(reader)
			      : take_plain(reader);
}

static bool is_utf8(const char *text) {
	size_t left = strlen(text), length = 1;
	for (; left && length; text += length, left -= length)
		length = utf8_length((const uint8_t *)text, left);
	return length;
}

// Accepts one whole object and nothing after it; false if it is anything else, and nothing changed.
static bool take_whole(const char *text, part_array *members) {
	struct json_reader reader = json_from(text, strlen(text));
	part_array found = {0};
	take_members(&reader, &found, 1);
	bool good = !reader.failed && !json_peek(&reader) && is_utf8(text);
	for (size_t i = 0; good && i < found.count; i++)
		set_member(members, found.items[i].name, found.items[i].value);
	if (good)
		array_free(&found);
	else
		parts_free(&found);
	return good;
}

char *variant_add(const char *variant, const char *addition) {
	part_array members = {0};
	const char *equals = strchr(addition, '=');
	bool good = true;
	if (variant)
		take_whole(variant, &members);
	if (*addition == '{')
		good = take_whole(addition, &members);
	else if (equals && equals > addition)
		set_member(&members, memory_format("%.*s", (int)(equals - addition), addition),
			   quoted(equals + 1));
	else
		good = false;
	char *text = good ? write_object(&members) : NULL;
	parts_free(&members);
	return text;
}

void variant_hash(const char *variant, char digits[VARIANT_HASH_SIZE]) {
	snprintf(digits, VARIANT_HASH_SIZE, "%016" PRIx64, siphash13(variant, strlen(variant)));
}
