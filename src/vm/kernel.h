// A kernel for a throw-away guest, ready to boot, and the modules needed to communicate with it.
#pragma once

#include "base/array.h"

enum vm_arch { VM_X86_64, VM_ARM64 };

struct vm_module {
	char *name, *file; // unpacked
};

struct vm_kernel {
	char *file;
	ARRAY(struct vm_module) modules; // each needs only those before it
};

// `path` is a vmlinux, a bzImage or an arm64 Image. Modules are taken from modules/ next to it or, for a
// name that ends with "-RELEASE", from ../lib/modules/RELEASE or /lib/modules/RELEASE; missing ones are
// assumed to be built in. Unpacked files go to the directory. Returns 0 or -errno; failures are logged.
int vm_kernel_prepare(struct vm_kernel *kernel, const char *path, enum vm_arch arch, const char *folder);
void vm_kernel_free(struct vm_kernel *kernel);
