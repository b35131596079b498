// A line of limits.conf is "DOMAIN TYPE ITEM VALUE". A name goes before a group, and a group before "*",
// wherever the lines are; of two that are alike the later one counts.
#include "process/user_limits.h"
#include "base/memory.h"

#include <errno.h>
#include <glob.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

// ---- without any file ----

// systemd raises these for itself, but not for sessions (DefaultLimitNOFILE, DefaultLimitMEMLOCK).
static const struct {
	int resource;
	struct rlimit limit;
} under_systemd[] = {
	{RLIMIT_NOFILE, {.rlim_cur = 1024, .rlim_max = 524288}},
	{RLIMIT_MEMLOCK, {.rlim_cur = 8 << 20, .rlim_max = 8 << 20}},
};

static void lower(struct rlimit *limit, const struct rlimit *most) {
	limit->rlim_max = MIN(limit->rlim_max, most->rlim_max);
	limit->rlim_cur = MIN(MIN(limit->rlim_cur, most->rlim_cur), limit->rlim_max);
}

void user_limits_begin(struct user_limits *limits) {
	struct stat systemd;
	*limits = (struct user_limits){0};
	for (int resource = 0; resource < RLIM_NLIMITS; resource++) {
		struct rlimit first, *limit = &limits->of[resource];
		if (getrlimit(resource, limit))
			*limit = (struct rlimit){RLIM_INFINITY, RLIM_INFINITY};
		if (prlimit(1, resource, NULL, &first) == 0)
			lower(limit, &first);
	}
	if (lstat("/run/systemd/system", &systemd) == 0)
		for (size_t i = 0; i < ARRAY_SIZE(under_systemd); i++)
			lower(&limits->of[under_systemd[i].resource], &under_systemd[i].limit);
}

// ---- one line ----

enum rank { NOT_MEANT, EVERYBODY, A_GROUP, THE_USER };

// "7", "7:", ":7" or "7:9". False if it is none of these.
static bool parse_range(const char *text, unsigned long *least, unsigned long *most) {
	const char *colon = strchr(text, ':');
	char *end;
	if (!colon || strspn(text, "0123456789:") != strlen(text) || strchr(colon + 1, ':') || !text[1])
		return false;
	*most = colon[1] ? strtoul(colon + 1, &end, 10) : ~0ul;
	*least = colon == text ? *most : strtoul(text, &end, 10);
	return true;
}

// A range of groups is about the user's first one; a single group may be any of the user's.
static bool group_is_meant(const char *group, const struct limits_owner *user) {
	unsigned long least, most;
	if (!parse_range(group, &least, &most))
		return user->is_member(group);
	return least == most ? user->is_member_of_number((gid_t)least)
			     : user->gid >= least && user->gid <= most;
}

// Lines for groups and for all do not mean root.
static enum rank rank_of(const char *domain, const struct limits_owner *user) {
	unsigned long least, most;
	if (strcmp(domain, "*") == 0)
		return user->uid ? EVERYBODY : NOT_MEANT;
	if (*domain == '@')
		return user->uid && group_is_meant(domain + 1, user) ? A_GROUP : NOT_MEANT;
	if (parse_range(domain, &least, &most))
		return user->uid >= least && user->uid <= most ? THE_USER : NOT_MEANT;
	return strcmp(domain, user->name) == 0 ? THE_USER : NOT_MEANT;
}

static const struct item {
	const char *name;
	int resource;
	unsigned unit;
} items[] = {
	{"core", RLIMIT_CORE, 1024},       {"data", RLIMIT_DATA, 1024},
	{"fsize", RLIMIT_FSIZE, 1024},     {"stack", RLIMIT_STACK, 1024},
	{"memlock", RLIMIT_MEMLOCK, 1024}, {"rss", RLIMIT_RSS, 1024},
	{"as", RLIMIT_AS, 1024},           {"cpu", RLIMIT_CPU, 60},
	{"nofile", RLIMIT_NOFILE, 1},      {"nproc", RLIMIT_NPROC, 1},
	{"locks", RLIMIT_LOCKS, 1},        {"sigpending", RLIMIT_SIGPENDING, 1},
	{"nice", RLIMIT_NICE, 1},          {"rtprio", RLIMIT_RTPRIO, 1},
	{"msgqueue", RLIMIT_MSGQUEUE, 1},
};

static const struct item *find_item(const char *name) {
	for (size_t i = 0; i < ARRAY_SIZE(items); i++)
		if (strcasecmp(items[i].name, name) == 0)
			return &items[i];
	return NULL;
}

