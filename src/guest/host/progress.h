// A progress line on the terminal for a file that takes longer than a second to arrive.
#pragma once

#include "guest/host/receive.h"

struct progress {
	bool wanted, visible;
	uint64_t begun, shown; // times in ns of any monotonic clock; 0 if no file is arriving
};

void progress_begin(struct progress *progress, const struct receiver *receiver);
void progress_show(struct progress *progress, const struct receiver *receiver, uint64_t now);
void progress_hide(struct progress *progress);
