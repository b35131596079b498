// Sessions on their way to a store: lines of manifests, turned into rows of all tables and into objects, and
// sent together. `push` and `rebuild` fill batches, so that a line has the same meaning to both.
//
// The order of what is sent makes it safe to be killed anywhere: objects, raw lines, ids, rows. Whatever has
// been sent already is sent again next time and changes nothing.
#pragma once

#include "store/clickhouse.h"
#include "store/objects.h"

struct batch_counts {
	uint64_t sessions;              // sent
	uint64_t known;                 // of these, the store had the id already
	uint64_t conflicts;             // not sent: the id is there with another content
	uint64_t ignored;               // lines that are no session of a test
	uint64_t broken;                // lines that could not be read
	uint64_t untrusted;             // sessions of forks, which never become part of a baseline
	uint64_t objects, object_bytes; // that were not there yet
	uint64_t missing;               // artifacts that are no more, or are no longer what the manifest says
};

struct batch;

struct batch *batch_new(size_t most); // sessions until it is full; 0 for a good number

void batch_free(struct batch *batch);

// A line without its end. `trusted`: false if no line from there is to be.
void batch_add(struct batch *batch, const char *line, size_t size, bool trusted);
bool batch_is_full(const struct batch *batch);
bool batch_is_empty(const struct batch *batch);

struct batch_target {
	struct clickhouse *server;
	struct objects *objects; // NULL for rows only
	const char *folder;      // where the artifacts of these lines are; NULL if they are objects already
};

// Sends everything, then empties the batch and adds to the counts. 0 or -errno, reported: then nothing that
// was sent does harm, and all of it has to be sent again.
int batch_send(struct batch *batch, const struct batch_target *target, struct batch_counts *counts);
