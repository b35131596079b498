// Reading manifest.jsonl back, for those who keep a folder in order. Lines that are
// not ours, or were cut off, are passed over.
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

struct manifest_session {
	const char *test;
	time_t ended;
	bool passed;
	const char *kind;         // "test", "operation", "case", or "machine": of the session before
	const char *result;       // in words
	const char *variant_hash; // "": no variant
	const char *not_kept;     // why there is no trace though there could be; "": it was kept
	const char *backend;      // what recorded; "": nothing
	const char
		*guest_failed; // what became of the virtual machine it ran in; "": nothing, or there was none
	bool repro;            // it was run once more
};

struct manifest_artifact {
	const char *path, *name; // the name is that in the folder, one component
	const char *kind;
	const char *sha256; // "": not noted
	uint64_t size;
};

// Called in the order of the manifest; the texts live as long as the call.
struct manifest_reader {
	void (*session)(void *context, const struct manifest_session *session);
	void (*artifact)(void *context, const struct manifest_artifact *artifact); // of the session before
	void (*deleted)(void *context, const struct manifest_artifact *artifact);
};

int manifest_read(const char *dir, const struct manifest_reader *reader, void *context);
