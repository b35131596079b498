// What a kernel's console says about its end.
#pragma once

#include "base/buffer.h"

// True: it panicked. `words` is why, in one line; `stack` the lines of the stack, as they stand there
// without times, each with its newline.
bool panic_find(const char *console, size_t size, struct buffer *words, struct buffer *stack);
