// Filters names by a POSIX extended regular expression that may match anywhere in them. Linux uses the C
// library's; name_filter_windows.c has its own.
#pragma once

#include <stdbool.h>

struct name_filter;

enum { NAME_FILTER_WHY_SIZE = 128 };

struct name_filter *name_filter_new(const char *expression,
				    char why[NAME_FILTER_WHY_SIZE]); // NULL if it is invalid
bool name_filter_fits(const struct name_filter *filter, const char *name);
void name_filter_free(struct name_filter *filter);
