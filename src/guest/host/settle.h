// Turns the files from a request into artifacts of this machine: traces get the facts about the guest's
// clock, incomplete traces are converted as far as possible, the manifest gets its lines.
//
// The guest is not trusted. A line of the manifest is made from what the host knows (the test that it asked
// for, the files that it received) and from what the guest says about the run itself.
#pragma once

#include "format/clock.h"
#include "guest/host/receive.h"
#include "settings/settings.h"

struct settlement {
	struct receiver *receiver;
	const struct guest_clock *clock;
	const char *address;             // of the guest
	const char *guest_folder;        // where the files were there
	const char *folder;              // and where they are here
	const struct settings *settings; // of the requested test; NULL for another verb
	struct buffer *lines;            // gets the lines of the manifest; or NULL
};

// Failures are warnings. Returns the path of the trace, or NULL; it belongs to the receiver.
const char *settle(const struct settlement *settlement);
