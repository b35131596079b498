// Paths as text.
#pragma once

#include <stdbool.h>

// Whether a path leads into a directory, or to the directory itself. ".." and, as far as the path exists,
// links are followed. Relative paths start at the current directory.
bool path_is_inside(const char *path, const char *folder);
