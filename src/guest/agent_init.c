// The agent as process 1 of a guest that has nothing else: a small Linux around it.
#include "base/array.h"
#include "base/file.h"
#include "base/log.h"
#include "guest/agent.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <net/if.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/reboot.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

static const struct {
	const char *type, *path, *options;
} mounts[] = {
	{"proc", "/proc", NULL},
	{"sysfs", "/sys", NULL},
	{"devtmpfs", "/dev", NULL},
	{"devpts", "/dev/pts", NULL},
	{"tmpfs", "/dev/shm", "mode=1777"},
	{"tmpfs", "/tmp", "mode=1777,size=75%"},
	{"tmpfs", "/run", "mode=755"},
	{"tracefs", "/sys/kernel/tracing", NULL},
	{"bpf", "/sys/fs/bpf", NULL},
	{"cgroup2", "/sys/fs/cgroup", NULL},
};

static void load_module(const char *path) {
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0 || (syscall(SYS_finit_module, fd, "", 0) && errno != EEXIST))
		log_warning("%s: cannot be loaded: %s", path, strerror(errno));
	if (fd >= 0)
		close(fd);
}

// In the order of their names: each needs only those before it.
static void load_modules(void) {
	struct dirent **list;
	int count = scandir("/modules", &list, NULL, alphasort);
	for (int i = 0; i < count; i++) {
		CLEANUP_FREE char *path = memory_format("/modules/%s", list[i]->d_name);
		if (strstr(list[i]->d_name, ".ko"))
			load_module(path);
		free(list[i]);
	}
	if (count >= 0)
		free(list);
}

static void raise_loopback(void) {
	struct ifreq request = {.ifr_name = "lo"};
	int fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd >= 0 && ioctl(fd, SIOCGIFFLAGS, &request) == 0) {
		request.ifr_flags |= IFF_UP;
		ioctl(fd, SIOCSIFFLAGS, &request);
	}
	if (fd >= 0)
		close(fd);
}

// What the image brought along, the test for one, stays in sight.
static bool has_files(const char *path) {
	DIR *folder = opendir(path);
	bool found = false;
	for (struct dirent *entry; folder && !found && (entry = readdir(folder));)
		found = strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0;
	if (folder)
		closedir(folder);
	return found;
}

static void take_variables(void) {
	struct input file;
	if (input_open(&file, INIT_VARIABLES))
		return;
	for (size_t at = 0; at < file.size;) {
		const char *begin = (const char *)file.data + at;
		size_t length = strnlen(begin, file.size - at);
		const char *equals = memchr(begin, '=', length);
		if (equals) {
			CLEANUP_FREE char *name = memory_format("%.*s", (int)(equals - begin), begin);
			CLEANUP_FREE char *value = memory_format("%.*s", (int)(begin + length - equals - 1),
								 equals + 1);
			setenv(name, value, 1);
		}
		at += length + 1;
	}
	input_close(&file);
}

void init_prepare(void) {
	for (size_t i = 0; i < ARRAY_SIZE(mounts); i++) {
		if (strcmp(mounts[i].type, "tmpfs") == 0 && has_files(mounts[i].path))
			continue;
		mkdir(mounts[i].path, 0755);
		// What a kernel does not have is missed by whoever needs it.
		mount(mounts[i].type, mounts[i].path, mounts[i].type, 0, mounts[i].options);
	}
	int console = open("/dev/console", O_RDWR | O_NOCTTY);
	for (int i = 0; console >= 0 && i < 3; i++)
		dup2(console, i);
	if (console > 2)
		close(console);
	setenv("PATH", "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", 1);
	setenv("HOME", "/root", 1);
	setenv("LANG", "C.UTF-8", 0);
	mkdir("/root", 0700);
	take_variables();
	if ((chdir(INIT_FOLDER) && chdir("/root")) || sethostname("guest", 5))
		log_verbose("no /root or no name: %s", strerror(errno));
	raise_loopback();
	load_modules();
	reboot(RB_DISABLE_CAD);
}

// tracelet.listen=ADDRESS[,ADDRESS...]
char **init_addresses(size_t *count) {
	ARRAY(char *) list = {0};
	struct input line;
	char *text = NULL;
	if (input_open(&line, "/proc/cmdline") == 0) {
		text = memory_format("%.*s", (int)line.size, (const char *)line.data);
		input_close(&line);
	}
	char *found = text ? strstr(text, "tracelet.listen=") : NULL;
	if (found) {
		found += strlen("tracelet.listen=");
		found[strcspn(found, " \n")] = 0;
		for (char *word; (word = strsep(&found, ","));)
			if (*word)
				array_push(&list, memory_string(word));
	}
	free(text);
	if (!list.count)
		array_push(&list, memory_string("port:tracelet"));
	*count = list.count;
	return list.items;
}

void init_power_off(void) {
	sync();
	reboot(RB_POWER_OFF);
	_exit(0);
}
