// The words of a command line under construction; each is a copy.
#pragma once

#include "base/array.h"

#include <string.h>

struct words {
	char **items; // ends with NULL, as execvp() needs it
	size_t count, capacity;
};

static inline void words_take(struct words *words, char *word) {
	array_reserve(words, words->count + 2);
	words->items[words->count++] = word;
	words->items[words->count] = NULL;
}

#define words_add(words, ...) words_take(words, memory_format(__VA_ARGS__))

static inline void words_add_all(struct words *words, char *const *more) {
	for (; *more; more++)
		words_take(words, memory_string(*more));
}

static inline void words_free(struct words *words) {
	for (size_t i = 0; i < words->count; i++)
		free(words->items[i]);
	array_free(words);
}
