// Exactly known allocations, for the programs whose heap is profiled.
#pragma once

#include <malloc.h>
#include <stdlib.h>

#define APART __attribute__((noinline, noclone))

static void *volatile kept; // so that no allocation is optimized away

APART static void *give(size_t size) {
	void *block = malloc(size);
	kept = block;
	return block;
}

APART static void take(void *block) {
	kept = block;
	free(block);
}

// 1000 blocks of 10 bytes; all live at once.
APART static void plain(void) {
	static void *blocks[1000];
	for (int i = 0; i < 1000; i++)
		blocks[i] = give(10);
	for (int i = 0; i < 1000; i++)
		take(blocks[i]);
}

// 24, 24000 and 12 bytes: three blocks, the last of which stays.
APART static void resized(void) {
	void *block = give(24);
	void *other = malloc(40); // forces it to move
	block = realloc(block, 24000);
	kept = realloc(block, 12);
	take(other);
}

// 8 blocks, 723 bytes.
APART static void all_ways(void) {
	void *block = NULL;
	take(calloc(3, 7));
	take(realloc(NULL, 33));
	take(reallocarray(NULL, 4, 11));
	take(memalign(64, 65));
	take(aligned_alloc(32, 96));
	take(valloc(130));
	if (posix_memalign(&block, 128, 257) == 0)
		take(block);
	take(give(77));
}
