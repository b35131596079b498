#include "collector/collector.h"
#include "base/log.h"
#include "settings/ini_file.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>

static const struct {
	const char *key;
	size_t offset; // of a uint32_t in the options
	uint64_t least, most;
} keys[] = {
	{"sessions-per-user", offsetof(struct collector_options, limits.sessions), 1, 1024},
	{"connections-per-second", offsetof(struct collector_options, limits.connections), 1, 1000000},
	{"samples-per-second", offsetof(struct collector_options, limits.samples), 1, 20000},
	{"ring-kilobytes", offsetof(struct collector_options, ring_bytes), 64, 16384},
};

static bool take_number(struct collector_options *options, size_t i, const char *value) {
	char *end;
	errno = 0;
	unsigned long number = strtoul(value, &end, 10);
	bool rings = keys[i].offset == offsetof(struct collector_options, ring_bytes);
	if (errno || *end || end == value || number < keys[i].least || number > keys[i].most ||
	    (rings && number & (number - 1)))
		return false;
	*(uint32_t *)((char *)options + keys[i].offset) = (uint32_t)(rings ? number << 10 : number);
	return true;
}

static int take_key(void *context, const char *section, const char *key, const char *value) {
	for (size_t i = 0; i < ARRAY_SIZE(keys); i++)
		if (strcmp(keys[i].key, key) == 0)
			return take_number(context, i, value);
	return 0;
}

bool collector_configure(struct collector_options *options, const char *path) {
	char why[INI_FILE_WHY] = "";
	struct stat file;
	if (stat(path, &file) == 0 && file.st_uid != 0) {
		log_error("%s: must belong to root", path);
		return false;
	}
	int line = ini_file_read(path, INI_FILE_OF_PROJECT, take_key, options, why);
	if (line == INI_FILE_UNREADABLE)
		log_error("%s: cannot be read: %s", path, strerror(errno));
	else if (line == INI_FILE_UNTRUSTED)
		log_error("%s: %s", path, why);
	else if (line)
		log_error(
			"%s:%d: expected sessions-per-user (1 to 1024), connections-per-second (1 to "
			"1000000), "
			"samples-per-second (1 to 20000) or ring-kilobytes (a power of two from 64 to 16384)",
			path, line);
	return !line;
}
