// The stem of a session's artifacts: directory, test name, variant, time. A second run (--repro)
// has the first run's stem with `.repro` appended.
#pragma once

#include "settings/settings.h"

// As artifact_reserve(): a descriptor of STEM.spool, or -errno.
int stem_reserve(const struct settings *settings, const char *safe_name, char **stem);

// Only a name that is free, for files of a session without a recording. 0 or -errno.
int stem_choose(const struct settings *settings, const char *safe_name, char **stem);
