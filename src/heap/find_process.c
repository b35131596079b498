#include "heap/find_process.h"

#include "base/array.h"
#include "base/log.h"
#include "base/map.h"
#include "capture/tasks.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

struct finding {
	const char *name;
	pid_array found;
	struct buffer others; // "NAME (PID)", of processes with a program
	struct map seen;      // their names
};

bool process_name(pid_t pid, char *name, size_t size) {
	char path[64];
	snprintf(path, sizeof(path), "/proc/%d/comm", (int)pid);
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t length = fd < 0 ? -1 : read(fd, name, size - 1);
	if (fd >= 0)
		close(fd);
	name[MAX(length, 0)] = 0;
	name[strcspn(name, "\n")] = 0;
	return length > 0;
}

// False if it is a kernel thread, or we may not look at it.
static bool read_program(pid_t pid, char *name, size_t size) {
	char path[64], program[4096];
	snprintf(path, sizeof(path), "/proc/%d/exe", (int)pid);
	ssize_t length = readlink(path, program, sizeof(program) - 1);
	if (length <= 0)
		return false;
	program[length] = 0;
	const char *slash = strrchr(program, '/');
	const char *base = slash ? slash + 1 : program;
	size_t kept = MIN(strlen(base), size - 1);
	memcpy(name, base, kept);
	name[kept] = 0;
	return true;
}

static void look_at(void *context, pid_t pid) {
	struct finding *finding = context;
	char name[64], program[256];
	if (pid == getpid() || !process_name(pid, name, sizeof(name)) ||
	    !read_program(pid, program, sizeof(program)))
		return;
	if (strcmp(name, finding->name) == 0 || strcmp(program, finding->name) == 0) {
		array_push(&finding->found, pid);
		return;
	}
	uint64_t *seen = map_put(&finding->seen, hash_bytes(name, strlen(name)));
	if (!(*seen)++)
		buffer_printf(&finding->others, "%s%s (%d)", finding->others.size ? ", " : "", name,
			      (int)pid);
}

static void list_found(const struct finding *finding) {
	struct buffer lines = {0};
	for (size_t i = 0; i < finding->found.count; i++) {
		struct buffer words = {0};
		task_command_line(finding->found.items[i], &words);
		for (size_t k = 0; k + 1 < words.size; k++)
			if (!words.data[k] || words.data[k] == '\n')
				words.data[k] = ' ';
		buffer_append(&words, "", 1);
		buffer_printf(&lines, "%s %d (%s)", i ? "," : "", (int)finding->found.items[i],
			      (char *)words.data);
		buffer_free(&words);
	}
	log_error("%zu processes are named '%s'; choose one with -p:%.*s", finding->found.count,
		  finding->name, (int)lines.size, (char *)lines.data);
	buffer_free(&lines);
}

pid_t find_process(const char *name) {
	struct finding finding = {.name = name};
	task_all(look_at, &finding);
	pid_t found = finding.found.count == 1 ? finding.found.items[0] : 0;
	if (!finding.found.count)
		log_error("no process is named '%s'; running: %.*s", name, (int)finding.others.size,
			  (char *)finding.others.data);
	else if (!found)
		list_found(&finding);
	array_free(&finding.found);
	buffer_free(&finding.others);
	map_free(&finding.seen);
	return found;
}
