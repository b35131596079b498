// Where the PDB files, programs and libraries of Windows are on this machine: folders, also those that
// Microsoft's tools keep copies of a symbol server in. Nothing is fetched.
#pragma once

#include "event/symbolizer.h"

// Folders, separated by semicolons, in the form of the variable _NT_SYMBOL_PATH, which is asked after them:
// "srv*FOLDER*https://…", "cache*FOLDER" and plain folders. NULL, as in the beginning: none.
void symbol_path_set(const char *path);

enum image_part { IMAGE_SYMBOLS, IMAGE_CODE };

// Opens the next file that may be the module's, beginning with number `*index`, which it moves on. Looks at
// names and the first bytes only. -1 if there are no more.
int symbol_path_candidate(const struct windows_image *image, enum image_part part, unsigned *index);
