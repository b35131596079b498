// Lines `key = value` of a file, with sections and comments, as inih reads them.
#pragma once

typedef int ini_file_taker(void *context, const char *section, const char *key, const char *value);

// 0; -1: it cannot be read; else the number of the first line that is neither, or for which `take`
// has returned 0.
int ini_file_read(const char *path, ini_file_taker *take, void *context);
