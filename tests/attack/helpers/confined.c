// What a process can do that has taken all rights from itself (symbol/confine.h), seen from inside: "try".
// The same for the one that unwinds stacks, "unwinder": it may read. What a reader of symbol files looks like
// from outside: "status FILE", with the program in $TRACELET.
#include "symbol/confine.h"
#include "symbol/reader.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

// ---- inside ----

static pid_t parent;

#define TRY(name, expression)                                                                                \
	static long try_##name(void) {                                                                       \
		return expression;                                                                           \
	}
TRY(open, syscall(SYS_openat, AT_FDCWD, "/etc/hostname", O_RDONLY))
TRY(create, syscall(SYS_openat, AT_FDCWD, "/tmp/tracelet-confined", O_WRONLY | O_CREAT, 0600))
TRY(unlink, syscall(SYS_unlinkat, AT_FDCWD, "/tmp/tracelet-no-such-file", 0))
TRY(socket, syscall(SYS_socket, AF_UNIX, SOCK_STREAM, 0))
TRY(connect, syscall(SYS_connect, 0, NULL, 0))
TRY(kill, syscall(SYS_kill, parent, 0))
TRY(tgkill, syscall(SYS_tgkill, parent, parent, 0))
TRY(ptrace, syscall(SYS_ptrace, PTRACE_SEIZE, parent, 0, 0))
TRY(memory, syscall(SYS_process_vm_readv, parent, NULL, 0, NULL, 0, 0))
TRY(fork, syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0))
TRY(clone3, syscall(SYS_clone3, NULL, 0))
TRY(exec, syscall(SYS_execve, "/bin/true", NULL, NULL))
TRY(bpf, syscall(SYS_bpf, 0, NULL, 0))
TRY(uring, syscall(SYS_io_uring_setup, 1, NULL))
TRY(setuid, syscall(SYS_setresuid, 0, 0, 0))
TRY(prctl, syscall(SYS_prctl, PR_SET_DUMPABLE, 1))
TRY(limits, syscall(SYS_prlimit64, 0, RLIMIT_NPROC, &(struct rlimit){1, 1}, NULL))
TRY(write, syscall(SYS_write, 0, "x", 1))
TRY(send_elsewhere, syscall(SYS_sendmsg, 1, NULL, 0))
TRY(code, syscall(SYS_mmap, NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0))
TRY(make_code, syscall(SYS_mprotect, (uintptr_t)&parent & ~4095ul, 4096, PROT_READ | PROT_EXEC))
TRY(stat, syscall(SYS_newfstatat, AT_FDCWD, "/etc/hostname", NULL, 0))
TRY(ioctl, syscall(SYS_ioctl, 0, 0, 0))

TRY(end, syscall(SYS_kill, parent, SIGTERM))
TRY(stop_it, syscall(SYS_tkill, parent, SIGKILL))
TRY(change_memory, syscall(SYS_ptrace, PTRACE_POKEDATA, parent, 0, 0))
TRY(change_registers, syscall(SYS_ptrace, PTRACE_SETREGSET, parent, 0, 0))
TRY(write_memory, syscall(SYS_process_vm_writev, parent, NULL, 0, NULL, 0, 0))
TRY(change, syscall(SYS_openat, AT_FDCWD, "/proc/self/comm", O_RDWR))

struct attempt {
	const char *name;
	long (*attempt)(void);
};

