// From what a user calls a profile to the plan: NAME of a built-in one, or FILE[!PROFILE];
// several with a + between, A+B.
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

// The length of the first of several, as far as the next +. One in the name of a file that exists is
// part of that, and so are several together, as in c++.wprp.
size_t profile_first(const char *text);

// What was asked for as `text`, and what came of it. `path` and findings as above.
struct profile_found {
	const char *text, *path;
	const struct plan *plan; // NULL: there is none
	const struct findings *findings;
};

// The plan of all that there are, after `told` has been told of each. False: there is none.
bool profiles_find(const char *text, enum plan_mode wanted, struct plan *plan,
		   void (*told)(void *context, const struct profile_found *found), void *context);
