// Runs a test in its own virtual machine, which is booted for it and thrown away after it.
#pragma once

#include "settings/settings.h"
#include "vm/machine.h"

struct vm_options {
	const char *kernel;
	const char *initrd, *rootfs, *agent; // or NULL
	const char *append;                  // to the kernel's command line; or NULL
	const char *qemu;                    // to QEMU's; or NULL
	const char *socket;                  // vm_start(): where the agent is reached; or NULL
	const char *const *additions;        // as image_options has them
	const char *const *variables;        // the same: NAME=VALUE
	enum vm_arch arch;
	unsigned memory, cpus;
	double boot_limit;                       // seconds
	uint64_t max_artifact_size, max_console; // bytes
};

// Returns the exit status: the test's, or STATUS_GUEST_FAILED (guest/host/run.h). Failures are logged.
int vm_run(const struct vm_options *options, struct settings *settings);

// The same machine without a test: prints its address on standard output and runs until it is ended or powers
// off. Returns 0, or as above.
int vm_start(const struct vm_options *options, struct settings *settings);
