// While a trace is made: where the time of the test went (analyse/why.h), for the summary, reports and the
// manifest, and as a track of the trace (EVENT_PATH).
#pragma once

#include "flow/pipeline.h"
#include "format/manifest_record.h"

// Both are NULL if there is no answer: no switches, or more than is kept in memory.
struct explanation {
	char *text;   // without the result
	char *digest; // JSON, for later comparisons
};

// With NULL, only the track is made, and only for recordings of a test.
struct tap explain_tap(struct explanation *explanation);
// Of a spool that no trace is made of; `also` sees its events, too.
int explain_spool(const char *path, struct explanation *explanation, struct tap also);
// Adds to the text what differs from the passing runs that the manifest in `folder` has. `record` is the line
// of this run, which is not in it yet.
void explain_difference(struct explanation *explanation, const char *folder,
			const struct manifest_record *record);
void explanation_free(struct explanation *explanation);
