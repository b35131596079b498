#include "session/windows/json_scan.h"
#include "base/buffer.h"

#include <ctype.h>
#include <string.h>

enum { DEEPEST = 32 };

static char next(struct json_scan *scan) {
	while (scan->at < scan->end && strchr(" \t\r\n", *scan->at) && *scan->at)
		scan->at++;
	return scan->at < scan->end && !scan->bad ? *scan->at : 0;
}

static bool take_sign(struct json_scan *scan, char sign) {
	if (next(scan) != sign)
		return false;
	scan->at++;
	return true;
}

// ---- strings ----

static void add_character(struct buffer *text, unsigned code) {
	unsigned char bytes[4];
	size_t size = code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
	static const unsigned char first[] = {0, 0, 0xc0, 0xe0, 0xf0};
	for (size_t i = size; i-- > 0; code >>= 6)
		bytes[i] = (unsigned char)(i ? 0x80 | (code & 0x3f) : first[size] | code);
	buffer_append(text, bytes, size);
}

static unsigned take_hex(struct json_scan *scan) {
	unsigned code = 0;
	for (int i = 0; i < 4; i++, scan->at++) {
		if (scan->at == scan->end || !isxdigit((unsigned char)*scan->at)) {
			scan->bad = true;
			return 0;
		}
		int digit = tolower((unsigned char)*scan->at);
		code = code << 4 | (unsigned)(digit <= '9' ? digit - '0' : digit - 'a' + 10);
	}
	return code;
}

// Behind the backslash.
static void take_escape(struct json_scan *scan, struct buffer *text) {
	static const char letters[] = "\"\\/bfnrt", meanings[] = "\"\\/\b\f\n\r\t";
	char letter = scan->at < scan->end ? *scan->at++ : 0;
	const char *known = letter ? strchr(letters, letter) : NULL;
	if (known) {
		buffer_append(text, &meanings[known - letters], 1);
	} else if (letter == 'u') {
		unsigned code = take_hex(scan);
		if (code >= 0xd800 && code < 0xdc00 && scan->end - scan->at > 6 && scan->at[0] == '\\' &&
		    scan->at[1] == 'u') {
			scan->at += 2;
			code = 0x10000 + ((code - 0xd800) << 10) + ((take_hex(scan) - 0xdc00) & 0x3ff);
		}
		scan->bad |= code == 0; // it would end the text
		add_character(text, code);
	} else {
		scan->bad = true;
	}
}

bool json_scan_at_string(struct json_scan *scan) {
	return next(scan) == '"';
}

char *json_scan_string(struct json_scan *scan) {
	struct buffer text = {0};
	if (!take_sign(scan, '"')) {
		scan->bad = true;
		return NULL;
	}
	while (!scan->bad && scan->at < scan->end && *scan->at != '"') {
		char byte = *scan->at++;
		if (byte == '\\')
			take_escape(scan, &text);
		else if (!byte)
			scan->bad = true;
		else
			buffer_append(&text, &byte, 1);
	}
	if (scan->bad || scan->at == scan->end) {
		scan->bad = true;
		buffer_free(&text);
		return NULL;
	}
	scan->at++;
	buffer_append(&text, "", 1);
	return (char *)text.data;
}

// ---- numbers and words ----

static size_t word_length(const struct json_scan *scan) {
	size_t length = 0;
	while (scan->at + length < scan->end && (isalnum((unsigned char)scan->at[length]) ||
						 (scan->at[length] && strchr("+-.", scan->at[length]))))
		length++;
	return length;
}

bool json_scan_number(struct json_scan *scan, double *number) {
	char text[64], *end;
	char first = next(scan);
	size_t length = word_length(scan);
	if (!isdigit((unsigned char)first) && first != '-') {
		json_scan_skip(scan);
		return false;
	}
	scan->bad |= length >= sizeof(text);
	length = MIN(length, sizeof(text) - 1);
	memcpy(text, scan->at, length);
	text[length] = 0;
	*number = strtod(text, &end);
	scan->bad |= end == text || *end;
	scan->at += length;
	return !scan->bad;
}

bool json_scan_true(struct json_scan *scan) {
	bool is_true = next(scan) == 't' && word_length(scan) == 4 && memcmp(scan->at, "true", 4) == 0;
	json_scan_skip(scan);
	return is_true && !scan->bad;
}

// ---- what holds others ----

static bool enter(struct json_scan *scan, char sign) {
	if (scan->depth == DEEPEST || !take_sign(scan, sign)) {
		scan->bad = true;
		return false;
	}
	scan->depth++;
	return true;
}

// Behind a member; true: there is another.
static bool goes_on(struct json_scan *scan, char end) {
	if (take_sign(scan, ','))
		return true;
	scan->bad |= !take_sign(scan, end);
	scan->depth--;
	return false;
}

void json_scan_object(struct json_scan *scan,
		      void (*take)(struct json_scan *scan, const char *key, void *context), void *context) {
	if (!enter(scan, '{'))
		return;
	if (take_sign(scan, '}')) {
		scan->depth--;
		return;
	}
	do {
		CLEANUP_FREE char *key = json_scan_string(scan);
		scan->bad |= !take_sign(scan, ':');
		const char *before = scan->at;
		if (!scan->bad)
			take(scan, key, context);
		if (!scan->bad && scan->at == before)
			json_scan_skip(scan);
	} while (!scan->bad && goes_on(scan, '}'));
}

void json_scan_array(struct json_scan *scan, void (*take)(struct json_scan *scan, void *context),
		     void *context) {
	if (!enter(scan, '['))
		return;
	if (take_sign(scan, ']')) {
		scan->depth--;
		return;
	}
	do
		take(scan, context);
	while (!scan->bad && goes_on(scan, ']'));
}

static void skip_member(struct json_scan *scan, const char *key, void *context) {
	json_scan_skip(scan);
}

static void skip_item(struct json_scan *scan, void *context) {
	json_scan_skip(scan);
}

void json_scan_skip(struct json_scan *scan) {
	char first = next(scan);
	if (first == '{') {
		json_scan_object(scan, skip_member, NULL);
	} else if (first == '[') {
		json_scan_array(scan, skip_item, NULL);
	} else if (first == '"') {
		free(json_scan_string(scan));
	} else {
		size_t length = word_length(scan);
		scan->bad |= !length;
		scan->at += length;
	}
}
