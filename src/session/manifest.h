// manifest.jsonl in the output folder: one line per session.
#pragma once

#include "base/buffer.h"

// Appends a line whole or not at all, also when runs end at the same time.
int manifest_append(const char *dir, const struct buffer *line);

// The same in steps, for whoever has to read before he writes: nobody else does
// meanwhile. The descriptor, to be closed, or -errno.
int manifest_lock(const char *dir);
int manifest_append_locked(int fd, const struct buffer *line);

// The last component of a path in it, whichever system has written that: no name of ours has a backslash.
const char *manifest_file_name(const char *path);
