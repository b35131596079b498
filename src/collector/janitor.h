// A thread for all that may wait in the kernel: attaching and detaching the programs, making places, and
// emptying those whose sessions have ended. The control thread asks and goes on; `done` is readable when it
// should look again.
#pragma once

#include "collector/kernel.h"

struct janitor;

int janitor_start(struct janitor **janitor, struct kernel *kernel, int done); // 0 or -errno
void janitor_stop(struct janitor *janitor);

// A session wants to begin, or has ended: the programs stay attached as long as there is one, and ten seconds
// longer.
void janitor_expect(struct janitor *janitor);
void janitor_expect_no_more(struct janitor *janitor);

// What sessions want besides what every session gets.
struct janitor_extras {
	unsigned frequency; // of samples, a second
	uint64_t sources;   // of extras_all(), a bit for each
};

// All that some session wants.
void janitor_want(struct janitor *janitor, struct janitor_extras extras);

enum janitor_answer { JANITOR_READY, JANITOR_WAIT, JANITOR_FULL, JANITOR_FAILED };

// Are the programs attached, these, too, and is there a place for this user? JANITOR_WAIT: not yet.
enum janitor_answer janitor_take(struct janitor *janitor, uid_t uid, struct janitor_extras extras,
				 struct place **place);
void janitor_give_back(struct janitor *janitor, struct place *place);

uint64_t janitor_memory(struct janitor *janitor); // bytes of all places
