// What makes a line of a manifest one of many: the id of its session, the run that it belongs to, and the
// source that was tested.
#pragma once

#include "format/manifest_record.h"
#include "format/manifest_status.h"
#include "settings/settings.h"

enum { MANIFEST_VERSION = 2 };

// Looks whether the work tree has changes, which takes up to 5 ms: once, for all lines that this process and
// its forks write. Otherwise the first line does.
void identity_look(void);

// The settings say what the user calls the run, the project, the suite and the class of the machine;
// otherwise these come from the CI system and from git. NULL for no settings.
void identity_put(struct manifest_record *record, const struct settings *settings);
