// TIOCSTI puts characters into the input of the caller's terminal, where the shell that started us reads them
// after the test: a test that runs as another user would give orders to root. `su --pty` moves the test to a
// terminal of its own, but then its job control and its stdin are no longer what they were. A system call filter
// takes away just this call, and TIOCLINUX, which pastes on a console. It is installed with CAP_SYS_ADMIN and
// so without no_new_privs: set-user-id programs work as before.
//
// The setting dev.tty.legacy_tiocsti is not asked: it can change while the test runs, and does not cover TIOCLINUX.
#include "process/typing.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

// The number of ioctl() in each way to call this kernel.
#if defined(__x86_64__)
enum { OWN_MACHINE = (int)AUDIT_ARCH_X86_64, SMALL_MACHINE = AUDIT_ARCH_I386 };
enum { X32_BIT = 0x40000000, X32_IOCTL = 514 };
#elif defined(__aarch64__)
enum { OWN_MACHINE = (int)AUDIT_ARCH_AARCH64, SMALL_MACHINE = AUDIT_ARCH_ARM };
enum { X32_BIT = 0, X32_IOCTL = SYS_ioctl };
#endif
enum { SMALL_IOCTL = 54 };

static bool has_terminal(void) {
	int terminal = open("/dev/tty", O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	if (terminal >= 0)
		close(terminal);
	return terminal >= 0 || isatty(STDIN_FILENO) || isatty(STDOUT_FILENO) || isatty(STDERR_FILENO);
}

int typing_forbid(void) {
#if defined(__x86_64__) || defined(__aarch64__)
	// The kernel takes the lower half of the second argument, and so do we.
	const uint32_t request = offsetof(struct seccomp_data, args[1]);
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, arch)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)OWN_MACHINE, 3, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)SMALL_MACHINE, 0, 9),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SMALL_IOCTL, 4, 7),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		BPF_STMT(BPF_ALU | BPF_AND | BPF_K, ~(uint32_t)X32_BIT),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_ioctl, 1, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, X32_IOCTL, 0, 3),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, request),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, TIOCSTI, 2, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, TIOCLINUX, 1, 0),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
	};
	struct sock_fprog program = {.len = sizeof(code) / sizeof(*code), .filter = code};
	if (has_terminal() && prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0))
		return -errno;
	return 0;
#else
	return has_terminal() ? -ENOSYS : 0;
#endif
}
