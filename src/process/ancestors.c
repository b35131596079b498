#include "process/ancestors.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { MOST_STEPS = 1000 }; // ids that are reused while we read could form a cycle

struct place {
	pid_t parent, session;
	char cgroup[4096]; // "" if unknown
};

static size_t read_file(pid_t pid, const char *name, char *text, size_t size) {
	char path[64];
	snprintf(path, sizeof(path), "/proc/%d/%s", (int)pid, name);
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t got = fd < 0 ? 0 : read(fd, text, size - 1);
	if (fd >= 0)
		close(fd);
	text[MAX(got, 0)] = 0;
	return (size_t)MAX(got, 0);
}

// The name is in parentheses and may contain anything, even ')'.
static bool read_stat(pid_t pid, struct ancestor *process, struct place *place) {
	char text[1024];
	unsigned long long start = 0;
	int parent = 0, session = 0;
	read_file(pid, "stat", text, sizeof(text));
	const char *name = strchr(text, '('), *end = strrchr(text, ')');
	char state;
	if (!name || !end || end < name ||
	    sscanf(end + 1, " %c %d %*d %d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d %*d %*d %llu",
		   &state, &parent, &session, &start) != 4 ||
	    state == 'Z' || state == 'X')
		return false;
	*process = (struct ancestor){.pid = pid, .start = start};
	memcpy(process->name, name + 1, MIN((size_t)(end - name - 1), sizeof(process->name) - 1));
	*place = (struct place){.parent = parent, .session = session};
	return true;
}

bool ancestor_read(pid_t pid, struct ancestor *process) {
	struct place place;
	return read_stat(pid, process, &place);
}

pid_t ancestor_caller(void) {
	static const char *const messengers[] = {"sudo", "doas", "su", "runuser"};
	struct ancestor process;
	struct place place;
	pid_t pid = getppid();
	for (size_t i = 0, steps = 0; steps < MOST_STEPS && i < ARRAY_SIZE(messengers); steps++) {
		if (!read_stat(pid, &process, &place))
			return getppid();
		for (i = 0; i < ARRAY_SIZE(messengers) && strcmp(process.name, messengers[i]) != 0; i++)
			;
		if (i < ARRAY_SIZE(messengers))
			pid = place.parent;
	}
	return pid;
}

// The path in the unified hierarchy. A login's cgroup, or the system's own, holds more than one
// job.
static void read_cgroup(pid_t pid, struct place *place) {
	char text[8192];
	read_file(pid, "cgroup", text, sizeof(text));
	const char *path = strncmp(text, "0::/", 4) == 0 ? text + 3 : strstr(text, "\n0::/");
	path += path && *path == '\n' ? 4 : 0;
	if (!path || path[1] == '\n' || !path[1] || strncmp(path, "/user.slice", 11) == 0 ||
	    strncmp(path, "/init.scope", 11) == 0)
		return;
	snprintf(place->cgroup, sizeof(place->cgroup), "%.*s", (int)strcspn(path, "\n"), path);
}

// The initial pid namespace has a fixed inode number.
static bool in_container(void) {
	const ino_t first = 0xEFFFFFFC; // PROC_PID_INIT_INO
	struct stat status;
	return stat("/proc/self/ns/pid", &status) == 0 && status.st_ino != first;
}

void ancestors_in_job(pid_t pid, ancestor_array *ancestors) {
	struct ancestor process;
	struct place first, place;
	bool contained = in_container();
	if (!read_stat(pid, &process, &first))
		return;
	read_cgroup(pid, &first);
	pid_t next = first.parent;
	for (int steps = 0; steps < MOST_STEPS && next > 0; steps++, next = place.parent) {
		if (!read_stat(next, &process, &place))
			return;
		read_cgroup(next, &place);
		bool same_cgroup = next != 1 && *first.cgroup && strcmp(place.cgroup, first.cgroup) == 0;
		if (place.session != first.session && !contained && !same_cgroup)
			return;
		array_push(ancestors, process);
	}
}
