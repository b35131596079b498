// The test opens the tracer's memory by a name in /proc, and the kernel checks whether the test may
// access the process that has it. If that process has more privileges than the test, it may not. So
// another process holds the memory: this program, exec'd again under another name, so that it has
// nothing of the tracer's: no memory, no environment, and no descriptors but the two it needs.
#include "capture/marker/holder.h"
#include "base/memory.h"
#include "process/helpers.h"
#include "process/user.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

// ---- the process itself ----

static int drop_rights(uid_t user) {
	struct __user_cap_header_struct version = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct none[_LINUX_CAPABILITY_U32S_3] = {0};
	prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || setresuid(user, user, user) ||
	    syscall(SYS_capset, &version, none))
		return -errno;
	return prctl(PR_SET_DUMPABLE, 1) ? -errno : 0; // cleared by the change of privileges
}

// Closes all descriptors but these, given in ascending order.
static void close_others(const int *kept, size_t count) {
	unsigned next = 0;
	for (size_t i = 0; i < count; next = (unsigned)kept[i++] + 1)
		if (next < (unsigned)kept[i])
			close_range(next, (unsigned)kept[i] - 1, 0);
	close_range(next, UINT32_MAX, 0);
}

static int compare_numbers(const void *a, const void *b) {
	return *(const int *)a - *(const int *)b;
}

int marker_hold(int count, char **words) {
	enum { MEMORY, TRACER, ANSWER, USER, NUMBERS };
	unsigned numbers[NUMBERS];
	int kept[USER];
	for (int i = 0; i < NUMBERS; i++)
		if (i + 1 >= count || sscanf(words[i + 1], "%u", &numbers[i]) != 1)
			return 1;
	for (int i = 0; i < USER; i++)
		if ((kept[i] = (int)numbers[i]) <= STDERR_FILENO)
			return 1;
	qsort(kept, USER, sizeof(*kept), compare_numbers);
	close_others(kept, USER);
	prctl(PR_SET_NAME, HOLDER_NAME);
	setsid();
	if (chdir("/") || drop_rights(numbers[USER]))
		return 1;
	pid_t self = getpid();
	if (write((int)numbers[ANSWER], &self, sizeof(self)) != (ssize_t)sizeof(self))
		return 1;
	close((int)numbers[ANSWER]);
	poll(&(struct pollfd){.fd = (int)numbers[TRACER], .events = POLLIN}, 1, -1);
	return 0;
}

// ---- starting it ----

static void become_holder(int fd, int tracer, int answer) {
	char numbers[4][16];
	sigset_t all;
	uid_t user = getuid();
	if (user_take_groups(&user))
		_exit(1);
	const unsigned values[] = {(unsigned)fd, (unsigned)tracer, (unsigned)answer, user};
	for (size_t i = 0; i < ARRAY_SIZE(values); i++)
		snprintf(numbers[i], sizeof(numbers[i]), "%u", values[i]);
	if (fcntl(fd, F_SETFD, 0) || fcntl(tracer, F_SETFD, 0) || fcntl(answer, F_SETFD, 0))
		_exit(1);
	sigfillset(&all);
	sigprocmask(SIG_SETMASK, &all, NULL);
	char *words[] = {(char *)HOLDER_NAME, numbers[0], numbers[1], numbers[2], numbers[3], NULL};
	execve("/proc/self/exe", words, (char *[]){NULL});
	_exit(1);
}

// If we have privileges that the test will not have (file capabilities, root with --user), the test
// may not access our process.
static bool above_the_test(void) {
	struct __user_cap_header_struct version = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct ours[_LINUX_CAPABILITY_U32S_3] = {0};
	syscall(SYS_capget, &version, ours);
	return user_is_other() || prctl(PR_GET_DUMPABLE) != 1 ||
	       (geteuid() != 0 && (ours[0].permitted || ours[1].permitted));
}

pid_t marker_holder(int fd, pid_t tracer) {
	int pidfd, answer[2];
	if (tracer <= 0 || !above_the_test())
		return tracer;
	if ((pidfd = (int)syscall(SYS_pidfd_open, tracer, 0)) < 0)
		return tracer;
	if (pipe2(answer, O_CLOEXEC)) {
		close(pidfd);
		return tracer;
	}
	pid_t holder = tracer, child = fork();
	if (child == 0) {
		// As a grandchild it does not show up among the children that a waiter waits for.
		if (fork() == 0)
			become_holder(fd, pidfd, answer[1]);
		_exit(0);
	}
	close(answer[1]);
	// It answers once the test can use it.
	if (child < 0 || read(answer[0], &holder, sizeof(holder)) != (ssize_t)sizeof(holder))
		holder = tracer;
	if (child > 0)
		waitpid(child, NULL, 0);
	close(answer[0]);
	close(pidfd);
	if (holder != tracer)
		helper_add(holder);
	return holder;
}
