// The smallest host of a virtual machine: `machine COUNT` creates one with one vCPU, whose program
// writes COUNT times to a port and halts. Each write is one exit.
#include <fcntl.h>
#include <linux/kvm.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>

static long need(long result, const char *what) {
	if (result >= 0)
		return result;
	perror(what);
	exit(1);
}

int main(int argc, char **argv) {
	int count = argc > 1 ? atoi(argv[1]) : 1;
	int kvm = (int)need(open("/dev/kvm", O_RDWR | O_CLOEXEC), "/dev/kvm");
	int machine = (int)need(ioctl(kvm, KVM_CREATE_VM, 0), "KVM_CREATE_VM");
	unsigned char *memory = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	for (int i = 0; i < count; i++)
		memcpy(memory + 2 * i, "\xe6\x10", 2); // out %al, $0x10
	memory[2 * count] = 0xf4;                      // hlt
	struct kvm_userspace_memory_region region = {
		.guest_phys_addr = 0x1000, .memory_size = 4096, .userspace_addr = (unsigned long)memory};
	need(ioctl(machine, KVM_SET_USER_MEMORY_REGION, &region), "memory");
	int cpu = (int)need(ioctl(machine, KVM_CREATE_VCPU, 0), "KVM_CREATE_VCPU");
	size_t size = (size_t)need(ioctl(kvm, KVM_GET_VCPU_MMAP_SIZE, 0), "size");
	struct kvm_run *run = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, cpu, 0);
	struct kvm_sregs special;
	need(ioctl(cpu, KVM_GET_SREGS, &special), "registers");
	special.cs.base = special.cs.selector = 0;
	need(ioctl(cpu, KVM_SET_SREGS, &special), "registers");
	struct kvm_regs registers = {.rip = 0x1000, .rflags = 2};
	need(ioctl(cpu, KVM_SET_REGS, &registers), "registers");
	int written = 0;
	do {
		need(ioctl(cpu, KVM_RUN, 0), "KVM_RUN");
		written += run->exit_reason == KVM_EXIT_IO;
	} while (run->exit_reason == KVM_EXIT_IO);
	printf("%d\n", written);
	return run->exit_reason != KVM_EXIT_HLT;
}
