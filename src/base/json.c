#include "base/json.h"
#include "base/utf8.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

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
	buffer_decimal(json->out, value);
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

void json_exact(struct json *json, const char *key, double value) {
	char digits[32];
	snprintf(digits, sizeof(digits), "%.15g", value);
	if (strtod(digits, NULL) != value)
		snprintf(digits, sizeof(digits), "%.17g", value);
	begin(json, key);
	buffer_printf(json->out, "%s", isfinite(value) ? digits : "null");
}

void json_raw(struct json *json, const char *key, const char *value) {
	begin(json, key);
	buffer_append(json->out, value, strlen(value));
}

void json_bool(struct json *json, const char *key, bool value) {
	begin(json, key);
	buffer_printf(json->out, value ? "true" : "false");
}
