#include "base/json_copy.h"

enum { DEEPEST = 64 };

static void copy(struct json_reader *from, struct json *to, const char *key, unsigned depth);

static void fail(struct json_reader *from) {
	from->failed = true;
	from->at = from->end;
}

static void copy_object(struct json_reader *from, struct json *to, const char *key, unsigned depth) {
	struct json_piece member;
	json_enter(from, '{');
	json_object(to, key);
	while (json_member(from, &member)) {
		CLEANUP_FREE char *name = json_key_text(&member);
		if (!name)
			fail(from);
		copy(from, to, name ? name : "", depth + 1);
	}
	json_close_object(to);
}

static void copy_array(struct json_reader *from, struct json *to, const char *key, unsigned depth) {
	json_enter(from, '[');
	json_array(to, key);
	while (json_item(from))
		copy(from, to, NULL, depth + 1);
	json_close_array(to);
}

static void copy_text(struct json_reader *from, struct json *to, const char *key) {
	struct buffer text = {0};
	json_read_text(from, &text);
	json_text(to, key, (const char *)text.data, text.size);
	buffer_free(&text);
}

// A number, true, false or null, as it stands there.
static void copy_plain(struct json_reader *from, struct json *to, const char *key) {
	const char *begin = from->at;
	json_skip(from);
	CLEANUP_FREE char *text = from->failed ? memory_string("")
					       : memory_format("%.*s", (int)(from->at - begin), begin);
	if (!json_is_plain(text))
		fail(from);
	json_raw(to, key, text);
}

static void copy(struct json_reader *from, struct json *to, const char *key, unsigned depth) {
	char first = json_peek(from);
	if (depth == DEEPEST) {
		fail(from);
	} else if (first == '{') {
		copy_object(from, to, key, depth);
	} else if (first == '[') {
		copy_array(from, to, key, depth);
	} else if (first == '"') {
		copy_text(from, to, key);
	} else {
		copy_plain(from, to, key);
	}
}

void json_copy(struct json_reader *from, struct json *to, const char *key) {
	copy(from, to, key, 0);
	from->fresh = false;
}
