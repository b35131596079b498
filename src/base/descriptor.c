#include "base/descriptor.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int descriptor_named(const char *name) {
	static const char folder[] = "/dev/fd/";
	if (strcmp(name, "-") == 0 || strcmp(name, "/dev/stdout") == 0)
		return STDOUT_FILENO;
	if (strcmp(name, "/dev/stderr") == 0)
		return STDERR_FILENO;
	if (strncmp(name, folder, sizeof(folder) - 1) == 0)
		name += sizeof(folder) - 1;
	char *end;
	long number = strtol(name, &end, 10);
	return *name >= '0' && *name <= '9' && !*end && number < INT_MAX ? (int)number : -1;
}
