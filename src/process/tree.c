#include "process/tree.h"
#include "base/map.h"
#include "process/helpers.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

// The name is in parentheses and may contain anything, even ')'. A main thread may be a zombie
// while other threads of its process live on.
static bool read_process(pid_t pid, struct process *process) {
	char path[64], text[1024];
	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t size = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
	if (fd >= 0)
		close(fd);
	if (size <= 0)
		return false;
	text[size] = 0;
	const char *end = strrchr(text, ')');
	long threads = 0;
	unsigned long long start = 0;
	int parent = 0;
	*process = (struct process){.pid = pid};
	if (!end ||
	    sscanf(end + 1, " %c %d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d %ld %*d %llu",
		   &process->state, &parent, &threads, &start) != 4)
		return false;
	process->parent = parent;
	process->start = start;
	process->over = process->state == 'X' || (process->state == 'Z' && threads <= 1);
	return true;
}

static void read_all(struct processes *all) {
	DIR *folder = opendir("/proc");
	struct dirent *entry;
	while (folder && (entry = readdir(folder))) {
		char *end;
		long number = strtol(entry->d_name, &end, 10);
		struct process process;
		if (number > 0 && !*end && read_process((pid_t)number, &process))
			array_push(&all->list, process);
	}
	if (folder)
		closedir(folder);
}

static bool is_stranger(const struct tree *tree, const struct process *process) {
	for (size_t i = 0; i < tree->strangers.list.count; i++)
		if (tree->strangers.list.items[i].pid == process->pid &&
		    tree->strangers.list.items[i].start == process->start)
			return true;
	return process->pid == tree->tracer || helper_is(process->pid);
}

// Walks up to us without passing a stranger. Ids that are reused while we read could form a cycle.
static bool is_below_us(const struct tree *tree, const struct processes *all, const struct map *by_pid,
			const struct process *process) {
	pid_t self = getpid();
	for (size_t steps = 0; steps < all->list.count; steps++) {
		if (process->pid == self || is_stranger(tree, process))
			return false;
		if (process->parent == self)
			return true;
		const uint64_t *parent = map_get(by_pid, (uint64_t)process->parent);
		if (!parent)
			return false;
		process = &all->list.items[*parent];
	}
	return false;
}

void tree_list(const struct tree *tree, struct processes *found) {
	struct processes all = {0};
	struct map by_pid = {0};
	found->list.count = 0;
	read_all(&all);
	for (size_t i = 0; i < all.list.count; i++)
		*map_put(&by_pid, (uint64_t)all.list.items[i].pid) = i;
	for (size_t i = 0; i < all.list.count; i++)
		if (!all.list.items[i].over && is_below_us(tree, &all, &by_pid, &all.list.items[i]))
			array_push(&found->list, all.list.items[i]);
	map_free(&by_pid);
	array_free(&all.list);
}

// Nearly always true, and then there is no need to look at every process.
static bool without_children(void) {
	char path[64];
	snprintf(path, sizeof(path), "/proc/self/task/%d/children", (int)getpid());
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	char byte;
	bool none = fd >= 0 && read(fd, &byte, 1) == 0;
	if (fd >= 0)
		close(fd);
	return none;
}

void tree_begin(struct tree *tree) {
	*tree = (struct tree){.tracer = -1};
	if (without_children())
		return;
	struct processes found = {0};
	tree_list(tree, &found);
	tree->strangers = found;
}

void tree_free(struct tree *tree) {
	array_free(&tree->strangers.list);
}

size_t tree_signal(const struct processes *processes, int signal) {
	size_t sent = 0;
	for (size_t i = 0; i < processes->list.count; i++) {
		const struct process *wanted = &processes->list.items[i];
		int pidfd = (int)syscall(SYS_pidfd_open, wanted->pid, 0);
		struct process now;
		// The descriptor pins the process: check again, then send.
		if (pidfd >= 0 && read_process(wanted->pid, &now) && now.start == wanted->start)
			sent += syscall(SYS_pidfd_send_signal, pidfd, signal, NULL, 0) == 0;
		if (pidfd >= 0)
			close(pidfd);
	}
	return sent;
}
