// How `tracelet mark` makes a mark: each system has its own way.
#pragma once

#include "cli/verb.h"

// Puts a mark into the recording of the test that we are part of, or else of the operation with this name
// (NULL for the only one). Returns an exit status.
int mark_put(const char *session, const char *text);
