#include "base/text.h"
#include "base/utf8.h"

#include <stdarg.h>
#include <stdlib.h>

static const char replacement[] = "\xef\xbf\xbd"; // U+FFFD

static uint32_t decode(const uint8_t *at, size_t length) {
	static const uint8_t masks[] = {0, 0x7f, 0x1f, 0x0f, 0x07};
	uint32_t code = at[0] & masks[length];
	for (size_t i = 1; i < length; i++)
		code = code << 6 | (at[i] & 0x3f);
	return code;
}

// ---- plain ----

static bool is_control(uint32_t code) {
	return code < 0x20 || (code >= 0x7f && code < 0xa0);
}

// Line and paragraph separators; marks, embeddings, overrides and isolates of direction.
static bool is_steering(uint32_t code) {
	return code == 0x061c || code == 0x200e || code == 0x200f || (code >= 0x2028 && code <= 0x202e) ||
	       (code >= 0x2066 && code <= 0x2069);
}

static bool is_letter(uint8_t byte) {
	return (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z');
}

// "##", letters or none, "[".
static bool is_order(const uint8_t *at, const uint8_t *end) {
	if (end - at < 3 || at[0] != '#' || at[1] != '#')
		return false;
	for (at += 2; at < end && is_letter(*at);)
		at++;
	return at < end && *at == '[';
}

// "::" where nothing but spaces is before it. GitHub knows spaces beyond ASCII: all of that counts as one.
static const uint8_t *first_order(const uint8_t *at, const uint8_t *end) {
	while (at < end && (*at == ' ' || *at >= 0x80))
		at++;
	return end - at >= 2 && at[0] == ':' && at[1] == ':' ? at : NULL;
}

static void append_escape(struct buffer *out, uint32_t code) {
	static const char named[] = {['\t'] = 't', ['\n'] = 'n', ['\r'] = 'r'};
	if (code < sizeof(named) && named[code])
		buffer_printf(out, "\\%c", named[code]);
	else
		buffer_printf(out, code > 0xff ? "\\u%04x" : "\\x%02x", code);
}

// How many bytes are plain without a closer look.
static size_t plain_run(const uint8_t *at, const uint8_t *end) {
	const uint8_t *begin = at;
	while (at < end && *at >= 0x20 && *at < 0x7f && *at != '#')
		at++;
	return (size_t)(at - begin);
}

void text_plain(struct buffer *out, const char *text, size_t size) {
	const uint8_t *at = (const uint8_t *)text, *end = at + size, *order = first_order(at, end);
	while (at < end) {
		size_t run = plain_run(at, order && at < order ? order : end);
		if (run && at != order) {
			buffer_append(out, at, run);
			at += run;
			continue;
		}
		size_t length = utf8_length(at, (size_t)(end - at));
		uint32_t code = length ? decode(at, length) : *at;
		if (!length || is_control(code) || is_steering(code) || at == order || is_order(at, end))
			append_escape(out, code);
		else
			buffer_append(out, at, length);
		at += length ? length : 1;
	}
}

void text_plain_from(struct buffer *out, size_t begin) {
	const uint8_t *at = out->data + begin, *end = out->data + out->size;
	if (begin == out->size || (plain_run(at, end) == (size_t)(end - at) && !first_order(at, end)))
		return;
	struct buffer plain = {0};
	text_plain(&plain, (const char *)at, (size_t)(end - at));
	out->size = begin;
	buffer_append(out, plain.data, plain.size);
	buffer_free(&plain);
}

char *text_plain_copy(const char *text) {
	struct buffer plain = {0};
	text_plain(&plain, text, strlen(text));
	buffer_append(&plain, "", 1);
	return (char *)plain.data;
}

static void append_line(struct buffer *out, const char *format, va_list arguments) {
	va_list again;
	va_copy(again, arguments);
	size_t begin = out->size;
	int length = vsnprintf(NULL, 0, format, again);
	va_end(again);
	if (length >= 0) {
		vsnprintf((char *)buffer_room(out, (size_t)length + 1), (size_t)length + 1, format,
			  arguments);
		out->size += (size_t)length;
	}
	text_plain_from(out, begin);
	buffer_append(out, "\n", 1);
}

void text_append_line(struct buffer *out, const char *format, ...) {
	va_list arguments;
	va_start(arguments, format);
	append_line(out, format, arguments);
	va_end(arguments);
}

void text_line(FILE *out, const char *format, ...) {
	struct buffer line = {0};
	va_list arguments;
	va_start(arguments, format);
	append_line(&line, format, arguments);
	va_end(arguments);
	fwrite(line.data, 1, line.size, out);
	buffer_free(&line);
}

static bool is_exact(const char *text) {
	const uint8_t *at = (const uint8_t *)text, *end = at + strlen(text);
	bool exact = !first_order(at, end);
	for (; at < end; at++)
		exact = exact && *at >= 0x20 && *at != 0x7f && !is_order(at, end);
	return exact;
}

void text_path_line(FILE *out, const char *path) {
	if (is_exact(path))
		fprintf(out, "%s\n", path);
	else
		text_line(out, "%s", path);
}

size_t text_width(const void *text, size_t size) {
	size_t width = 0;
	for (size_t i = 0; i < size; i++)
		width += (((const uint8_t *)text)[i] & 0xc0) != 0x80;
	return width;
}

// ---- UTF-8 ----

void text_utf8(struct buffer *out, const char *text, size_t size) {
	for (size_t at = 0, length; at < size; at += length ? length : 1) {
		length = utf8_length((const uint8_t *)text + at, size - at);
		buffer_append(out, length ? text + at : replacement, length ? length : strlen(replacement));
	}
}

// ---- XML ----

// What replaces the character at `at`; NULL if nothing.
static const char *xml_entity(const uint8_t *at, size_t length) {
	static const struct {
		uint8_t byte;
		const char *entity;
	} entities[] = {{'<', "&lt;"}, {'>', "&gt;"}, {'&', "&amp;"}, {'"', "&quot;"}};
	for (size_t i = 0; i < ARRAY_SIZE(entities); i++)
		if (*at == entities[i].byte)
			return entities[i].entity;
	bool control = (*at < 0x20 && *at != '\n' && *at != '\t') || *at == 0x7f;
	bool none = length == 3 && at[0] == 0xef && at[1] == 0xbf && at[2] >= 0xbe; // U+FFFE, U+FFFF
	return !length || control || none ? replacement : NULL;
}

void text_xml_cut(struct buffer *out, const char *text, size_t size, size_t most) {
	const uint8_t *at = (const uint8_t *)text, *end = at + size;
	size_t last = 0; // where the text was one character shorter than allowed
	for (size_t count = 0; at < end; count++) {
		if (count + 1 == most)
			last = out->size;
		if (count == most) {
			out->size = last;
			buffer_text(out, "…");
			return;
		}
		size_t length = utf8_length(at, (size_t)(end - at));
		const char *entity = xml_entity(at, length);
		if (*at == '\r' && end - at > 1 && at[1] == '\n')
			count--; // the end of a line on Windows is the same as ours to XML
		else if (entity)
			buffer_text(out, entity);
		else
			buffer_append(out, at, length);
		at += length ? length : 1;
	}
}

void text_xml(struct buffer *out, const char *text, size_t size) {
	text_xml_cut(out, text, size, SIZE_MAX);
}
