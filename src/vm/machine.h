// One QEMU process: a throw-away machine that is a child of ours and ends with us.
#pragma once

#include "vm/kernel.h"

#include <sys/types.h>

struct machine_options {
	enum vm_arch arch;
	unsigned memory; // MiB
	unsigned cpus;
	const char *kernel, *initrd;
	const char *socket;  // of the port to the agent, made by QEMU
	const char *console; // a file for what the kernel says
	const char *log;     // and one for what QEMU says
	const char *append;  // to the kernel's command line; or NULL
	const char *words;   // to QEMU's, parted by blanks; or NULL
};

struct machine {
	pid_t pid;
	int status; // as wait() has it, when it is over
	bool over;
	bool accelerated; // by KVM
};

bool machine_arch(const char *name, enum vm_arch *arch); // "x86_64", "arm64" and what else they are called
enum vm_arch machine_arch_here(void);

int machine_start(struct machine *machine, const struct machine_options *options); // 0 or -errno, said
bool machine_is_over(struct machine *machine);
void machine_end(struct machine *machine, double patience); // waits so many seconds, then kills it

// Whether KVM runs code here; that /dev/kvm is there proves nothing.
bool machine_kvm_works(void);
