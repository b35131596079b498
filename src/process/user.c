// setfsuid() changes only file access: the tracer keeps its permission to record, but cannot write
// where the user could not. The kernel drops the file capabilities along with it.
#include "process/user.h"
#include "base/file.h"
#include "base/log.h"
#include "base/memory.h"
#include "process/typing.h"
#include "process/user_limits.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/fsuid.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { MOST_GROUPS = 1024 };

static struct {
	bool other;
	uid_t uid;
	gid_t gid, groups[MOST_GROUPS];
	int group_count;
	char *name, *home;
	struct user_limits limits;
	int kept_limit; // -1 if none
} chosen = {.kept_limit = -1};

// ---- finding it ----

// A static program, such as the agent, cannot load the modules for accounts outside /etc/passwd.
static bool is_static(void) {
	return getauxval(AT_BASE) == 0;
}

static struct passwd *find_in_file(const char *name, uid_t uid) {
	FILE *file = fopen("/etc/passwd", "re");
	struct passwd *account = NULL;
	while (file && (account = fgetpwent(file)) &&
	       (name ? strcmp(account->pw_name, name) != 0 : account->pw_uid != uid))
		;
	if (file)
		fclose(file);
	return account;
}

// By name or, if NULL, by number.
static struct passwd *find_account(const char *name, uid_t uid) {
	return is_static() ? find_in_file(name, uid) : name ? getpwnam(name) : getpwuid(uid);
}

static void find_groups_in_file(void) {
	FILE *file = fopen("/etc/group", "re");
	chosen.groups[chosen.group_count++] = chosen.gid;
	for (struct group *group; file && chosen.group_count < MOST_GROUPS && (group = fgetgrent(file));)
		for (char **member = group->gr_mem; *member; member++)
			if (strcmp(*member, chosen.name) == 0 && group->gr_gid != chosen.gid) {
				chosen.groups[chosen.group_count++] = group->gr_gid;
				break;
			}
	if (file)
		fclose(file);
}

static void take_account(const struct passwd *account) {
	chosen.name = account ? memory_string(account->pw_name) : memory_format("%u", (unsigned)chosen.uid);
	chosen.home = memory_string(account ? account->pw_dir : "/");
	chosen.group_count = account && !is_static() ? MOST_GROUPS : 0;
	if (!account)
		chosen.groups[chosen.group_count++] = chosen.gid;
	else if (is_static())
		find_groups_in_file();
	else if (getgrouplist(account->pw_name, chosen.gid, chosen.groups, &chosen.group_count) < 0)
		chosen.group_count = MIN(chosen.group_count, (int)MOST_GROUPS);
}

static bool parse_number(const char *text, unsigned *number) {
	char *end;
	errno = 0;
	unsigned long value = strtoul(text, &end, 10);
	*number = (unsigned)value;
	// To the kernel, the largest value means "do not change".
	return *text >= '0' && *text <= '9' && !*end && !errno && value < UINT32_MAX;
}

static bool parse(const char *text) {
	const char *colon = strchr(text, ':');
	CLEANUP_FREE char *name = memory_format("%.*s", (int)(colon ? colon - text : (long)strlen(text)),
						text);
	bool number = parse_number(name, &chosen.uid);
	const struct passwd *account = find_account(number ? NULL : name, chosen.uid);
	if (!account && !number) {
		log_error("--user: there is no user '%s'", name);
		return false;
	}
	if (!account && !colon) {
		log_error("--user: user %s has no account; give the group too: --user %s:GID", name, name);
		return false;
	}
	chosen.uid = account ? account->pw_uid : chosen.uid;
	chosen.gid = account ? account->pw_gid : 0;
	if (colon && !parse_number(colon + 1, &chosen.gid)) {
		log_error("--user: '%s' is not the number of a group", colon + 1);
		return false;
	}
	take_account(account);
	return true;
}

static bool parse_sudo(void) {
	const char *uid = getenv("SUDO_UID"), *gid = getenv("SUDO_GID");
	unsigned number;
	if (!uid || !gid || !parse_number(uid, &number) || !parse_number(gid, &number)) {
		log_error("--user sudo: not started by sudo (SUDO_UID and SUDO_GID are not set)");
		return false;
	}
	CLEANUP_FREE char *both = memory_format("%s:%s", uid, gid);
	return parse(both);
}

