// What becomes of a session's record, on every system: members of its JSON that look
// the same everywhere, and the places where it goes.
#pragma once

#include "base/json.h"
#include "session/settings.h"

#include <time.h>

void record_started(struct json *json, const struct timespec *started);
// Which variant of the test it was, if any, and whether it was run once more.
void record_variant(struct json *json, const struct settings *settings);
void record_file(struct json *json, const char *kind, const char *path, uint64_t size, const char *sha256);

// One line of the folder's manifest. A failure is a warning, if `warn`.
void record_append(const char *dir, const struct buffer *line, bool warn);

// To the descriptor or file of --json. Failures are warnings.
void record_write(const char *target, const struct buffer *line);

// The folder's limits; true: they have cost us the trace that was just made.
bool record_keep_limits(const struct settings *settings, const char *trace);
#define RECORD_NO_ROOM "the folder's limits (--max-total-size, --max-age) have no room for it"
