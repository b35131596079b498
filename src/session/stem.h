// The stem of a session's artifacts: its folder, the test's name, its variant, the time; what
// is run once more has the first run's, and `.repro` behind it.
#pragma once

#include "session/settings.h"

// As artifact_reserve(): a descriptor of STEM.spool, or -errno.
int stem_reserve(const struct settings *settings, const char *safe_name, char **stem);