static bool is_member(gid_t group) {
	static gid_t ours[MOST_GROUPS];
	const gid_t *groups = chosen.other ? chosen.groups : ours;
	int count = chosen.other ? chosen.group_count : getgroups(MOST_GROUPS, ours);
	bool member = chosen.other ? group == chosen.gid : geteuid() == 0 || group == getegid();
	for (int i = 0; i < count; i++)
		member |= groups[i] == group;
	return member;
}

static bool find_group(const char *name, gid_t *gid) {
	FILE *file = is_static() ? fopen("/etc/group", "re") : NULL;
	struct group *group = is_static() ? NULL : getgrnam(name);
	while (file && (group = fgetgrent(file)) && strcmp(group->gr_name, name) != 0)
		;
	if (group)
		*gid = group->gr_gid;
	if (file)
		fclose(file);
	return group != NULL;
}

static bool is_member_by_name(const char *name) {
	gid_t group;
	return find_group(name, &group) && is_member(group);
}

static void find_limits(void) {
	struct limits_owner user = {.name = chosen.name,
				    .uid = chosen.uid,
				    .gid = chosen.gid,
				    .is_member = is_member_by_name,
				    .is_member_of_number = is_member};
	user_limits_begin(&chosen.limits);
	user_limits_read_folder(&chosen.limits, &user, "/etc/security");
}

static bool may_change_user(void) {
	struct __user_cap_header_struct version = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct ours[_LINUX_CAPABILITY_U32S_3] = {0};
	const unsigned needed = 1u << CAP_SETUID | 1u << CAP_SETGID;
	return syscall(SYS_capget, &version, ours) == 0 && (ours[0].effective & needed) == needed;
}

bool user_choose(const char *text) {
	if (!text || !*text)
		return true;
	if (!(strcmp(text, "sudo") == 0 ? parse_sudo() : parse(text)))
		return false;
	chosen.other = chosen.uid != geteuid() || (strchr(text, ':') && chosen.gid != getegid());
	if (chosen.other && !may_change_user()) {
		log_error("--user: only root may run a test as another user (%s)", chosen.name);
		return false;
	}
	if (chosen.other)
		find_limits();
	return true;
}

bool user_is_other(void) {
	return chosen.other;
}

void user_owner(uid_t *user, gid_t *group) {
	*user = chosen.other ? chosen.uid : getuid();
	*group = chosen.other ? chosen.gid : getgid();
}

// ---- who may read its files ----

bool user_choose_group(const char *text) {
	gid_t group = 0;
	if (!text || !*text)
		return true;
	if (!find_group(text, &group) && !parse_number(text, &group)) {
		log_error("--artifact-group: there is no group '%s'", text);
		return false;
	}
	if (!is_member(group)) {
		log_error("--artifact-group: %s is not a member of %s",
			  chosen.name ? chosen.name : "this user", text);
		return false;
	}
	file_share_with_group(group);
	return true;
}

// ---- becoming it ----

// setresuid() does this too, unless the kernel was asked to keep capabilities.
static int drop_capabilities(void) {
	struct __user_cap_header_struct version = {.version = _LINUX_CAPABILITY_VERSION_3};
	struct __user_cap_data_struct none[_LINUX_CAPABILITY_U32S_3] = {0};
	prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
	return syscall(SYS_capset, &version, none) ? -errno : 0;
}

int user_take_groups(uid_t *user) {
	if (!chosen.other)
		return 0;
	*user = chosen.uid;
	return setgroups((size_t)chosen.group_count, chosen.groups) ||
			       setresgid(chosen.gid, chosen.gid, chosen.gid)
		       ? -errno
		       : 0;
}

int user_become(void) {
	uid_t user;
	if (!chosen.other)
		return 0;
	if (user_take_groups(&user) || setresuid(user, user, user))
		return -errno;
	setenv("HOME", chosen.home, 1);
	setenv("USER", chosen.name, 1);
	setenv("LOGNAME", chosen.name, 1);
	return drop_capabilities();
}

