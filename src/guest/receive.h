// Files that a guest sends, on the host's disk. The guest is not trusted: a name is one path component and
// plain, never that of a file or link that exists; what all of it may take is limited; a file has its
// name when it is whole, and is NAME.partial until then and when it never becomes so.
#pragma once

#include "base/array.h"
#include "base/buffer.h"
#include "guest/clock.h"

struct received {
	char *name; // as the guest had it
	char *path; // where it is
	uint64_t size;
	bool partial;
};

struct receiver {
	const char *folder; // NULL: nothing is wanted
	const char *single; // the path of the only file that is wanted; "-": standard output
	uint64_t most;      // bytes in all
	bool quiet;         // nobody wants to see how far it is
	uint64_t total;
	ARRAY(struct received) files;
	struct buffer manifest; // lines of the guest's manifest.jsonl, which becomes no file
	// the one that is coming
	char *name, *temporary;
	int fd;
	uint64_t announced, size;
	bool is_manifest, failed, open;
	int error;    // the first failure to write, -errno
	bool refused; // the guest sent what must not be: the session is over
};

enum { RECEIVED_FILES_MOST = 4096, MANIFEST_MOST = 1 << 20 };

void receiver_begin(struct receiver *receiver, const char *name, uint64_t size);
void receiver_bytes(struct receiver *receiver, const uint8_t *bytes, size_t size);
void receiver_end(struct receiver *receiver, uint64_t size, const char *why);

// The connection is lost: a file that was coming stays as .partial.
void receiver_cut(struct receiver *receiver);
// Nothing of it is wanted any more: a file that is coming goes.
void receiver_discard(struct receiver *receiver);
void receiver_free(struct receiver *receiver);

// Where a file of the guest is now, NULL: it did not come.
const struct received *receiver_find(const struct receiver *receiver, const char *name);
