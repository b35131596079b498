// manifest.jsonl in the output directory: one line for each session, and one each time artifacts were
// deleted (format/manifest_record.h, docs/manifest.md).
#pragma once

#include "format/manifest_record.h"

// ---- writing ----

// Appends a line completely or not at all, even if runs end at the same time. 0 or -errno.
int manifest_note(const char *dir, const struct manifest_record *record);
int manifest_append(const char *dir, const struct buffer *line);

// The same in steps, for callers that read before they write; other writers wait. A descriptor to be
// closed, or -errno.
int manifest_lock(const char *dir);
int manifest_note_locked(int fd, const struct manifest_record *record);

// Writes to the descriptor or file of --json. Failures are warnings.
void manifest_write_json(const char *target, const struct manifest_record *record);
void manifest_write_lines(const char *target, const struct buffer *lines); // several at once

// ---- reading ----

// Calls `take` for each record, the oldest first; the record lives as long as the call. Skips lines that are
// torn or not ours. 0 or -errno.
int manifest_walk(const char *dir, void (*take)(void *context, const struct manifest_record *record),
		  void *context);
// The same for text in memory.
void manifest_walk_text(const char *text, size_t size,
			void (*take)(void *context, const struct manifest_record *record), void *context);

bool manifest_passed(const struct manifest_record *record); // so has an operation that was recorded
bool manifest_is_trace(const struct manifest_artifact *artifact);
bool manifest_ended(const struct manifest_record *record, time_t *ended); // false if the end is unknown

// The file name of an artifact in its directory, given the path in the manifest, whichever system wrote it.
// The directory may have been moved, and no path may lead out of it: only the last component counts. NULL if
// that is hidden, "..", an alternate data stream on Windows, or the manifest itself.
const char *manifest_artifact_name(const char *path);
const char *manifest_file_name(const char *path); // the last component, whatever it is
