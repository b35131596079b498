// Whether KVM makes guests faster. The processor must support virtualization: a KVM without it (kvm-pvm)
// interprets the code of an ordinary guest, which is slower than QEMU and fails on some instructions. And a
// machine of one instruction must run: /dev/kvm may exist and still refuse to create a machine, or never run
// it.
#include "vm/machine.h"

#ifdef __x86_64__
#include <cpuid.h>
#endif
#include <fcntl.h>
#include <linux/kvm.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <unistd.h>

#ifdef __x86_64__

enum { CODE_AT = 0x1000, HALT = 0xf4, PAGE = 4096 };

static bool processor_runs_guests(void) {
	enum { VMX = 1 << 5, SVM = 1 << 2 };
	unsigned a, b, c, d;
	return (__get_cpuid(1, &a, &b, &c, &d) && c & VMX) ||
	       (__get_cpuid(0x80000001, &a, &b, &c, &d) && c & SVM);
}

static bool set_registers(int cpu) {
	struct kvm_sregs segments;
	struct kvm_regs registers = {.rip = CODE_AT, .rflags = 2};
	if (ioctl(cpu, KVM_GET_SREGS, &segments))
		return false;
	segments.cs.base = segments.cs.selector = 0;
	return ioctl(cpu, KVM_SET_SREGS, &segments) == 0 && ioctl(cpu, KVM_SET_REGS, &registers) == 0;
}

static bool runs(int kvm, int machine, unsigned char *page) {
	struct kvm_userspace_memory_region region = {
		.guest_phys_addr = CODE_AT, .memory_size = PAGE, .userspace_addr = (uintptr_t)page};
	page[0] = HALT;
	int size = ioctl(kvm, KVM_GET_VCPU_MMAP_SIZE, 0);
	int cpu = ioctl(machine, KVM_SET_USER_MEMORY_REGION, &region) ? -1
								      : ioctl(machine, KVM_CREATE_VCPU, 0);
	struct kvm_run *run = cpu < 0 || size < (int)sizeof(*run)
				      ? MAP_FAILED
				      : mmap(NULL, (size_t)size, PROT_READ | PROT_WRITE, MAP_SHARED, cpu, 0);
	bool halted = run != MAP_FAILED && set_registers(cpu) && ioctl(cpu, KVM_RUN, 0) == 0 &&
		      run->exit_reason == KVM_EXIT_HLT;
	if (run != MAP_FAILED)
		munmap(run, (size_t)size);
	if (cpu >= 0)
		close(cpu);
	return halted;
}

#else

static bool processor_runs_guests(void) {
	return true; // otherwise there is no /dev/kvm
}

static bool runs(int kvm, int machine, unsigned char *page) {
	int cpu = ioctl(machine, KVM_CREATE_VCPU, 0);
	if (cpu >= 0)
		close(cpu);
	return cpu >= 0;
}

enum { PAGE = 4096 };

#endif

bool machine_kvm_works(void) {
	int kvm = processor_runs_guests() ? open("/dev/kvm", O_RDWR | O_CLOEXEC) : -1;
	int machine = kvm < 0 ? -1 : ioctl(kvm, KVM_CREATE_VM, 0);
	void *page = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	bool works = machine >= 0 && page != MAP_FAILED && runs(kvm, machine, page);
	if (page != MAP_FAILED)
		munmap(page, PAGE);
	if (machine >= 0)
		close(machine);
	if (kvm >= 0)
		close(kvm);
	return works;
}
