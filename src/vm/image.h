// The file system of a throw-away guest: an initramfs with the agent as its first process, the
// test's program and whatever it needs.
#pragma once

#include "base/array.h"
#include "vm/kernel.h"

struct image_options {
	const char *agent;            // for the guest's machine
	const char *initrd;           // begins with this one; or NULL
	const char *rootfs;           // a folder that is the guest's root; or NULL
	const char *program;          // of the test, a path of this machine; NULL: it is in the guest already
	const char *const *additions; // FILE or FILE=PATH, folders with all below; ends with NULL; or NULL
	const char *const *variables; // NAME=VALUE for all that runs there; ends with NULL; or NULL
	const char *folder;           // where it runs; or NULL
	const struct vm_kernel *kernel;
	bool foreign; // the guest is a machine of another kind: no program of this one runs there
};

#define IMAGE_INIT "/tracelet/tracelet-agent"

// 0 or -errno, said in one line.
int image_write(const struct image_options *options, const char *path);
