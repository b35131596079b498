// What `tracelet doctor` examines: each system has its own list.
#pragma once

#include "cli/verb.h"

enum verdict { WORKS, LIMITED, MISSING };

struct finding {
	enum verdict verdict;
	char found[160];
	char fix[600];
};

void doctor_fix(struct finding *finding, enum verdict verdict, const char *fix);

struct examination {
	const char *name;
	void (*examine)(struct finding *finding);
};

enum { DOCTOR_MOST = 16 };
extern const struct examination doctor_examinations[]; // ends with an entry without a name

struct doctor_recording {
	const char *word;     // full, reduced or none
	const char *sentence; // the same as a sentence
};
const struct doctor_recording *doctor_recording(const struct finding *findings);

// What other users could use against a traced test: one line each, with what to do.
struct opening {
	char name[40], found[240], fix[600];
};
struct doctor_openings {
	struct opening items[DOCTOR_MOST];
	size_t count;
};
void doctor_open(struct doctor_openings *all);

// The commands that let a group use a program without root; three times its path.
#define DOCTOR_CAPABILITIES                                                                                  \
	"groupadd -f tracelet && chgrp tracelet %s && chmod 0750 %s && setcap cap_bpf,cap_perfmon+ep %s"
