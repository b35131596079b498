// Memory that we share with a test, as a file without a name.
#pragma once

#include <stddef.h>
#include <stdint.h>

// Creates one of this size, which begins with `head` and cannot be resized. The file consists of holes, so a
// limit on the size of files (`ulimit -f`) is not meant for it: the soft limit is lifted meanwhile, and
// SIGXFSZ is not raised. Returns the descriptor, or -errno: -EFBIG if even the hard limit is too low.
int shared_memory_new(const char *name, uint64_t size, const void *head, size_t head_size);

// ---- reading what the test may change at any moment ----

// One load into a local: what is checked is what is used. A plain read may be done again by the compiler.
#define SHARED_LOAD(place) __atomic_load_n(&(place), __ATOMIC_RELAXED)

// The same for a structure, 4 bytes at a time: both are aligned to them, and the size is a multiple.
void shared_copy(void *to, const void *from, size_t size);

// A text in `size` bytes of shared memory, with an end; to be freed.
char *shared_text(const char *from, size_t size);

// Of an array in the file, how many items from its first one on have memory: nothing was ever written to the
// rest. To read a hole would give it memory.
uint32_t shared_items_there(int fd, uint64_t offset, size_t item_size, uint32_t most);
