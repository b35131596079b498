// The order matters: limits while we may still set them, then the user and the capabilities, and last the
// filter, which lets nothing of this through. Refused calls fail with EPERM: libraries that try something
// harmless go on.
#include "symbol/confine.h"

#include "base/memory.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/audit.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stddef.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

// ---- limits ----

// AddressSanitizer's shadow is larger than any limit. (gcc and clang say in different ways that it is on.)
#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define __SANITIZE_ADDRESS__ 1
#endif
#endif
#ifdef __SANITIZE_ADDRESS__
enum { MEMORY_IS_LIMITED = 0 };
#else
enum { MEMORY_IS_LIMITED = 1 };
#endif

// Half of the machine's memory, at most 8 GB: the debug information of the largest programs fits.
static rlim_t memory_limit(void) {
	const rlim_t most = (rlim_t)8 << 30;
	long pages = sysconf(_SC_PHYS_PAGES), size = sysconf(_SC_PAGESIZE);
	rlim_t half = pages > 0 && size > 0 ? (rlim_t)pages * (rlim_t)size / 2 : most;
	return MEMORY_IS_LIMITED ? MIN(half, most) : RLIM_INFINITY;
}

// Files are mapped, which costs addresses only.
static rlim_t address_limit(void) {
	return MEMORY_IS_LIMITED ? (rlim_t)256 << 30 : RLIM_INFINITY;
}

// Never more than before.
static bool limit_to(unsigned resource, rlim_t most) {
	struct rlimit limit;
	if (getrlimit(resource, &limit))
		return false;
	limit.rlim_max = MIN(limit.rlim_max, most);
	limit.rlim_cur = MIN(limit.rlim_cur, limit.rlim_max);
	if (resource == RLIMIT_NOFILE)
		limit.rlim_cur = limit.rlim_max;
	return setrlimit(resource, &limit) == 0;
}

static bool set_limits(void) {
	const struct {
		unsigned resource;
		rlim_t most;
	} limits[] = {
		{RLIMIT_CORE, 0},
		{RLIMIT_FSIZE, 0},
		{RLIMIT_NPROC, 0},
		{RLIMIT_NOFILE, 16384}, // two for each module
		{RLIMIT_CPU, 3600},     // seconds in all; the asking process has a limit for each question
		{RLIMIT_DATA, memory_limit()},
		{RLIMIT_AS, address_limit()},
	};
	bool all = true;
	for (size_t i = 0; i < ARRAY_SIZE(limits); i++)
		all &= limit_to(limits[i].resource, limits[i].most);
	return all;
}

// ---- rights ----

// Root's reader becomes a user who owns nothing. In a user namespace without that user it stays who it is:
// without capabilities.
static bool change_user(void) {
	enum { NOBODY = 65534 };
	if (geteuid() != 0 && getuid() != 0)
		return true;
	return setgroups(0, NULL) == 0 && setresgid(NOBODY, NOBODY, NOBODY) == 0 &&
	       setresuid(NOBODY, NOBODY, NOBODY) == 0;
}

// None but these, as far as we have them.
static void keep_capabilities(const unsigned *kept, size_t count) {
	struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct now[_LINUX_CAPABILITY_U32S_3] = {0},
				      then[_LINUX_CAPABILITY_U32S_3] = {0};
	syscall(SYS_capget, &header, now);
	for (size_t i = 0; i < count; i++) {
		uint32_t bit = now[kept[i] / 32].permitted & 1u << kept[i] % 32;
		then[kept[i] / 32].permitted |= bit;
		then[kept[i] / 32].effective |= bit;
	}
	prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
	syscall(SYS_capset, &header, then);
}

// ---- system calls ----

#if defined(__x86_64__)
static const uint32_t own_machine = AUDIT_ARCH_X86_64; // x32's calls have other numbers, which are refused
#elif defined(__aarch64__)
static const uint32_t own_machine = AUDIT_ARCH_AARCH64;
#endif

// Calls that depend on one argument: it must be `value` in the bits of `mask`.
struct checked_call {
	int call;
	unsigned argument;
	uint32_t mask, value;
};

struct call_list {
	const int *calls;
	size_t count;
	const struct checked_call *checked;
	size_t checked_count;
};

// To work with memory and with descriptors that are open.
static const int plain_calls[] = {
	SYS_read,          SYS_pread64,      SYS_lseek,          SYS_close,
	SYS_munmap,        SYS_mremap,       SYS_madvise,        SYS_brk,
	SYS_futex,         SYS_exit,         SYS_exit_group,     SYS_fstat,
	SYS_rt_sigreturn,  SYS_rt_sigaction, SYS_getrandom,      SYS_sysinfo,
	SYS_sched_yield,   SYS_gettid,       SYS_getpid,         SYS_restart_syscall,
	SYS_clock_gettime, SYS_sigaltstack,  SYS_rt_sigprocmask,
};
static const struct checked_call plain_checked[] = {{SYS_mmap, 2, PROT_EXEC, 0},
						    {SYS_mprotect, 2, PROT_EXEC, 0}};

static const struct checked_call reader_checked[] = {
	{SYS_recvmsg, 0, UINT32_MAX, 0}, // the socket only
	{SYS_sendmsg, 0, UINT32_MAX, 0},
	{SYS_newfstatat, 3, UINT32_MAX, AT_EMPTY_PATH}, // the C library's fstat()
};

