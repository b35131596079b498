// Names by an extended regular expression, as POSIX has it, which is found anywhere in them.
#pragma once

#include <stdbool.h>

#ifdef __cplusplus
extern "C" {
#endif

struct name_filter;

enum { NAME_FILTER_WHY_SIZE = 128 };

struct name_filter *name_filter_new(const char *expression,
				    char why[NAME_FILTER_WHY_SIZE]); // NULL: it is none
bool name_filter_fits(const struct name_filter *filter, const char *name);
void name_filter_free(struct name_filter *filter);

#ifdef __cplusplus
}
#endif
