// Loaded and unloaded by heap.c, under two names.
#include <stdlib.h>

void *NAME(size_t size);

void *NAME(size_t size) {
	void *block = malloc(size);
	if (block)
		*(volatile char *)block = 1;
	return block;
}
