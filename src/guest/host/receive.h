// Writes files from a guest to the host's disk. The guest is not trusted: a name becomes one plain path
// component, and never that of an existing file or link; the total size is limited. A file gets its name
// when it is complete; until then, or if it never completes, it is NAME.partial.
#pragma once

#include "base/array.h"
#include "base/buffer.h"
#include "format/clock.h"

struct received {
	char *name; // as sent by the guest
	char *path; // where it is
	uint64_t size;
	bool partial;
	bool unsound; // it is called a trace, but is none that can be read
};

struct receiver {
	const char *folder; // NULL if nothing is wanted
	const char *single; // path for the only file that is wanted; "-" for standard output
	uint64_t most;      // bytes in total
	bool quiet;         // show no progress
	uint64_t total;
	ARRAY(struct received) files;
	struct buffer manifest; // lines of the guest's manifest.jsonl, which is not written to a file
	// the file that is arriving
	char *name, *temporary;
	int fd;
	uint64_t announced, size;
	bool is_manifest, failed, open;
	int error;    // the first failure to write, -errno
	bool refused; // the guest violated the protocol: the session is over
};

enum { RECEIVED_FILES_MOST = 4096, MANIFEST_MOST = 1 << 20 };

void receiver_begin(struct receiver *receiver, const char *name, uint64_t size);
void receiver_bytes(struct receiver *receiver, const uint8_t *bytes, size_t size);
void receiver_end(struct receiver *receiver, uint64_t size, const char *why);

// The connection is lost: an incomplete file stays as .partial.
void receiver_cut(struct receiver *receiver);
// Nothing more is wanted: an incomplete file is deleted.
void receiver_discard(struct receiver *receiver);
void receiver_free(struct receiver *receiver);

// Where a file of the guest is now; NULL if it did not arrive.
const struct received *receiver_find(const struct receiver *receiver, const char *name);
