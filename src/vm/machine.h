// One QEMU process: a throw-away machine that is our child and ends with us.
#pragma once

#include "vm/kernel.h"

#include <sys/types.h>

struct machine_options {
	enum vm_arch arch;
	unsigned memory; // MiB
	unsigned cpus;
	const char *kernel, *initrd;
	const char *socket; // of the port to the agent, created by QEMU
	int console;        // descriptor for the kernel's console
	const char *log;    // file for QEMU's messages
	const char *append; // to the kernel's command line; or NULL
	const char *words;  // to QEMU's command line, separated by blanks; or NULL
};

struct machine {
	pid_t pid;
	int status; // as from wait(), when it has ended
	bool over;
	bool accelerated; // by KVM
	bool sandboxed;   // QEMU gave up the system calls that it does not need
};

bool machine_arch(const char *name, enum vm_arch *arch); // "x86_64", "arm64" and their other names
enum vm_arch machine_arch_here(void);

int machine_start(struct machine *machine, const struct machine_options *options); // 0 or -errno, logged
bool machine_is_over(struct machine *machine);
void machine_end(struct machine *machine, double patience); // waits so many seconds, then kills it

// Whether KVM runs code here; that /dev/kvm is there proves nothing.
bool machine_kvm_works(void);
