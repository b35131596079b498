// The limits of an output folder: --max-total-size and --max-age.
//
// What may be deleted is what the folder's manifest says we wrote, as long as it
// still is that: a file of this folder itself (no link, nothing elsewhere), with
// the size and the sha256 that we noted. A running session's files are not in the
// manifest yet. What goes is noted in the manifest, in a line of its own:
//
//     {"deleted":[{"test":…,"kind":…,"path":…,"size":…},…],"why":"max-age","when":…}
#pragma once

#include "session/settings.h"

#include <time.h>

struct retention {
	uint64_t max_total_size; // bytes of all artifacts, 0: any
	double max_age;          // seconds, 0: any
	time_t now;
};

// Too old ones go; then, until the rest fits, the oldest of tests that passed, and last the
// oldest of those that failed. Waits for others who do so in this folder. How many files have
// gone, or -errno.
int retention_apply(const char *dir, const struct retention *retention);
