// Interned strings: each distinct text is stored once, under a small number. Id 0 is the
// empty string. One table serves a whole pipeline, from reader to writer.
#pragma once

#include "base/array.h"
#include "base/map.h"

struct strings {
	ARRAY(char *) texts;
	ARRAY(uint32_t) lengths;
	struct map by_hash; // hash to id; a different text with the same hash probes further
};

struct strings *strings_new(void);
void strings_free(struct strings *strings);

uint32_t strings_add(struct strings *strings, const char *text);
uint32_t strings_add_bytes(struct strings *strings, const void *bytes, size_t size); // NULs allowed
const char *strings_get(const struct strings *strings, uint32_t id);
uint32_t strings_length(const struct strings *strings, uint32_t id);
