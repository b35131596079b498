// A growable array of any type:
//
//     ARRAY(struct task) tasks = {0};
//     array_push(&tasks, (struct task){.tid = 1});
//     array_free(&tasks);
#pragma once

#include "base/memory.h"

#define ARRAY(type)                                                                                          \
	struct {                                                                                             \
		type *items;                                                                                 \
		size_t count, capacity;                                                                      \
	}

// Makes room for `wanted` items in total; existing items stay.
#define array_reserve(array, wanted)                                                                         \
	do {                                                                                                 \
		size_t array_wanted = (wanted);                                                              \
		if (array_wanted > (array)->capacity) {                                                      \
			size_t array_grown = MAX(array_wanted, (array)->capacity * 2 + 8);                   \
			(array)->items = memory_resize_items((array)->items, array_grown,                    \
							     sizeof(*(array)->items));                       \
			(array)->capacity = array_grown;                                                     \
		}                                                                                            \
	} while (0)

#define array_push(array, ...)                                                                               \
	do {                                                                                                 \
		array_reserve(array, (array)->count + 1);                                                    \
		(array)->items[(array)->count++] = (__VA_ARGS__);                                            \
	} while (0)

#define array_free(array)                                                                                    \
	do {                                                                                                 \
		free((array)->items);                                                                        \
		(array)->items = NULL;                                                                       \
		(array)->count = (array)->capacity = 0;                                                      \
	} while (0)
