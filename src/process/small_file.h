// The small files in which the kernel says something about processes and the machine.
#pragma once

#include <stdbool.h>
#include <stddef.h>

// Reads the beginning of a file as text. False, with an empty text, if there is none.
bool small_file_read(const char *folder, const char *name, char *text, size_t size);
