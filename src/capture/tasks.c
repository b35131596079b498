#include "capture/tasks.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

// At most 4096 bytes of a /proc file, NUL-terminated beyond its size.
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

// The name stands in parentheses and may hold any characters, a ')' too.
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
		struct spool_task task = {.tid = (uint32_t)tid, .pid = (uint32_t)pid, .parent_pid = (uint32_t)parent};
		spool_task(spool, &task, name + 1, (char *)command_line->data, command_line->size);
	}
	buffer_free(&stat);
}

// Calls `each` for every entry of a folder that is a number.
static void each_number(const char *path, void (*each)(struct spool *, pid_t, pid_t), struct spool *spool, pid_t pid) {
	DIR *folder = opendir(path);
	struct dirent *entry;
	while (folder && (entry = readdir(folder))) {
		char *end;
		long number = strtol(entry->d_name, &end, 10);
		if (number > 0 && !*end)
			each(spool, pid, (pid_t)number);
	}
	if (folder)
		closedir(folder);
}

static void append_thread(struct spool *spool, pid_t pid, pid_t tid) {
	if (tid != pid)
		append_task(spool, pid, tid, &(struct buffer){0});
}

static void append_process(struct spool *spool, pid_t unused, pid_t pid) {
	struct buffer command_line = {0};
	task_command_line(pid, &command_line);
	append_task(spool, pid, pid, &command_line);
	buffer_free(&command_line);
	char path[64];
	snprintf(path, sizeof(path), "/proc/%d/task", (int)pid);
	each_number(path, append_thread, spool, pid);
}

void spool_tasks(struct spool *spool, pid_t pid) {
	if (pid)
		append_process(spool, 0, pid);
	else
		each_number("/proc", append_process, spool, 0);
}
