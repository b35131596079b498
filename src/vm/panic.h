// Finds a panic in a kernel's console.
#pragma once

#include "base/buffer.h"

// Returns true if it panicked. `words` gets the reason, in one line; `stack` the lines of the stack, without
// time stamps, each with its newline.
bool panic_find(const char *console, size_t size, struct buffer *words, struct buffer *stack);
