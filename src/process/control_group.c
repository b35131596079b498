// A limit may be that of a group further up, so all groups from ours to the root are read: the tightest limit
// counts, and what happened in the group that has it.
#include "process/control_group.h"
#include "base/memory.h"
#include "process/small_file.h"

#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { FILE_SIZE = 4096, PATH_SIZE = 4096 };

// ---- files ----

// The number after a word at the beginning of a line; 0 if there is none.
static uint64_t number_of(const char *text, const char *word) {
	size_t length = strlen(word);
	for (const char *line = text; line && *line; line = strchr(line, '\n'), line += line ? 1 : 0)
		if (strncmp(line, word, length) == 0 && line[length] == ' ')
			return strtoull(line + length + 1, NULL, 10);
	return 0;
}

static uint64_t number_in(const char *folder, const char *name) {
	char text[FILE_SIZE];
	return small_file_read(folder, name, text, sizeof(text)) ? strtoull(text, NULL, 10) : 0;
}

// ---- one group ----

static void take_cpu(struct control_group *group, const char *folder, bool second) {
	char text[FILE_SIZE];
	double quota = 0, period = 0;
	if (second && small_file_read(folder, "cpu.max", text, sizeof(text))) {
		if (sscanf(text, "%lf %lf", &quota, &period) != 2)
			quota = 0; // "max"
	} else if (!second && small_file_read(folder, "cpu.cfs_quota_us", text, sizeof(text))) {
		quota = atof(text); // -1 if none
		period = (double)number_in(folder, "cpu.cfs_period_us");
	}
	if (quota <= 0 || period <= 0 || (group->cpus && group->cpus <= quota / period) ||
	    !small_file_read(folder, "cpu.stat", text, sizeof(text)))
		return;
	group->cpus = quota / period;
	group->periods = number_of(text, "nr_periods");
	group->throttled_periods = number_of(text, "nr_throttled");
	group->throttled_ns = second ? number_of(text, "throttled_usec") * 1000
				     : number_of(text, "throttled_time");
}

static void take_memory(struct control_group *group, const char *folder, bool second) {
	enum { NO_LIMIT_BITS = 60 }; // version 1 has a very large one instead
	char text[FILE_SIZE];
	uint64_t limit = number_in(folder, second ? "memory.max" : "memory.limit_in_bytes");
	if (!limit || limit >> NO_LIMIT_BITS || (group->memory_limit && group->memory_limit <= limit))
		return;
	group->memory_limit = limit;
	group->memory_peak = number_in(folder, second ? "memory.peak" : "memory.max_usage_in_bytes");
	if (small_file_read(folder, second ? "memory.events" : "memory.oom_control", text, sizeof(text)))
		group->oom_kills = number_of(text, "oom_kill");
}

// ---- where they are ----

typedef void taker(struct control_group *group, const char *folder, bool second);

static void take_up_to_root(struct control_group *group, const char *mount, char *path, bool second,
			    taker *take) {
	for (;;) {
		CLEANUP_FREE char *folder = memory_format("%s%s", mount, path);
		take(group, folder, second);
		char *slash = strrchr(path, '/');
		if (!slash || !*path)
			return;
		*slash = 0;
	}
}

static bool has_word(const char *list, const char *word) {
	size_t length = strlen(word);
	for (const char *at = list; (at = strstr(at, word)); at += length)
		if ((at == list || at[-1] == ',') && (!at[length] || at[length] == ',' || at[length] == '\n'))
			return true;
	return false;
}

// A controller, and where its hierarchy is mounted in version 1 or 2.
struct hierarchy {
	const char *controller;
	taker *take;
	char *mounts[2]; // NULL if nowhere
};

// One line of the mounts: the first mount with its type and, in version 1, the controller among its options
// counts.
static void take_mount(struct hierarchy *hierarchies, size_t count, const char *line) {
	char folder[1024], type[64], options[1024];
	if (!strstr(line, " cgroup") || sscanf(line, "%*s %1023s %63s %1023s", folder, type, options) != 3)
		return;
	bool second = strcmp(type, "cgroup2") == 0;
	for (size_t i = 0; i < count && (second || strcmp(type, "cgroup") == 0); i++)
		if (!hierarchies[i].mounts[second] &&
		    (second || has_word(options, hierarchies[i].controller)))
			hierarchies[i].mounts[second] = memory_string(folder);
}

// The kernel writes the whole list anew for each reader, so it is read once for all hierarchies.
static void find_mounts(struct hierarchy *hierarchies, size_t count, const char *list) {
	FILE *mounts = fopen(list, "re");
	char line[PATH_SIZE];
	while (mounts && fgets(line, sizeof(line), mounts))
		take_mount(hierarchies, count, line);
	if (mounts)
		fclose(mounts);
}

static void take_line(struct control_group *group, const struct hierarchy *hierarchies, size_t count,
		      char *line) {
	char *controllers = strchr(line, ':'), *path = controllers ? strchr(controllers + 1, ':') : NULL;
	if (!path)
		return;
	*path++ = 0;
	controllers++;
	path[strcspn(path, "\n")] = 0;
	bool second = !*controllers;
	for (size_t i = 0; i < count; i++) {
		const char *mount = hierarchies[i].mounts[second];
		if (!mount || (!second && !has_word(controllers, hierarchies[i].controller)))
			continue;
		CLEANUP_FREE char *copy = memory_string(strcmp(path, "/") == 0 ? "" : path);
		take_up_to_root(group, mount, copy, second, hierarchies[i].take);
	}
}

void control_group_names(pid_t pid, char names[CONTROL_GROUP_NAMES]) {
	char path[64];
	snprintf(path, sizeof(path), "/proc/%d/cgroup", (int)pid);
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t size = fd < 0 ? -1 : read(fd, names, CONTROL_GROUP_NAMES - 1);
	if (fd >= 0)
		close(fd);
	names[size > 0 ? size : 0] = 0;
}

void control_group_read_mounted(struct control_group *group, const char *names, const char *list) {
	struct hierarchy hierarchies[] = {{.controller = "cpu", .take = take_cpu},
					  {.controller = "memory", .take = take_memory}};
	*group = (struct control_group){0};
	if (!*names)
		return;
	find_mounts(hierarchies, ARRAY_SIZE(hierarchies), list);
	for (const char *line = names; *line; line += strcspn(line, "\n"), line += *line == '\n') {
		CLEANUP_FREE char *copy = memory_format("%.*s", (int)strcspn(line, "\n"), line);
		take_line(group, hierarchies, ARRAY_SIZE(hierarchies), copy);
	}
	for (size_t i = 0; i < ARRAY_SIZE(hierarchies); i++) {
		free(hierarchies[i].mounts[0]);
		free(hierarchies[i].mounts[1]);
	}
}

void control_group_read_named(struct control_group *group, const char *names) {
	control_group_read_mounted(group, names, "/proc/self/mounts");
}

void control_group_read(struct control_group *group) {
	char names[CONTROL_GROUP_NAMES];
	control_group_names(getpid(), names);
	control_group_read_named(group, names);
}
