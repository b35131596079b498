// The agent as process 1 of a guest that has nothing else: a small Linux around it.
#include "base/array.h"
#include "base/file.h"
#include "base/log.h"
#include "guest/agent/agent.h"

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

static int load_module(const char *path) {
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	int error = fd < 0 || (syscall(SYS_finit_module, fd, "", 0) && errno != EEXIST) ? -errno : 0;
	if (fd >= 0)
		close(fd);
	return error;
}

// Which module needs which differs between kernels. One that needs another (-ENOENT: a symbol is missing) is
// tried again as long as others are loaded.
static void load_modules(void) {
	struct dirent **list;
	int count = scandir("/modules", &list, NULL, alphasort), loaded = 1;
	while (count >= 0 && loaded) {
		loaded = 0;
		for (int i = 0; i < count; i++) {
			if (!strstr(list[i]->d_name, ".ko"))
				continue;
			CLEANUP_FREE char *path = memory_format("/modules/%s", list[i]->d_name);
			if (load_module(path) == 0) {
				*list[i]->d_name = 0;
				loaded++;
			}
		}
	}
	for (int i = 0; i < count; i++) {
		CLEANUP_FREE char *path = memory_format("/modules/%s", list[i]->d_name);
		int error = strstr(list[i]->d_name, ".ko") ? load_module(path) : 0;
		if (error)
			log_warning("cannot load %s: %s", path, strerror(-error));
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

// Files that the image brought, such as the test, stay visible.
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
		// Failures are ignored: whatever needs a missing file system reports it.
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
		log_verbose("cannot change to /root or set the host name: %s", strerror(errno));
	raise_loopback();
	load_modules();
	reboot(RB_DISABLE_CAD);
}

// tracelet.listen=ADDRESS[,ADDRESS...]
char *init_word(const char *key) {
	struct input line;
	char *word = NULL;
	if (input_open(&line, "/proc/cmdline"))
		return NULL;
	CLEANUP_FREE char *text = memory_format("%.*s", (int)line.size, (const char *)line.data);
	input_close(&line);
	const char *found = strstr(text, key);
	if (found) {
		found += strlen(key);
		word = memory_format("%.*s", (int)strcspn(found, " \n"), found);
	}
	return word;
}

char **init_addresses(size_t *count) {
	ARRAY(char *) list = {0};
	CLEANUP_FREE char *words = init_word("tracelet.listen=");
	char *rest = words;
	for (char *word; rest && (word = strsep(&rest, ","));)
		if (*word)
			array_push(&list, memory_string(word));
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
