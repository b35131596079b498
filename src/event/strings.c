#include "event/strings.h"

#include <string.h>

struct strings *strings_new(void) {
	struct strings *strings = memory_alloc(sizeof(*strings));
	strings_add(strings, "");
	return strings;
}

void strings_free(struct strings *strings) {
	if (!strings)
		return;
	for (size_t i = 0; i < strings->texts.count; i++)
		free(strings->texts.items[i]);
	array_free(&strings->texts);
	array_free(&strings->lengths);
	map_free(&strings->by_hash);
	free(strings);
}

uint32_t strings_add_bytes(struct strings *strings, const void *bytes, size_t size) {
	uint64_t hash = hash_bytes(bytes, size);
	uint64_t *found;
	for (; (found = map_get(&strings->by_hash, hash)); hash++) {
		uint32_t id = (uint32_t)*found;
		if (strings->lengths.items[id] == size &&
		    (!size || memcmp(strings->texts.items[id], bytes, size) == 0))
			return id;
	}
	uint32_t id = (uint32_t)strings->texts.count;
	char *text = memory_alloc(size + 1);
	if (size)
		memcpy(text, bytes, size);
	array_push(&strings->texts, text);
	array_push(&strings->lengths, (uint32_t)size);
	*map_put(&strings->by_hash, hash) = id;
	return id;
}

uint32_t strings_add(struct strings *strings, const char *text) {
	return strings_add_bytes(strings, text, strlen(text));
}

const char *strings_get(const struct strings *strings, uint32_t id) {
	return id < strings->texts.count ? strings->texts.items[id] : "";
}

uint32_t strings_length(const struct strings *strings, uint32_t id) {
	return id < strings->lengths.count ? strings->lengths.items[id] : 0;
}
