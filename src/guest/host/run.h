// Runs and traces a test in a guest, with its artifacts on the host.
#pragma once

#include "guest/host/host.h"
#include "settings/settings.h"

enum { STATUS_GUEST_FAILED = 125 };        // the guest or the connection failed
#define GUEST_FAILED_RESULT "guest failed" // "result" in the manifest line then

struct host_run {
	const struct settings *settings; // as for session_run(); output_dir, quiet and json are ours
	uint64_t max_artifact_size;
	bool live; // receive the recording while it is made, so that a guest that dies leaves what it had
	// results
	int status;        // of the test, as in a shell; or STATUS_GUEST_FAILED
	bool guest_failed; // the guest ended before the test did
	char *trace;       // path; NULL if none
};

// `tracelet run` in the guest. Failures are logged.
void host_run(struct host *host, struct host_run *run);
void host_run_free(struct host_run *run);

enum { HOST_KEEP_SIGNALS = 1 << 16 }; // with a request's flags: do not forward our signals

// Runs another verb as given; its artifacts go to the directory. Returns the exit status.
int host_verb(struct host *host, const char *const *words, size_t count, unsigned flags,
	      const struct settings *settings, uint64_t max_artifact_size);
