// The one file of C++: its library knows POSIX's regular expressions, that of C knows none here.
#include "session/name_filter.h"

#include <cstdio>
#include <regex>

struct name_filter {
	std::regex expression;
};

struct name_filter *name_filter_new(const char *expression, char why[NAME_FILTER_WHY_SIZE]) {
	try {
		return new name_filter{std::regex(expression, std::regex::extended | std::regex::nosubs)};
	} catch (const std::exception &error) {
		std::snprintf(why, NAME_FILTER_WHY_SIZE, "%s", error.what());
		return nullptr;
	}
}

// An expression may turn out too hard for a name.
bool name_filter_fits(const struct name_filter *filter, const char *name) {
	try {
		return std::regex_search(name, filter->expression);
	} catch (const std::exception &) {
		return false;
	}
}

void name_filter_free(struct name_filter *filter) {
	delete filter;
}
