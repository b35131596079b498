#include "suite/name_filter.h"
#include "base/memory.h"

#include <regex.h>

struct name_filter {
	regex_t expression;
};

struct name_filter *name_filter_new(const char *expression, char why[NAME_FILTER_WHY_SIZE]) {
	struct name_filter *filter = memory_alloc(sizeof(*filter));
	int error = regcomp(&filter->expression, expression, REG_EXTENDED | REG_NOSUB);
	if (!error)
		return filter;
	regerror(error, &filter->expression, why, NAME_FILTER_WHY_SIZE);
	free(filter);
	return NULL;
}

bool name_filter_fits(const struct name_filter *filter, const char *name) {
	return regexec(&filter->expression, name, 0, NULL, 0) == 0;
}

void name_filter_free(struct name_filter *filter) {
	regfree(&filter->expression);
	free(filter);
}
