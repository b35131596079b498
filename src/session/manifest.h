// manifest.jsonl in the output folder: one line per session.
#pragma once

#include "base/buffer.h"

// Appends a line whole or not at all, also when runs end at the same time.
int manifest_append(const char *dir, const struct buffer *line);
