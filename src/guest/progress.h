// One line on a terminal that tells how far a file has come, if that takes longer than a moment.
#pragma once

#include "guest/receive.h"

struct progress {
	bool wanted, visible;
	uint64_t begun, shown; // when, in ns of any clock that goes on; 0: no file is coming
};

void progress_begin(struct progress *progress, const struct receiver *receiver);
void progress_show(struct progress *progress, const struct receiver *receiver, uint64_t now);
void progress_hide(struct progress *progress);
