// Files whose code was seen to run, held open while a recording lasts. When names are looked for they may
// be deleted, replaced, or at a path that only their process could see (in a container).
#pragma once

#include <stdbool.h>

// Takes over the descriptor. `build_id` is hexadecimal, "" if there is none. What is known already is
// not taken twice. False: it is closed.
bool kept_files_add(const char *path, const char *build_id, int file);
// A descriptor of the file, which stays ours; -1: there is none.
int kept_files_find(const char *path, const char *build_id);
