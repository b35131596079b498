// What sysfs says about a PMU: its number (type), where the bits of a term go (format/), names of events as
// terms (events/), and through which CPUs an uncore PMU is read (cpumask).
#include "capture/pmu/events.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

char *pmu_sysfs_line(const char *folder, const char *name) {
	CLEANUP_FREE char *path = memory_format("%s/%s", folder, name);
	FILE *file = fopen(path, "re");
	char *line = NULL;
	size_t capacity = 0;
	if (!file)
		return NULL;
	ssize_t size = getline(&line, &capacity, file);
	fclose(file);
	if (size < 0) {
		free(line);
		return NULL;
	}
	line[strcspn(line, "\n")] = 0;
	return line;
}

static int compare_names(const void *left, const void *right) {
	return strcmp(*(char *const *)left, *(char *const *)right);
}

void pmu_sysfs_list(struct pmu_sysfs_names *names, const char *folder) {
	DIR *directory = opendir(folder);
	struct dirent *entry;
	while (directory && (entry = readdir(directory)))
		if (*entry->d_name != '.')
			array_push(names, memory_string(entry->d_name));
	if (directory)
		closedir(directory);
	if (names->count)
		qsort(names->items, names->count, sizeof(*names->items), compare_names);
}

void pmu_sysfs_names_free(struct pmu_sysfs_names *names) {
	for (size_t i = 0; i < names->count; i++)
		free(names->items[i]);
	array_free(names);
}

char *pmu_sysfs_owner(const char *devices, const char *name) {
	struct pmu_sysfs_names pmus = {0};
	char *owner = NULL;
	pmu_sysfs_list(&pmus, devices);
	for (size_t i = 0; i < pmus.count && !owner; i++) {
		CLEANUP_FREE char *path = memory_format("%s/%s/events/%s", devices, pmus.items[i], name);
		if (access(path, R_OK) == 0)
			owner = memory_string(pmus.items[i]);
	}
	pmu_sysfs_names_free(&pmus);
	return owner;
}

// "config1:0-7,32-35": the lowest bits of the value go to the first range, and so on.
static bool place_bits(struct pmu_event *event, const char *format, uint64_t value) {
	static const char word[] = "config";
	if (strncmp(format, word, sizeof(word) - 1) != 0)
		return false;
	const char *at = format + sizeof(word) - 1;
	unsigned which = isdigit((unsigned char)*at) ? (unsigned)(*at++ - '0') : 0;
	if (which >= ARRAY_SIZE(event->config) || *at++ != ':')
		return false;
	while (isdigit((unsigned char)*at)) {
		char *end;
		unsigned long low = strtoul(at, &end, 10), high = low;
		if (*end == '-')
			high = strtoul(end + 1, &end, 10);
		if (low > high || high > 63)
			return false;
		for (unsigned long bit = low; bit <= high; bit++, value >>= 1)
			event->config[which] = (event->config[which] & ~(1ull << bit)) | (value & 1) << bit;
		at = *end == ',' ? end + 1 : end;
	}
	return value == 0;
}

// config, config1 and config2 are whole words.
static bool take_config(struct pmu_event *event, const char *name, uint64_t value) {
	static const char *const words[] = {"config", "config1", "config2"};
	for (size_t i = 0; i < ARRAY_SIZE(words); i++)
		if (strcmp(name, words[i]) == 0) {
			event->config[i] = value;
			return true;
		}
	return false;
}

static int take_terms(struct pmu_event *event, const char *folder, const char *terms, bool alias, char *why);

static int take_alias(struct pmu_event *event, const char *folder, const char *name, char *why) {
	CLEANUP_FREE char *events = memory_format("%s/events", folder);
	CLEANUP_FREE char *scale_name = memory_format("%s.scale", name);
	CLEANUP_FREE char *unit_name = memory_format("%s.unit", name);
	CLEANUP_FREE char *terms = strchr(name, '/') ? NULL : pmu_sysfs_line(events, name);
	if (!terms) {
		snprintf(why, PMU_WHY_SIZE, "it has no event or term '%.80s'", name);
		return -EINVAL;
	}
	CLEANUP_FREE char *scale = pmu_sysfs_line(events, scale_name);
	char *unit = pmu_sysfs_line(events, unit_name);
	if (scale && strtod(scale, NULL) > 0)
		event->scale = strtod(scale, NULL);
	if (unit) {
		free(event->unit);
		event->unit = unit;
	}
	return take_terms(event, folder, terms, false, why);
}

// One term: "umask=0x1", "any" or, unless it is from an alias already, the name of an event.
static int take_term(struct pmu_event *event, const char *folder, char *term, bool alias, char *why) {
	char *equals = strchr(term, '='), *end = NULL;
	uint64_t value = 1;
	if (equals) {
		*equals = 0;
		errno = 0;
		value = strtoull(equals + 1, &end, 0);
		if (!isdigit((unsigned char)equals[1]) || *end || errno) {
			snprintf(why, PMU_WHY_SIZE, "'%.80s' is not a valid number for '%.40s'", equals + 1,
				 term);
			return -EINVAL;
		}
	}
	if (equals && take_config(event, term, value))
		return 0;
	CLEANUP_FREE char *formats = memory_format("%s/format", folder);
	CLEANUP_FREE char *format = strchr(term, '/') ? NULL : pmu_sysfs_line(formats, term);
	if (format && place_bits(event, format, value))
		return 0;
	if (!format && !equals && alias)
		return take_alias(event, folder, term, why);
	snprintf(why, PMU_WHY_SIZE, format ? "the value is too large for '%.80s'" : "it has no term '%.80s'",
		 term);
	return -EINVAL;
}

static int take_terms(struct pmu_event *event, const char *folder, const char *terms, bool alias, char *why) {
	CLEANUP_FREE char *copy = memory_string(terms);
	char *rest = copy;
	int error = 0;
	for (char *term; !error && (term = strsep(&rest, ","));)
		if (*term)
			error = take_term(event, folder, term, alias, why);
	return error;
}

int pmu_sysfs_event(struct pmu_event *event, const char *devices, const char *pmu, const char *terms,
		    char why[PMU_WHY_SIZE]) {
	CLEANUP_FREE char *folder = memory_format("%s/%s", devices, pmu);
	CLEANUP_FREE char *type = *pmu && *pmu != '.' && !strchr(pmu, '/') ? pmu_sysfs_line(folder, "type")
									   : NULL;
	if (!type)
		return -ENOENT;
	event->type = (uint32_t)strtoul(type, NULL, 10);
	event->cpus = pmu_sysfs_line(folder, "cpumask");
	return take_terms(event, folder, terms, true, why);
}
