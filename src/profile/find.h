// Turns what a user asks for into a plan: the NAME of a built-in profile, or FILE[!PROFILE];
// several are joined with +, as in A+B.
#pragma once

#include "base/file.h"
#include "profile/findings.h"
#include "profile/plan.h"

// Opens a profile's file, which must not be a device. Returns 0 or -errno.
int profile_open(struct input *input, const char *path);

// False if there is no such profile; a finding says why. If there is one, findings list words that
// WPR does not know. `path` becomes the file that findings are about, or NULL; the caller frees it.
bool profile_find(const char *text, enum plan_mode wanted, struct plan *plan, struct findings *findings,
		  char **path);

// The length of the first profile, up to the next +. A + in the name of an existing file is part of
// the name, even several in a row, as in c++.wprp.
size_t profile_first(const char *text);

// The request `text` and its result. `path` and findings as above.
struct profile_found {
	const char *text, *path;
	const struct plan *plan; // NULL if not found
	const struct findings *findings;
};

// The combined plan of all profiles that were found, after calling `report` for each. False if none
// was found.
bool profiles_find(const char *text, enum plan_mode wanted, struct plan *plan,
		   void (*report)(void *context, const struct profile_found *found), void *context);