void user_keep_core_limit(void) {
	chosen.kept_limit = RLIMIT_CORE;
}

int user_become_test(void) {
	if (!chosen.other)
		return 0;
	if (typing_forbid())
		log_warning(
			"--user: cannot keep the test from typing on this terminal (needs CAP_SYS_ADMIN); "
			"redirect its input and output and start it with setsid");
	user_limits_apply(&chosen.limits, chosen.kept_limit);
	return user_become();
}

// ---- its files ----

static struct {
	gid_t groups[MOST_GROUPS];
	int group_count;
	bool known;
} ours;

void user_files_begin(void) {
	if (!chosen.other)
		return;
	if (!ours.known)
		ours.group_count = MAX(getgroups(MOST_GROUPS, ours.groups), 0);
	ours.known = true;
	syscall(SYS_setgroups, chosen.group_count, chosen.groups);
	setfsgid(chosen.gid);
	setfsuid(chosen.uid);
}

void user_files_end(void) {
	if (!chosen.other)
		return;
	setfsuid(geteuid());
	setfsgid(getegid());
	syscall(SYS_setgroups, ours.group_count, ours.groups);
}

// True if only root can change what this path leads to; links are not followed.
static bool is_roots(const char *path) {
	struct stat status;
	CLEANUP_FREE char *above = memory_string(path);
	for (;;) {
		if (lstat(*above ? above : "/", &status) || !S_ISDIR(status.st_mode) || status.st_uid != 0 ||
		    (status.st_mode & 022 && !(status.st_mode & S_ISVTX)))
			return false;
		char *slash = strrchr(above, '/');
		if (!slash || !*above)
			return true;
		*slash = 0;
	}
}

// The absolute path; NULL if anyone but root can change what it leads to.
static char *absolute_of_root(const char *path) {
	CLEANUP_FREE char *here = *path == '/' ? memory_string("") : getcwd(NULL, 0);
	char *folder = here ? memory_format("%s/%s", here, path + (*path == '/')) : NULL;
	CLEANUP_FREE char *above = folder ? memory_string(folder) : NULL;
	if (!folder)
		return NULL;
	*strrchr(above, '/') = 0;
	if (is_roots(above))
		return folder;
	free(folder);
	return NULL;
}

static bool is_empty(int fd) {
	DIR *list = fdopendir(dup(fd));
	size_t count = 0;
	while (list && readdir(list))
		count++;
	if (list)
		closedir(list);
	return count == 2; // "." and ".."
}

// An empty directory that only root can enter was made for this purpose, as by the agent in a
// guest.
static void give_empty(const char *path) {
	struct stat status;
	CLEANUP_FREE char *folder = absolute_of_root(path);
	int fd = folder ? open(folder, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC) : -1;
	if (fd >= 0 && fstat(fd, &status) == 0 && status.st_uid == 0 && !(status.st_mode & 077) &&
	    is_empty(fd) && fchown(fd, chosen.uid, chosen.gid) == 0)
		file_share(fd);
	if (fd >= 0)
		close(fd);
}

// Where only root can write, we create it and give it away.
static int make_and_give(const char *path) {
	CLEANUP_FREE char *folder = absolute_of_root(path);
	if (!folder)
		return -EACCES;
	if (mkdir(folder, 0700) || lchown(folder, chosen.uid, chosen.gid))
		return -errno;
	file_share_dir(folder);
	return 0;
}

static int make_one(const char *path, bool last) {
	if ((last ? file_make_private_dir(path) : mkdir(path, 0777)) == 0 || errno == EEXIST)
		return 0;
	int error = -errno;
	if (error == -EACCES && user_is_other()) {
		user_files_end();
		error = make_and_give(path);
		user_files_begin();
	}
	return error;
}

int user_make_folder(const char *path) {
	CLEANUP_FREE char *part = memory_string(path);
	int error = 0;
	for (char *slash = part + 1; !error && *part && (slash = strchr(slash, '/')); slash++) {
		*slash = 0;
		error = make_one(part, false);
		*slash = '/';
	}
	if (error || !user_is_other())
		return error ? error : make_one(part, true);
	user_files_end();
	give_empty(part);
	user_files_begin();
	return make_one(part, true);
}
