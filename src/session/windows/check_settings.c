// WPR knows its profiles by itself; what else can be named is for Linux, and `run` says so.
#include "session/check_settings.h"

#include "capture/sources.h"

bool check_settings(const struct settings *settings) {
	return true;
}

const char *source_why_not(int source) {
	return NULL;
}
