// What `tracelet doctor` looks at: each system has its own list.
#pragma once

#include "cli/verb.h"

enum verdict { WORKS, LIMITED, MISSING };

struct finding {
	enum verdict verdict;
	char found[160];
	char fix[200];
};

void doctor_fix(struct finding *finding, enum verdict verdict, const char *fix);

struct examination {
	const char *name;
	void (*examine)(struct finding *finding);
};

enum { DOCTOR_MOST = 16 };
extern const struct examination doctor_examinations[]; // at most so many; one without a name ends it

struct doctor_recording {
	const char *word;     // full, reduced or none
	const char *sentence; // the same for people
};
const struct doctor_recording *doctor_recording(const struct finding *findings);
