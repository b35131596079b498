#include "cli/parse_option.h"
#include "base/log.h"
#include "base/memory.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

bool parse_time(const char *text, uint64_t *nanoseconds) {
	static const struct {
		const char *unit;
		double scale;
	} units[] = {{"", 1e9}, {"s", 1e9}, {"ms", 1e6}, {"us", 1e3}, {"ns", 1}};
	char *end;
	errno = 0;
	double number = strtod(text, &end);
	if (end == text || errno || !(number >= 0))
		return false;
	for (size_t i = 0; i < ARRAY_SIZE(units); i++) {
		if (strcmp(end, units[i].unit) != 0)
			continue;
		number *= units[i].scale;
		if (number >= 1.8e19)
			return false;
		*nanoseconds = (uint64_t)number;
		return true;
	}
	return false;
}

bool parse_time_option(const char *option, const char *value, uint64_t *nanoseconds) {
	if (parse_time(value, nanoseconds))
		return true;
	log_error("--%s: '%s' is not a time (seconds, or with ms, us, ns)", option, value);
	return false;
}

bool parse_count_option(const char *option, const char *value, uint64_t *count) {
	char *end;
	errno = 0;
	*count = strtoull(value, &end, 10);
	if (*value >= '0' && *value <= '9' && !*end && !errno)
		return true;
	log_error("--%s takes a number, not '%s'", option, value);
	return false;
}
