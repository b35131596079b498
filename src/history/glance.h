// One line about a test that has just ended, where its folder has an index: how often it failed lately, and
// whether it was slower than usual. Reads the index as it is and the newest lines of the manifest; writes
// nothing, never waits.
#pragma once

#include "format/manifest_record.h"

// To be freed; NULL if there is nothing to say. The record is the session's own.
char *history_glance(const char *folder, const struct manifest_record *record);
