#include "capture/tasks.h"

#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sysmacros.h>
#include <unistd.h>

// Reads at most 4096 bytes of a /proc file and NUL-terminates them beyond the size.
static void read_proc(const char *path, struct buffer *content) {
	enum { MOST = 4096 };
	content->size = 0;
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t got = fd < 0 ? 0 : read(fd, buffer_room(content, MOST + 1), MOST);
	if (got > 0)
		content->size = (size_t)got;
	if (fd >= 0)
		close(fd);
	*buffer_room(content, 1) = 0;
}

void task_command_line(pid_t pid, struct buffer *line) {
	char path[64];
	snprintf(path, sizeof(path), "/proc/%d/cmdline", (int)pid);
	read_proc(path, line);
}

// The name is in parentheses and may contain anything, even ')'.
static void append_task(struct spool *spool, pid_t pid, pid_t tid, const struct buffer *command_line) {
	char path[64];
	struct buffer stat = {0};
	snprintf(path, sizeof(path), "/proc/%d/task/%d/stat", (int)pid, (int)tid);
	read_proc(path, &stat);
	char *name = strchr((char *)stat.data, '(');
	char *end = strrchr((char *)stat.data, ')');
	int parent = 0;
	if (name && end && sscanf(end + 1, " %*c %d", &parent) == 1) {
		*end = 0;
		struct spool_task task = {
			.tid = (uint32_t)tid, .pid = (uint32_t)pid, .parent_pid = (uint32_t)parent};
		spool_task(spool, &task, name + 1, (char *)command_line->data, command_line->size);
	}
	buffer_free(&stat);
}

// Calls `each` for every entry of a directory whose name is a number.
static void each_number(const char *path, void (*each)(void *context, pid_t number), void *context) {
	DIR *folder = opendir(path);
	struct dirent *entry;
	while (folder && (entry = readdir(folder))) {
		char *end;
		long number = strtol(entry->d_name, &end, 10);
		if (number > 0 && !*end)
			each(context, (pid_t)number);
	}
	if (folder)
		closedir(folder);
}

void task_threads(pid_t pid, void (*each)(void *context, pid_t tid), void *context) {
	char path[64];
	snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
	each_number(path, each, context);
}

void task_all(void (*each)(void *context, pid_t pid), void *context) {
	each_number("/proc", each, context);
}

void task_mappings(pid_t pid, void (*each)(void *context, const struct task_mapping *mapping),
		   void *context) {
	char path[64], *line = NULL;
	size_t room = 0;
	snprintf(path, sizeof(path), "/proc/%d/maps", (int)pid);
	FILE *file = fopen(path, "re");
	while (file && getline(&line, &room, file) > 0) {
		uint64_t start, end, offset, inode;
		unsigned major, minor;
		char execute;
		int name = 0;
		if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %*c%*c%c%*c %" SCNx64 " %x:%x %" SCNu64 " %n",
			   &start, &end, &execute, &offset, &major, &minor, &inode, &name) != 7 ||
		    execute != 'x' || !name)
			continue;
		line[strcspn(line, "\n")] = 0;
		each(context, &(struct task_mapping){.start = start,
						     .size = end - start,
						     .offset = offset,
						     .device = makedev(major, minor),
						     .inode = inode,
						     .path = line[name] ? line + name : "//anon"});
	}
	free(line);
	if (file)
		fclose(file);
}

// ---- into the spool ----

struct appending {
	struct spool *spool;
	pid_t pid;
};

static void append_thread(void *context, pid_t tid) {
	const struct appending *appending = context;
	if (tid != appending->pid)
		append_task(appending->spool, appending->pid, tid, &(struct buffer){0});
}

static void append_process(void *context, pid_t pid) {
	struct appending appending = {.spool = context, .pid = pid};
	struct buffer command_line = {0};
	task_command_line(pid, &command_line);
	append_task(appending.spool, pid, pid, &command_line);
	buffer_free(&command_line);
	task_threads(pid, append_thread, &appending);
}

void spool_tasks(struct spool *spool, pid_t pid) {
	if (pid)
		append_process(spool, pid);
	else
		each_number("/proc", append_process, spool);
}

// ---- trees ----

struct growing {
	pid_array *processes;
	pid_t pid, except;
};

static void add_children(void *context, pid_t tid) {
	const struct growing *growing = context;
	char path[64];
	snprintf(path, sizeof(path), "/proc/%d/task/%d/children", (int)growing->pid, (int)tid);
	FILE *file = fopen(path, "re");
	int child;
	while (file && fscanf(file, "%d", &child) == 1)
		if (child != growing->except)
			array_push(growing->processes, child);
	if (file)
		fclose(file);
}

void task_tree(pid_t root, pid_t except, pid_array *processes) {
	array_push(processes, root);
	for (size_t i = processes->count - 1; i < processes->count; i++) {
		struct growing growing = {
			.processes = processes, .pid = processes->items[i], .except = except};
		task_threads(growing.pid, add_children, &growing);
	}
}