// The kernel allows no process more open files than this.
static rlim_t most_files(void) {
	unsigned long most = 1 << 20;
	FILE *file = fopen("/proc/sys/fs/nr_open", "re");
	if (file && fscanf(file, "%lu", &most) != 1)
		most = 1 << 20;
	if (file)
		fclose(file);
	return most;
}

static bool is_unlimited(const char *text) {
	return strcasecmp(text, "unlimited") == 0 || strcasecmp(text, "infinity") == 0 ||
	       strcmp(text, "-1") == 0;
}

static bool parse_value(const struct item *item, const char *text, rlim_t *value) {
	char *end;
	errno = 0;
	if (item->resource == RLIMIT_NICE) { // from -20, which the kernel counts as 40, to 19
		long nice = strtol(text, &end, 10);
		*value = (rlim_t)(20 - MIN(MAX(nice, -20), 19));
		return !*end && !errno;
	}
	if (is_unlimited(text)) {
		*value = item->resource == RLIMIT_NOFILE ? most_files() : RLIM_INFINITY;
		return true;
	}
	unsigned long long number = strtoull(text, &end, 10);
	*value = number > RLIM_INFINITY / item->unit ? RLIM_INFINITY : number * item->unit;
	return *text >= '0' && *text <= '9' && !*end && !errno;
}

static void take(rlim_t *limit, unsigned char *before, rlim_t value, enum rank rank) {
	if (rank < *before)
		return;
	*limit = value;
	*before = (unsigned char)rank;
}

static void take_line(struct user_limits *limits, const struct limits_owner *user, char *line) {
	char *rest, *words[4] = {0};
	line[strcspn(line, "#")] = 0;
	for (size_t i = 0; i < ARRAY_SIZE(words); i++)
		words[i] = strtok_r(i ? NULL : line, " \t\r\n", &rest);
	enum rank rank = words[0] && words[1] ? rank_of(words[0], user) : NOT_MEANT;
	if (rank == NOT_MEANT)
		return;
	bool both = strcmp(words[1], "-") == 0;
	limits->exempt |= both && !words[2];
	const struct item *item = words[3] ? find_item(words[2]) : NULL;
	rlim_t value;
	if (!item || !parse_value(item, words[3], &value))
		return;
	struct rlimit *limit = &limits->of[item->resource];
	if (both || strcasecmp(words[1], "soft") == 0)
		take(&limit->rlim_cur, &limits->soft_rank[item->resource], value, rank);
	if (both || strcasecmp(words[1], "hard") == 0)
		take(&limit->rlim_max, &limits->hard_rank[item->resource], value, rank);
}

// ---- files ----

void user_limits_read(struct user_limits *limits, const struct limits_owner *user, FILE *file) {
	char *line = NULL;
	size_t size = 0;
	while (getline(&line, &size, file) > 0)
		take_line(limits, user, line);
	free(line);
}

static void read_named(struct user_limits *limits, const struct limits_owner *user, const char *path) {
	FILE *file = fopen(path, "re");
	if (!file)
		return;
	user_limits_read(limits, user, file);
	fclose(file);
}

void user_limits_read_folder(struct user_limits *limits, const struct limits_owner *user,
			     const char *folder) {
	glob_t found = {0};
	struct user_limits before = *limits;
	CLEANUP_FREE char *first = memory_format("%s/limits.conf", folder);
	CLEANUP_FREE char *others = memory_format("%s/limits.d/*.conf", folder);
	read_named(limits, user, first);
	if (glob(others, 0, NULL, &found) == 0)
		for (size_t i = 0; i < found.gl_pathc; i++)
			read_named(limits, user, found.gl_pathv[i]);
	globfree(&found);
	if (limits->exempt)
		*limits = before;
}

// ---- using them ----

// Only CAP_SYS_RESOURCE may raise a hard limit.
static void apply_one(int resource, struct rlimit wanted) {
	struct rlimit now;
	wanted.rlim_cur = MIN(wanted.rlim_cur, wanted.rlim_max);
	if (setrlimit(resource, &wanted) == 0 || getrlimit(resource, &now))
		return;
	wanted.rlim_max = MIN(wanted.rlim_max, now.rlim_max);
	wanted.rlim_cur = MIN(wanted.rlim_cur, wanted.rlim_max);
	setrlimit(resource, &wanted);
}

void user_limits_apply(const struct user_limits *limits, int kept) {
	for (int resource = 0; resource < RLIM_NLIMITS; resource++)
		if (resource != kept)
			apply_one(resource, limits->of[resource]);
}
