// A test in a guest, traced there, with its artifacts here.
#pragma once

#include "guest/host.h"
#include "session/settings.h"

enum { STATUS_GUEST_FAILED = 125 };        // the guest, or the way to it
#define GUEST_FAILED_RESULT "guest failed" // "result" of the manifest's line then

struct host_run {
	const struct settings *settings; // as for session_run(); output_dir, quiet and json are ours
	uint64_t max_artifact_size;
	bool live; // the recording comes while it is made: a guest that dies leaves what it had
	// what came of it
	int status;        // the test's, as a shell gives it; STATUS_GUEST_FAILED
	bool guest_failed; // the guest ended before the test did
	char *trace;       // path, NULL: there is none
};

// `tracelet run` in the guest. All that fails has been said.
void host_run(struct host *host, struct host_run *run);
void host_run_free(struct host_run *run);

enum { HOST_KEEP_SIGNALS = 1 << 16 }; // with flags of a request: ours stay ours meanwhile

// Another verb, as it is written; its artifacts come to the folder. The exit status.
int host_verb(struct host *host, const char *const *words, size_t count, unsigned flags,
	      const struct settings *settings, uint64_t max_artifact_size);
