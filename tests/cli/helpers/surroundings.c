// Prints everything that a program inherits and that its parent may have changed: a test compares it with and
// without tracelet.
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

extern char **environ;

static void print_descriptors(void) {
	DIR *folder = opendir("/proc/self/fd");
	struct dirent *entry;
	char open[1024][256] = {{0}};
	while (folder && (entry = readdir(folder))) {
		int fd = atoi(entry->d_name);
		if (entry->d_name[0] != '.' && fd != dirfd(folder) && fd < 1024)
			if (readlinkat(dirfd(folder), entry->d_name, open[fd], sizeof(open[fd]) - 1) < 0)
				open[fd][0] = '?';
	}
	for (int fd = 0; fd < 1024; fd++)
		if (open[fd][0])
			printf("descriptor %d: %s\n", fd, open[fd]);
	if (folder)
		closedir(folder);
}

// The lines of /proc/self/status that are inherited.
static void print_status(void) {
	static const char *const kept[] = {"SigBlk:",
					   "SigIgn:",
					   "SigPnd:",
					   "ShdPnd:",
					   "Cap",
					   "NoNewPrivs:",
					   "Seccomp:",
					   "Uid:",
					   "Gid:",
					   "Groups:",
					   "Cpus_allowed_list:",
					   "NSpgid:",
					   "NSsid:"};
	char line[4096];
	FILE *file = fopen("/proc/self/status", "re");
	while (file && fgets(line, sizeof(line), file))
		for (size_t i = 0; i < sizeof(kept) / sizeof(*kept); i++)
			if (strncmp(line, kept[i], strlen(kept[i])) == 0)
				fputs(line, stdout);
	if (file)
		fclose(file);
}

static void print_limits(void) {
	for (int resource = 0; resource < RLIM_NLIMITS; resource++) {
		struct rlimit limit;
		if (getrlimit((__rlimit_resource_t)resource, &limit) == 0)
			printf("limit %d: %llu %llu\n", resource, (unsigned long long)limit.rlim_cur,
			       (unsigned long long)limit.rlim_max);
	}
}

int main(int argc, char **argv) {
	char folder[4096];
	mode_t mask = umask(0);
	for (int i = 0; i < argc; i++)
		printf("argument %d: %s\n", i, argv[i]);
	for (char **variable = environ; *variable; variable++)
		printf("environment: %s\n", *variable);
	printf("folder: %s\numask: %03o\n", getcwd(folder, sizeof(folder)), (unsigned)mask);
	printf("process group %d, session %d, terminal %d %d %d\n", (int)getpgrp(), (int)getsid(0), isatty(0),
	       isatty(1), isatty(2));
	printf("nice %d\n", getpriority(PRIO_PROCESS, 0));
	print_descriptors();
	print_status();
	print_limits();
	return 0;
}
