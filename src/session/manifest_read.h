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
