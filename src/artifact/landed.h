// What became of a test's artifacts, according to the manifest of their directory.
#pragma once

#include "base/buffer.h"

struct landed_question {
	const char *folder;
	const char *test;    // as the user calls it
	const char *variant; // canonical; NULL if none
	bool repro;          // of the second run (--repro)
};

enum landed { LANDED, NOT_LANDED, LANDED_GUEST_FAILED };

// Has the newest session of the test left a good trace? `line` describes what was found, or what is
// wrong: the path, what was expected, what was found and what to check.
enum landed landed_check(const struct landed_question *question, uint64_t min_size, struct buffer *line);

// The kind of trace that sessions on this system record. A directory may hold files from another system.
#ifdef _WIN32
#define LANDED_HERE "etl"
#else
#define LANDED_HERE "perfetto"
#endif

// The path of an artifact of the newest session, to be freed by the caller, or NULL if none. If the kind is
// NULL, its trace, whichever system recorded it.
char *landed_artifact(const struct landed_question *question, const char *kind);
