// The version of the running kernel.
#pragma once

#include <stdbool.h>
#include <stdio.h>
#include <sys/utsname.h>

static inline bool kernel_at_least(unsigned major, unsigned minor) {
	struct utsname name;
	unsigned have_major = 0, have_minor = 0;
	uname(&name);
	sscanf(name.release, "%u.%u", &have_major, &have_minor);
	return have_major > major || (have_major == major && have_minor >= minor);
}
