// The limits of an output directory: --max-total-size and --max-age.
//
// Deletes only files that are in the directory's manifest and are still the same: a file in this directory
// itself (not a link, not elsewhere) with the recorded size and SHA-256. Files of a running session are not
// in the manifest yet. A separate line in the manifest records what was deleted (docs/manifest.md).
#pragma once

#include "settings/settings.h"

#include <time.h>

struct retention {
	uint64_t max_total_size; // bytes of all artifacts; 0 for unlimited
	double max_age;          // seconds; 0 for unlimited
	time_t now;
};

// Deletes artifacts that are too old; then, until the rest fits, the oldest of passed tests, and finally the
// oldest of failed tests. Waits for other processes that do so in this directory. The number of deleted
// files, or -errno.
int retention_apply(const char *dir, const struct retention *retention);
