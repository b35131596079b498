#include "base/json_read.h"

#include "base/utf8.h"

#include <stdlib.h>

enum { DEEPEST = 64 };

static void fail(struct json_reader *reader) {
	reader->failed = true;
	reader->at = reader->end;
}

char json_peek(struct json_reader *reader) {
	while (reader->at < reader->end &&
	       (*reader->at == ' ' || *reader->at == '\n' || *reader->at == '\t' || *reader->at == '\r'))
		reader->at++;
	return reader->at < reader->end ? *reader->at : 0;
}

static bool take(struct json_reader *reader, char expected) {
	if (json_peek(reader) != expected) {
		fail(reader);
		return false;
	}
	reader->at++;
	return true;
}

bool json_is(const struct json_piece *piece, const char *text) {
	return strlen(text) == piece->size && memcmp(piece->text, text, piece->size) == 0;
}

// ---- what holds others ----

bool json_enter(struct json_reader *reader, char bracket) {
	reader->fresh = true;
	return take(reader, bracket);
}

static bool next(struct json_reader *reader, char close) {
	bool first = reader->fresh;
	reader->fresh = false;
	if (reader->failed)
		return false;
	if (json_peek(reader) == close) {
		reader->at++;
		return false;
	}
	return first || take(reader, ',');
}

static struct json_piece take_string(struct json_reader *reader) {
	struct json_piece piece = {.text = ""};
	if (!take(reader, '"'))
		return piece;
	const char *begin = reader->at;
	for (; reader->at < reader->end; reader->at++) {
		if (*reader->at == '"') {
			piece = (struct json_piece){begin, (size_t)(reader->at++ - begin)};
			return piece;
		}
		if (*reader->at == '\\' && ++reader->at == reader->end)
			break;
	}
	fail(reader);
	return piece;
}

bool json_member(struct json_reader *reader, struct json_piece *key) {
	if (!next(reader, '}'))
		return false;
	*key = take_string(reader);
	return take(reader, ':');
}

bool json_item(struct json_reader *reader) {
	return next(reader, ']');
}

// ---- values ----

static bool is_plain(char c) {
	return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '+' ||
	       c == '-' || c == '.';
}

// A number, true, false or null.
static struct json_piece take_plain(struct json_reader *reader) {
	json_peek(reader);
	const char *begin = reader->at;
	while (reader->at < reader->end && is_plain(*reader->at))
		reader->at++;
	struct json_piece piece = {begin, (size_t)(reader->at - begin)};
	if (!piece.size)
		fail(reader);
	return piece;
}

static void skip(struct json_reader *reader, unsigned depth) {
	struct json_piece key;
	if (depth == DEEPEST) {
		fail(reader);
		return;
	}
	switch (json_peek(reader)) {
	case '{':
		json_enter(reader, '{');
		while (json_member(reader, &key))
			skip(reader, depth + 1);
		break;
	case '[':
		json_enter(reader, '[');
		while (json_item(reader))
			skip(reader, depth + 1);
		break;
	case '"':
		take_string(reader);
		break;
	default:
		take_plain(reader);
	}
}

void json_skip(struct json_reader *reader) {
	skip(reader, 0);
	reader->fresh = false;
}

static double real(struct json_reader *reader, const struct json_piece *piece) {
	char text[64], *end;
	size_t size = MIN(piece->size, sizeof(text) - 1);
	memcpy(text, piece->text, size);
	text[size] = 0;
	double value = strtod(text, &end);
	if (*end || end == text)
		fail(reader);
	return value;
}

// A number with a fraction or an exponent.
static uint64_t real_to_uint(struct json_reader *reader, const struct json_piece *piece) {
	double value = real(reader, piece);
	if (!(value >= 0))
		fail(reader);
	if (reader->failed)
		return 0;
	return value < 18446744073709551615.0 ? (uint64_t)value : UINT64_MAX;
}

uint64_t json_read_uint(struct json_reader *reader) {
	struct json_piece piece = take_plain(reader);
	uint64_t value = 0;
	for (size_t i = 0; i < piece.size; i++) {
		unsigned digit = (unsigned)piece.text[i] - '0';
		if (digit > 9)
			return real_to_uint(reader, &piece);
		if (__builtin_mul_overflow(value, 10u, &value) ||
		    __builtin_add_overflow(value, digit, &value))
			return UINT64_MAX;
	}
	return value;
}

int64_t json_read_int(struct json_reader *reader) {
	bool negative = json_peek(reader) == '-';
	reader->at += negative;
	uint64_t value = json_read_uint(reader);
	if (negative)
		return value > INT64_MAX ? INT64_MIN : -(int64_t)value;
	return value > INT64_MAX ? INT64_MAX : (int64_t)value;
}

