// The profiles that need no file.
#pragma once

#include "profile/plan.h"

struct builtin {
	const char *name, *description;
	const char *keywords, *stacks; // names of WPR, a blank between
	enum plan_detail detail;
	bool providers; // of Hyper-V, OpenVMM and OpenHCL, too
};

// The first costs next to nothing. The second takes the place of one that is missing or broken.
enum { BUILTIN_DEFAULT, BUILTIN_EMBEDDED, BUILTIN_COUNT = 8 };
extern const struct builtin builtins[BUILTIN_COUNT];

// What is recorded if nobody asks for anything: what costs more on Linux is WPR's daily work.
#ifdef _WIN32
enum { BUILTIN_USUAL = BUILTIN_EMBEDDED };
#else
enum { BUILTIN_USUAL = BUILTIN_DEFAULT };
#endif

const struct builtin *builtin_find(const char *name); // NULL: there is none; case does not matter
void builtin_plan(const struct builtin *builtin, enum plan_mode mode, struct plan *plan);

// Whether it is theirs, also in a file that was exported, and its buffers are as they made them: for WPR.
bool builtin_collector(const struct plan_collector *collector);
