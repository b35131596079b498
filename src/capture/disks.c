#include "capture/disks.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { MOST_BYTES = 4096 }; // of the list

// Partitions have no events of their own, and unused loop devices have no sectors.
static bool is_used_disk(int folder, const char *number) {
	char path[64], size[2] = "0";
	snprintf(path, sizeof(path), "%.32s/partition", number);
	if (faccessat(folder, path, F_OK, 0) == 0)
		return false;
	snprintf(path, sizeof(path), "%.32s/size", number);
	int file = openat(folder, path, O_RDONLY | O_CLOEXEC);
	bool good = file >= 0 && read(file, size, 1) == 1;
	if (file >= 0)
		close(file);
	return good && *size != '0';
}

// 254:0 is a link to ../../devices/.../block/vda.
static void add_disk(struct buffer *out, int folder, const char *number) {
	char target[PATH_MAX];
	ssize_t size = readlinkat(folder, number, target, sizeof(target) - 1);
	if (size <= 0 || !is_used_disk(folder, number))
		return;
	target[size] = 0;
	const char *slash = strrchr(target, '/');
	buffer_printf(out, "%s%s %s", out->size ? ", " : "", number, slash ? slash + 1 : target);
}

void disks_list(struct buffer *out) {
	DIR *folder = opendir("/sys/dev/block");
	struct dirent *entry;
	while (folder && out->size < MOST_BYTES && (entry = readdir(folder)))
		if (*entry->d_name != '.')
			add_disk(out, dirfd(folder), entry->d_name);
	if (folder)
		closedir(folder);
}
