// What a request brought, made into artifacts of this machine: traces are told whose clock they have,
// parts of a trace are converted as far as they go, the manifest gets its lines.
#pragma once

#include "guest/clock.h"
#include "guest/receive.h"

struct settlement {
	struct receiver *receiver;
	const struct guest_clock *clock;
	const char *address;      // of the guest
	const char *guest_folder; // where the files were there
	const char *folder;       // and where they are here
};

// Failures are warnings. Returns the path of the trace, or NULL; it belongs to the receiver.
const char *settle(const struct settlement *settlement);
