// Reading JSON in place, value after value, from memory that may hold anything. Not
// json-c, which makes a tree of it all: of a profile of 60 MB that is a gigabyte, and
// the portable rooms are built where there is none.
//
// What does not read makes `failed` true, and from then on everything is at its end, so
// that a caller needs to look once.
#pragma once

#include "base/buffer.h"

struct json_reader {
	const char *at, *end;
	bool fresh; // nothing has been read of the innermost object or array
	bool failed;
};

// Text as it stands there: escapes are not resolved.
struct json_piece {
	const char *text;
	size_t size;
};

static inline struct json_reader json_from(const void *bytes, size_t size) {
	return (struct json_reader){.at = bytes, .end = (const char *)bytes + size};
}

bool json_enter(struct json_reader *reader, char bracket); // into { or [
// The next member's key, then its value is to be read. False: the object has ended.
bool json_member(struct json_reader *reader, struct json_piece *key);
bool json_item(struct json_reader *reader); // the same for an array

char json_peek(struct json_reader *reader); // how the next value begins, which stays; 0: there is none
void json_skip(struct json_reader *reader); // a value of any kind
uint64_t json_read_uint(struct json_reader *reader); // what is larger than it can be is the largest
bool json_read_bool(struct json_reader *reader);
// A string without its escapes, behind what is in `out`; with no NUL in it.
void json_read_text(struct json_reader *reader, struct buffer *out);

// For files that others may have written: the value may be of any kind.
char *json_read_if_text(struct json_reader *reader);    // to be freed; NULL: it is none
double json_read_if_number(struct json_reader *reader); // 0: it is none
bool json_read_if_true(struct json_reader *reader);

bool json_is(const struct json_piece *piece, const char *text);
