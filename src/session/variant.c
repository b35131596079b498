// With json-c, which keeps the order in which members were added: an object is put in
// order by adding them to another one.
#include "session/variant.h"
#include "base/array.h"
#include "base/siphash.h"

#include <inttypes.h>
#include <json-c/json.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

enum { TEXT_STYLE = JSON_C_TO_STRING_PLAIN | JSON_C_TO_STRING_NOSLASHESCAPE, DEEPEST = 16 };

static int compare_names(const void *left, const void *right) {
	return strcmp(*(const char *const *)left, *(const char *const *)right);
}

static int compare_items(const void *left, const void *right) {
	return strcmp(json_object_get_string(*(struct json_object *const *)left),
		      json_object_get_string(*(struct json_object *const *)right));
}

static struct json_object *ordered(struct json_object *value);

static struct json_object *ordered_object(struct json_object *value) {
	ARRAY(const char *) names = {0};
	struct json_object *result = json_object_new_object();
	json_object_object_foreach(value, name, member) {
		(void)member;
		array_push(&names, name);
	}
	if (names.count)
		qsort(names.items, names.count, sizeof(*names.items), compare_names);
	for (size_t i = 0; i < names.count; i++)
		json_object_object_add(result, names.items[i],
				       ordered(json_object_object_get(value, names.items[i])));
	array_free(&names);
	return result;
}

// Only a list of texts is a set; others may mean their order.
static struct json_object *ordered_array(struct json_object *value) {
	struct json_object *result = json_object_new_array();
	bool texts = true;
	for (size_t i = 0; i < json_object_array_length(value); i++) {
		struct json_object *item = json_object_array_get_idx(value, i);
		texts &= json_object_is_type(item, json_type_string);
		json_object_array_add(result, ordered(item));
	}
	if (texts)
		json_object_array_sort(result, compare_items);
	return result;
}

static struct json_object *ordered(struct json_object *value) {
	if (json_object_is_type(value, json_type_object))
		return ordered_object(value);
	if (json_object_is_type(value, json_type_array))
		return ordered_array(value);
	return json_object_get(value);
}

// One whole object and nothing behind it; NULL: it is something else.
static struct json_object *parse_object(const char *text) {
	size_t size = strlen(text);
	struct json_tokener *tokener = json_tokener_new_ex(DEEPEST);
	json_tokener_set_flags(tokener, JSON_TOKENER_STRICT | JSON_TOKENER_VALIDATE_UTF8);
	struct json_object *value = size < INT_MAX ? json_tokener_parse_ex(tokener, text, (int)size + 1)
						   : NULL;
	if (json_tokener_get_error(tokener) != json_tokener_success ||
	    !json_object_is_type(value, json_type_object)) {
		json_object_put(value);
		value = NULL;
	}
	json_tokener_free(tokener);
	return value;
}

static struct json_object *parse_addition(const char *text) {
	const char *equals = strchr(text, '=');
	if (*text == '{')
		return parse_object(text);
	if (!equals || equals == text)
		return NULL;
	CLEANUP_FREE char *name = memory_format("%.*s", (int)(equals - text), text);
	struct json_object *object = json_object_new_object();
	json_object_object_add(object, name, json_object_new_string(equals + 1));
	return object;
}

char *variant_add(const char *variant, const char *addition) {
	struct json_object *more = parse_addition(addition);
	if (!more)
		return NULL;
	struct json_object *whole = variant ? parse_object(variant) : NULL;
	whole = whole ? whole : json_object_new_object();
	json_object_object_foreach(more, name, value) {
		json_object_object_add(whole, name, json_object_get(value));
	}
	struct json_object *canonical = ordered(whole);
	char *text = memory_string(json_object_to_json_string_ext(canonical, TEXT_STYLE));
	json_object_put(canonical);
	json_object_put(whole);
	json_object_put(more);
	return text;
}

void variant_hash(const char *variant, char digits[VARIANT_HASH_SIZE]) {
	snprintf(digits, VARIANT_HASH_SIZE, "%016" PRIx64, siphash13(variant, strlen(variant)));
}
