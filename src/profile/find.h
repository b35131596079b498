// From what a user calls a profile to the plan: NAME of a built-in one, or FILE[!PROFILE].
#pragma once

#include "base/file.h"
#include "profile/findings.h"
#include "profile/plan.h"

// A profile's file; a device is none. 0 or -errno.
int profile_open(struct input *input, const char *path);

// False: there is none, and a finding says why. Findings with a plan are words that WPR does not
// know. `path` becomes the file that findings are about, NULL for none; it is the caller's to free.
bool profile_find(const char *text, enum plan_mode wanted, struct plan *plan, struct findings *findings,
		  char **path);
