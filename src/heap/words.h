// A short description of a heap profile, for the summary.
#pragma once

#include "base/buffer.h"
#include "heap/profile.h"

// Lines, each indented by `margin`: how much was allocated, and the functions that held most at the peak.
// Nothing for an empty profile.
void heap_words(const struct heap_made *made, const char *margin, struct buffer *out);