bool json_read_bool(struct json_reader *reader) {
	struct json_piece piece = take_plain(reader);
	if (!json_is(&piece, "true") && !json_is(&piece, "false"))
		fail(reader);
	return json_is(&piece, "true");
}

// ---- strings ----

// The four digits after "\u"; UINT32_MAX if there are none.
static uint32_t hex4(const char *at, const char *end) {
	uint32_t value = 0;
	if (end - at < 4)
		return UINT32_MAX;
	for (int i = 0; i < 4; i++) {
		char c = at[i];
		int digit = c >= '0' && c <= '9'                 ? c - '0'
			    : (c | 32) >= 'a' && (c | 32) <= 'f' ? (c | 32) - 'a' + 10
								 : -1;
		if (digit < 0)
			return UINT32_MAX;
		value = value << 4 | (uint32_t)digit;
	}
	return value;
}

// `at` is after "\u"; moves past it, and past the second half of a surrogate pair.
static const char *append_unicode(struct buffer *out, const char *at, const char *end) {
	enum { REPLACEMENT = 0xfffd };
	uint32_t point = hex4(at, end), low;
	if (point == UINT32_MAX)
		return NULL;
	at += 4;
	if (point >= 0xd800 && point < 0xdc00 && end - at >= 6 && at[0] == '\\' && at[1] == 'u' &&
	    (low = hex4(at + 2, end)) >= 0xdc00 && low < 0xe000) {
		point = 0x10000 + ((point - 0xd800) << 10) + (low - 0xdc00);
		at += 6;
	}
	utf8_append(out, !point || (point >= 0xd800 && point < 0xe000) ? REPLACEMENT : point);
	return at;
}

void json_read_text(struct json_reader *reader, struct buffer *out) {
	static const char escapes[] = "\"\"\\\\//b\bf\fn\nr\rt\t";
	struct json_piece piece = take_string(reader);
	const char *at = piece.text, *end = piece.text + piece.size;
	size_t begin = out->size;
	while (at < end) {
		const char *backslash = memchr(at, '\\', (size_t)(end - at));
		const char *stop = backslash ? backslash : end;
		buffer_append(out, at, (size_t)(stop - at));
		at = stop;
		if (!backslash)
			break;
		const char *escape = escapes; // pairs: how it is written, what it is
		while (*escape && *escape != backslash[1])
			escape += 2;
		at += 2;
		if (*escape)
			buffer_append(out, escape + 1, 1);
		else
			at = backslash[1] == 'u' ? append_unicode(out, at, end) : NULL;
		if (!at) {
			fail(reader);
			return;
		}
	}
	if (out->size > begin && memchr(out->data + begin, 0, out->size - begin))
		fail(reader);
}

// ---- values of any kind ----

char *json_read_if_text(struct json_reader *reader) {
	struct buffer text = {0};
	if (json_peek(reader) != '"') {
		json_skip(reader);
		return NULL;
	}
	json_read_text(reader, &text);
	buffer_append(&text, "", 1);
	return (char *)text.data;
}

char *json_key_text(const struct json_piece *key) {
	struct json_reader reader = json_from(key->text - 1, key->size + 2); // with its quotation marks
	char *text = json_read_if_text(&reader);
	if (!reader.failed)
		return text;
	free(text);
	return NULL;
}

double json_read_if_number(struct json_reader *reader) {
	char first = json_peek(reader);
	if (first == '-' || (first >= '0' && first <= '9')) {
		struct json_piece piece = take_plain(reader);
		return real(reader, &piece);
	}
	json_skip(reader);
	return 0;
}

bool json_read_if_true(struct json_reader *reader) {
	if (json_peek(reader) == 't')
		return json_read_bool(reader);
	json_skip(reader);
	return false;
}

// ---- what is well-formed ----

static size_t count_digits(const char *text) {
	return strspn(text, "0123456789");
}

// As JSON has them, not as strtod() does.
static bool is_number(const char *text) {
	text += *text == '-';
	size_t digits = count_digits(text);
	if (!digits || (*text == '0' && digits > 1))
		return false;
	text += digits;
	if (*text == '.') {
		digits = count_digits(++text);
		if (!digits)
			return false;
		text += digits;
	}
	if (*text == 'e' || *text == 'E') {
		text += 1 + (text[1] == '+' || text[1] == '-');
		digits = count_digits(text);
		if (!digits)
			return false;
		text += digits;
	}
	return !*text;
}

bool json_is_plain(const char *text) {
	return strcmp(text, "true") == 0 || strcmp(text, "false") == 0 || strcmp(text, "null") == 0 ||
	       is_number(text);
}
