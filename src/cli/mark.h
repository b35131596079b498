// What `tracelet mark` does: each system has its own way.
#pragma once

#include "cli/verb.h"

// Puts a mark into the recording of the test that we are part of, else of the operation of this name (NULL:
// the only one there is). An exit status.
int mark_put(const char *session, const char *text);
