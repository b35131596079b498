// The file system of a throw-away guest: an initramfs with the agent as process 1, the test's
// program and what it needs.
#pragma once

#include "base/array.h"
#include "vm/kernel.h"

struct image_options {
	const char *agent;   // for the guest's architecture
	const char *initrd;  // to start from; or NULL
	const char *rootfs;  // directory that becomes the guest's root; or NULL
	const char *program; // of the test, a path on this machine; NULL if it is already in the guest
	const char *const *additions; // FILE or FILE=PATH, directories with contents; ends with NULL; or NULL
	const char *const *variables; // NAME=VALUE for all processes there; ends with NULL; or NULL
	const char *folder;           // where the test runs; or NULL
	const struct vm_kernel *kernel;
	bool foreign; // the guest has another architecture: this machine's programs do not run there
};

#define IMAGE_INIT "/tracelet/tracelet-agent"

// Returns 0 or -errno; failures are logged.
int image_write(const struct image_options *options, const char *path);
