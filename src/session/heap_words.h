// A heap profile in a few words, for the end of a run.
#pragma once

#include "base/buffer.h"
#include "session/heap_profile.h"

// Lines, each indented by `margin`: how much, and the functions that had most of it at the peak. Nothing
// of a profile that is empty.
void heap_words(const struct heap_made *made, const char *margin, struct buffer *out);
