#include "base/json.h"

#include <inttypes.h>
#include <math.h>

// The length of the well-formed UTF-8 sequence at `at`, 0 if there is none.
static size_t utf8_length(const uint8_t *at, size_t left) {
	static const struct {
		uint8_t mask, lead, size;
		uint32_t least;
	} forms[] = {{0x80, 0x00, 1, 0}, {0xe0, 0xc0, 2, 0x80}, {0xf0, 0xe0, 3, 0x800}, {0xf8, 0xf0, 4, 0x10000}};
	for (size_t i = 0; i < ARRAY_SIZE(forms); i++) {
		if ((at[0] & forms[i].mask) != forms[i].lead)
			continue;
		if (left < forms[i].size)
			return 0;
		uint32_t code = at[0] & (uint8_t)~forms[i].mask;
		for (size_t k = 1; k < forms[i].size; k++) {
			if ((at[k] & 0xc0) != 0x80)
				return 0;
			code = code << 6 | (at[k] & 0x3f);
		}
		bool surrogate = code >= 0xd800 && code < 0xe000;
		return code < forms[i].least || code > 0x10ffff || surrogate ? 0 : forms[i].size;
	}
	return 0;
}

// Bytes that are not UTF-8 (a command line may hold any) become U+FFFD.
static void append_quoted(struct buffer *out, const char *text, size_t size) {
	const uint8_t *at = (const uint8_t *)text;
	buffer_append(out, "\"", 1);
	while (size) {
		size_t length = utf8_length(at, size);
		if (length == 0)
			buffer_append(out, "\\ufffd", 6);
		else if (*at == '"' || *at == '\\')
			buffer_printf(out, "\\%c", *at);
		else if (*at == '\n')
			buffer_append(out, "\\n", 2);
		else if (*at == '\t')
			buffer_append(out, "\\t", 2);
		else if (*at < 0x20 || *at == 0x7f)
			buffer_printf(out, "\\u%04x", *at);
		else
			buffer_append(out, at, length);
		length += length == 0;
		at += length;
		size -= length;
	}
	buffer_append(out, "\"", 1);
}

static void begin(struct json *json, const char *key) {
	if (json->comma)
		buffer_append(json->out, ",", 1);
	json->comma = true;
	if (key) {
		append_quoted(json->out, key, strlen(key));
		buffer_append(json->out, ":", 1);
	}
}

static void open_with(struct json *json, const char *key, const char *bracket) {
	begin(json, key);
	buffer_append(json->out, bracket, 1);
	json->depth++;
	json->comma = false;
}

static void close_with(struct json *json, const char *bracket) {
	buffer_append(json->out, bracket, 1);
	json->depth--;
	json->comma = json->depth > 0;
}

void json_object(struct json *json, const char *key) {
	open_with(json, key, "{");
}

void json_array(struct json *json, const char *key) {
	open_with(json, key, "[");
}

void json_close_object(struct json *json) {
	close_with(json, "}");
}

void json_close_array(struct json *json) {
	close_with(json, "]");
}

void json_text(struct json *json, const char *key, const char *value, size_t size) {
	begin(json, key);
	append_quoted(json->out, value, size);
}

void json_string(struct json *json, const char *key, const char *value) {
	if (value) {
		json_text(json, key, value, strlen(value));
	} else {
		begin(json, key);
		buffer_append(json->out, "null", 4);
	}
}

void json_uint(struct json *json, const char *key, uint64_t value) {
	begin(json, key);
	buffer_printf(json->out, "%" PRIu64, value);
}

void json_int(struct json *json, const char *key, int64_t value) {
	begin(json, key);
	buffer_printf(json->out, "%" PRId64, value);
}

void json_double(struct json *json, const char *key, double value) {
	begin(json, key);
	if (isfinite(value))
		buffer_printf(json->out, "%.9g", value);
	else
		buffer_append(json->out, "null", 4);
}

void json_bool(struct json *json, const char *key, bool value) {
	begin(json, key);
	buffer_printf(json->out, value ? "true" : "false");
}
