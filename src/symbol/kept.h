// Files whose code ran, held open during a recording. By the time names are looked up, they may be
// deleted, replaced, or at a path that only their process could see (in a container).
#pragma once

#include <stdbool.h>

// Takes ownership of the descriptor. `build_id` is hexadecimal, "" if there is none. Returns false,
// and closes it, if the file is already held or there is no room.
bool kept_files_add(const char *path, const char *build_id, int file);
// A descriptor of the file, which the caller must not close; -1 if none.
int kept_files_find(const char *path, const char *build_id);
