// A kernel for a throw-away guest, ready to be booted, and the modules without which nobody could
// talk to it.
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

// `path` is a vmlinux, a bzImage or an arm64 Image. Modules are in the folder modules/ beside it, in
// ../lib/modules/RELEASE or /lib/modules/RELEASE for a name that ends with "-RELEASE"; what is not there
// is taken for built in. What has to be unpacked goes to the folder. 0 or -errno, said in one line.
int vm_kernel_prepare(struct vm_kernel *kernel, const char *path, enum vm_arch arch, const char *folder);
void vm_kernel_free(struct vm_kernel *kernel);
