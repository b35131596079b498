// Writes JSON into a buffer. By hand, because every user streams (one line per event or
// session), and because it must build for Windows without further packages; a tree
// of objects would be built only to be printed.
#pragma once

#include "base/buffer.h"

struct json {
	struct buffer *out;
	unsigned depth;
	bool comma; // the next member or item needs one before it
};

static inline struct json json_into(struct buffer *out) {
	return (struct json){.out = out};
}

// The key is NULL inside an array and for the outermost value.
void json_object(struct json *json, const char *key);
void json_array(struct json *json, const char *key);
void json_close_object(struct json *json);
void json_close_array(struct json *json);
void json_string(struct json *json, const char *key, const char *value); // NULL becomes null
void json_text(struct json *json, const char *key, const char *value, size_t size);
void json_uint(struct json *json, const char *key, uint64_t value);
void json_int(struct json *json, const char *key, int64_t value);
void json_double(struct json *json, const char *key, double value);   // nine digits
void json_exact(struct json *json, const char *key, double value);    // as many digits as needed
void json_raw(struct json *json, const char *key, const char *value); // `value` is JSON
void json_bool(struct json *json, const char *key, bool value);
