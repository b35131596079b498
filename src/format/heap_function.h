// The functions of allocators, by their signatures.
#pragma once

enum heap_function {
	HEAP_CALL_NONE,
	HEAP_CALL_SIZE,         // malloc(size), and operator new
	HEAP_CALL_COUNT,        // calloc(count, size)
	HEAP_CALL_ALIGNED,      // memalign(alignment, size)
	HEAP_CALL_INTO,         // posix_memalign(pointer, alignment, size)
	HEAP_CALL_RESIZE,       // realloc(old, size)
	HEAP_CALL_RESIZE_COUNT, // reallocarray(old, count, size)
	HEAP_CALL_FREE,         // free(old), and operator delete
	HEAP_CALL_LAST = HEAP_CALL_FREE,
};
