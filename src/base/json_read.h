// Reads JSON in place, value by value, from memory that may hold anything. No
// library, because json-c builds a tree of everything (a gigabyte for a profile of 60 MB),
// and because Windows has none.
//
// Invalid input sets `failed`; from then on every object and array has ended, so a caller
// checks once.
#pragma once

#include "base/buffer.h"

struct json_reader {
	const char *at, *end;
	bool fresh; // nothing has been read from the innermost object or array yet
	bool failed;
};

// Text as in the input: escapes are not resolved.
struct json_piece {
	const char *text;
	size_t size;
};

static inline struct json_reader json_from(const void *bytes, size_t size) {
	return (struct json_reader){.at = bytes, .end = (const char *)bytes + size};
}

bool json_enter(struct json_reader *reader, char bracket); // into { or [
// The key of the next member, whose value must be read next. False if the object has ended.
bool json_member(struct json_reader *reader, struct json_piece *key);
bool json_item(struct json_reader *reader); // the same for an array

char json_peek(struct json_reader *reader); // first character of the next value, without taking it; 0 if none
void json_skip(struct json_reader *reader); // a value of any kind
uint64_t json_read_uint(struct json_reader *reader); // values that are too large become the largest
int64_t json_read_int(struct json_reader *reader);   // the same, in both directions
bool json_read_bool(struct json_reader *reader);
// Appends a string to `out`, with escapes resolved; it contains no NUL.
void json_read_text(struct json_reader *reader, struct buffer *out);

// For files from other tools: the value may be of any type.
char *json_read_if_text(struct json_reader *reader);    // to be freed; NULL if it is not a string
double json_read_if_number(struct json_reader *reader); // 0 if it is not a number
bool json_read_if_true(struct json_reader *reader);

// A member's key with escapes resolved, to be freed; NULL if they are invalid.
char *json_key_text(const struct json_piece *key);

bool json_is(const struct json_piece *piece, const char *text);
bool json_is_plain(const char *text); // a number, true, false or null, exactly as JSON has them
