// What became of a test's artifacts, by the manifest of its folder.
#pragma once

#include "base/buffer.h"

struct landed_question {
	const char *folder;
	const char *test;    // as the user calls it
	const char *variant; // canonical; NULL: the test has none
	bool repro;          // of the run after a failed one
};

enum landed { LANDED, NOT_LANDED, LANDED_GUEST_FAILED };

// Has the newest session of the test left a good trace? `line` tells what was found, or what is
// wrong: the path, what was expected, what was found and which step of the chain to look at.
enum landed landed_check(const struct landed_question *question, uint64_t min_size, struct buffer *line);

// What sessions record here, as manifests call it. Those of a folder may come from another system.
#ifdef _WIN32
#define LANDED_HERE "etl"
#else
#define LANDED_HERE "perfetto"
#endif

// The path of an artifact of the newest session, the caller's to free; NULL: there is none. The kind
// NULL is its trace, whichever system has recorded it.
char *landed_artifact(const struct landed_question *question, const char *kind);
