// The profiles that need no file.
#pragma once

#include "profile/plan.h"

struct builtin {
	const char *name, *description;
	const char *keywords, *stacks; // names of WPR, a blank between
	enum plan_detail detail;
	bool providers;          // of Hyper-V, OpenVMM and OpenHCL, too
	bool samples_on_request; // they cost more than the rest
};

enum { BUILTIN_COUNT = 7 };
extern const struct builtin builtins[BUILTIN_COUNT]; // the first one is the default

const struct builtin *builtin_find(const char *name); // NULL: there is none; case does not matter
void builtin_plan(const struct builtin *builtin, enum plan_mode mode, struct plan *plan);