static const struct attempt attempts[] = {
#define ATTEMPT(name)                                                                                        \
	{ #name, try_##name }
	ATTEMPT(open),      ATTEMPT(create), ATTEMPT(unlink), ATTEMPT(socket),         ATTEMPT(connect),
	ATTEMPT(kill),      ATTEMPT(tgkill), ATTEMPT(ptrace), ATTEMPT(memory),         ATTEMPT(fork),
	ATTEMPT(clone3),    ATTEMPT(exec),   ATTEMPT(bpf),    ATTEMPT(uring),          ATTEMPT(setuid),
	ATTEMPT(prctl),     ATTEMPT(limits), ATTEMPT(write),  ATTEMPT(send_elsewhere), ATTEMPT(code),
	ATTEMPT(make_code), ATTEMPT(stat),   ATTEMPT(ioctl),
};

static const struct attempt unwinder_attempts[] = {
	ATTEMPT(create),        ATTEMPT(change),
	ATTEMPT(unlink),        ATTEMPT(socket),
	ATTEMPT(connect),       ATTEMPT(end),
	ATTEMPT(stop_it),       ATTEMPT(tgkill),
	ATTEMPT(change_memory), ATTEMPT(change_registers),
	ATTEMPT(write_memory),  ATTEMPT(fork),
	ATTEMPT(clone3),        ATTEMPT(exec),
	ATTEMPT(bpf),           ATTEMPT(uring),
	ATTEMPT(setuid),        ATTEMPT(prctl),
	ATTEMPT(limits),        ATTEMPT(code),
	ATTEMPT(make_code),     ATTEMPT(ioctl),
};

static void say(const char *text) {
	struct iovec bytes = {(char *)(uintptr_t)text, strlen(text)};
	sendmsg(0, &(struct msghdr){.msg_iov = &bytes, .msg_iovlen = 1}, 0);
}

static void describe(const struct attempt *attempt, char *line, size_t size) {
	errno = 0;
	long result = attempt->attempt();
	snprintf(line, size, "%s: %s\n", attempt->name,
		 result >= 0      ? "DONE"
		 : errno == EPERM ? "refused"
				  : strerror(errno));
}

static void try_all(int socket) {
	char line[100];
	parent = getppid();
	struct confined confined = confine(socket);
	snprintf(line, sizeof(line), "confined: %d%d%d\n", confined.user, confined.filter, confined.limited);
	say(line);
	for (size_t i = 0; i < ARRAY_SIZE(attempts); i++) {
		describe(&attempts[i], line, sizeof(line));
		say(line);
	}
	_exit(0);
}

__attribute__((noreturn)) static void try_as_unwinder(void) {
	char line[100];
	parent = getppid();
	confine_unwinder();
	for (size_t i = 0; i < ARRAY_SIZE(unwinder_attempts); i++) {
		describe(&unwinder_attempts[i], line, sizeof(line));
		fputs(line, stdout);
	}
	printf("reading: %s\n", try_open() >= 0 ? "DONE" : strerror(errno));
	fflush(stdout);
	_exit(0); // a sanitizer would start a process at the end
}

static int try_inside(void) {
	int ends[2];
	char line[100];
	ssize_t got;
	socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends);
	pid_t child = fork();
	if (child == 0)
		try_all(ends[1]);
	close(ends[1]);
	while ((got = recv(ends[0], line, sizeof(line), 0)) > 0)
		fwrite(line, 1, (size_t)got, stdout);
	waitpid(child, NULL, 0);
	return 0;
}

// ---- outside ----

static void print_file(const char *path) {
	char text[8192];
	FILE *file = fopen(path, "re");
	size_t got = file ? fread(text, 1, sizeof(text), file) : 0;
	fwrite(text, 1, got, stdout);
	if (file)
		fclose(file);
}

static void print_descriptors(pid_t pid) {
	char path[64], target[256];
	snprintf(path, sizeof(path), "/proc/%d/fd", (int)pid);
	DIR *folder = opendir(path);
	struct dirent *entry;
	while (folder && (entry = readdir(folder))) {
		ssize_t got = readlinkat(dirfd(folder), entry->d_name, target, sizeof(target));
		if (got > 0)
			printf("descriptor %s: %.*s\n", entry->d_name, (int)got, target);
	}
	if (folder)
		closedir(folder);
}

static int show_reader(const char *module) {
	const struct question question = {.kind = QUESTION_ELF};
	const struct answer *answer;
	char path[64];
	struct reader *reader = reader_new();
	reader_program(getenv("TRACELET"));
	int file = elf_find_file(module, -1);
	if (reader_ask(reader, &question, file, module, &answer)) {
		printf("no answer: %s\n", reader_problem(reader));
		return 1;
	}
	printf("segments: %zu\n", answer->opened.segment_count);
	snprintf(path, sizeof(path), "/proc/%d/status", (int)reader_pid(reader));
	print_file(path);
	snprintf(path, sizeof(path), "/proc/%d/limits", (int)reader_pid(reader));
	print_file(path);
	snprintf(path, sizeof(path), "/proc/%d/environ", (int)reader_pid(reader));
	print_file(path);
	print_descriptors(reader_pid(reader));
	reader_free(reader);
	return 0;
}

int main(int argc, char **argv) {
	if (argc == 2 && strcmp(argv[1], "try") == 0)
		return try_inside();
	if (argc == 2 && strcmp(argv[1], "unwinder") == 0)
		try_as_unwinder();
	return argc == 3 && strcmp(argv[1], "status") == 0 ? show_reader(argv[2]) : 2;
}