static const int unwinder_calls[] = {
	SYS_write,
	SYS_writev,
	SYS_getdents64,
	SYS_newfstatat,
	SYS_statx,
	SYS_readlinkat,
	SYS_faccessat,
	SYS_getcwd,
	SYS_dup,
	SYS_fcntl,
	SYS_wait4,
	SYS_waitid,
	SYS_process_vm_readv,
#ifdef SYS_readlink
	SYS_readlink,
	SYS_access,
	SYS_stat,
	SYS_lstat,
#endif
};
static const struct checked_call unwinder_checked[] = {
	{SYS_openat, 2, O_ACCMODE | O_CREAT | O_TRUNC | O_APPEND, O_RDONLY},
	{SYS_ptrace, 0, UINT32_MAX, PTRACE_ATTACH},
	{SYS_ptrace, 0, UINT32_MAX, PTRACE_DETACH},
	{SYS_ptrace, 0, UINT32_MAX, PTRACE_CONT},
	{SYS_ptrace, 0, UINT32_MAX, PTRACE_PEEKDATA},
	{SYS_ptrace, 0, UINT32_MAX, PTRACE_PEEKUSER},
	{SYS_ptrace, 0, UINT32_MAX, PTRACE_GETREGSET},
	{SYS_ptrace, 0, UINT32_MAX, PTRACE_GETSIGINFO},
#ifdef __x86_64__
	{SYS_ptrace, 0, UINT32_MAX, PTRACE_GETREGS},
#endif
	{SYS_kill, 1, UINT32_MAX, 0},        // asks whether there is such a process
	{SYS_tkill, 1, UINT32_MAX, SIGSTOP}, // libdwfl leaves a stopped process stopped
};

#define CALL_LIST(calls, checked)                                                                            \
	(struct call_list) {                                                                                 \
		calls, ARRAY_SIZE(calls), checked, ARRAY_SIZE(checked)                                       \
	}

enum { LARGEST_FILTER = 512 };

static size_t add_checked(struct sock_filter *out, const struct checked_call *checked) {
	const uint32_t argument = (uint32_t)(offsetof(struct seccomp_data, args) + 8 * checked->argument);
	const uint32_t number = offsetof(struct seccomp_data, nr);
	const struct sock_filter code[] = {
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)checked->call, 0, 5),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, argument), // the lower half: the kernel takes an int
		BPF_STMT(BPF_ALU | BPF_AND | BPF_K, checked->mask),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, checked->value, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, number),
	};
	for (size_t i = 0; i < ARRAY_SIZE(code); i++)
		out[i] = code[i];
	return ARRAY_SIZE(code);
}

static size_t add_list(struct sock_filter *out, const struct call_list *list) {
	size_t size = 0;
	for (size_t i = 0; i < list->count; i++) {
		out[size++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K,
							   (uint32_t)list->calls[i], 0, 1);
		out[size++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
	}
	for (size_t i = 0; i < list->checked_count; i++)
		size += add_checked(out + size, &list->checked[i]);
	return size;
}

// Allows the plain calls and those of the list.
static bool install_filter(const struct call_list *list) {
	const struct call_list plain = CALL_LIST(plain_calls, plain_checked);
	struct sock_filter code[LARGEST_FILTER] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, arch)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, own_machine, 1, 0),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL_PROCESS),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
	};
	size_t size = 4;
	size += add_list(code + size, &plain);
	size += add_list(code + size, list);
	code[size++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM);
	struct sock_fprog program = {.len = (unsigned short)size, .filter = code};
	return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
	       prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0) == 0;
}

// ---- the whole ----

// The socket becomes descriptor 0, where the filter expects it.
static void close_all_but(int socket) {
	if (socket != 0)
		dup2(socket, 0);
	if (syscall(SYS_close_range, 1, ~0u, 0) == 0)
		return;
	for (int fd = (int)sysconf(_SC_OPEN_MAX); fd > 0; fd--)
		close(fd);
}

struct confined confine(int socket) {
	const struct call_list reader = {NULL, 0, reader_checked, ARRAY_SIZE(reader_checked)};
	struct confined confined;
	close_all_but(socket);
	confined.limited = set_limits();
	confined.user = change_user();
	keep_capabilities(NULL, 0);
	prctl(PR_SET_DUMPABLE, 0);
	confined.filter = install_filter(&reader);
	return confined;
}

void confine_unwinder(void) {
	static const unsigned kept[] = {CAP_SYS_PTRACE, CAP_DAC_READ_SEARCH,
					CAP_KILL,      // for the two calls above
					CAP_SYS_ADMIN, // for kernel stacks and files that are mapped
					CAP_CHECKPOINT_RESTORE};
	const struct call_list unwinder = CALL_LIST(unwinder_calls, unwinder_checked);
	limit_to(RLIMIT_CORE, 0);
	limit_to(RLIMIT_NPROC, 0);
	limit_to(RLIMIT_DATA, memory_limit());
	prctl(PR_SET_KEEPCAPS, 1);
	change_user();
	keep_capabilities(kept, ARRAY_SIZE(kept));
	prctl(PR_SET_PDEATHSIG, SIGKILL); // a change of user takes this away
	install_filter(&unwinder);
}
