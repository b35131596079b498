// The built-in profiles.
#pragma once

#include "profile/plan.h"

struct builtin {
	const char *name, *description;
	const char *keywords, *stacks; // WPR's names, separated by blanks
	enum plan_detail detail;
	bool providers; // includes the providers of Hyper-V, OpenVMM and OpenHCL
};

// The first costs next to nothing. The second replaces a profile that is missing or invalid.
enum { BUILTIN_DEFAULT, BUILTIN_EMBEDDED, BUILTIN_COUNT = 8 };
extern const struct builtin builtins[BUILTIN_COUNT];

// The profile if none is requested: what is expensive on Linux is routine for WPR.
#ifdef _WIN32
enum { BUILTIN_USUAL = BUILTIN_EMBEDDED };
#else
enum { BUILTIN_USUAL = BUILTIN_DEFAULT };
#endif

const struct builtin *builtin_find(const char *name); // NULL if none; ignores case
void builtin_plan(const struct builtin *builtin, enum plan_mode mode, struct plan *plan);

// Whether the collector is a built-in profile's, possibly from an exported file, with unchanged
// buffers, which are meant for WPR.
bool builtin_collector(const struct plan_collector *collector);
