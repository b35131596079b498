#include "artifact/source.h"
#include "artifact/worktree.h"
#include "base/file.h"
#include "base/json_read.h"
#include "base/system.h"

#include <errno.h>
#include <string.h>

enum {
	MOST_HEAD = 4096,
	MOST_PACKED = 16 << 20,
	MOST_EVENT = 16 << 20,
	MOST_CONFIG = 1 << 20,
	MOST_INDEX = 16 << 20,
	MOST_LEVELS = 64
};

static char *read_text(const char *path, size_t most);

bool source_is_plain(const char *text) {
	enum { LONGEST = 200 };
	size_t length = strlen(text);
	for (size_t i = 0; i < length; i++)
		if (text[i] < ' ' || text[i] > '~')
			return false;
	return length && length <= LONGEST;
}

static bool is_commit(const char *text) {
	size_t length = strspn(text, "0123456789abcdef");
	return (length == 40 || length == 64) && !text[length];
}

// ---- CI systems ----

// Names of variables; NULL if it has none.
struct system {
	const char *name, *sign; // `sign` is set where it runs
	const char *commit, *branch, *change, *job, *run, *attempt;
};

static const struct system systems[] = {
	{"github", "GITHUB_ACTIONS", "GITHUB_SHA", "GITHUB_REF_NAME", NULL, "GITHUB_JOB", "GITHUB_RUN_ID",
	 "GITHUB_RUN_ATTEMPT"},
	{"gitlab", "GITLAB_CI", "CI_COMMIT_SHA", "CI_COMMIT_REF_NAME", "CI_MERGE_REQUEST_IID", "CI_JOB_URL",
	 "CI_PIPELINE_ID", NULL},
	{"azure", "TF_BUILD", "BUILD_SOURCEVERSION", "BUILD_SOURCEBRANCHNAME",
	 "SYSTEM_PULLREQUEST_PULLREQUESTNUMBER", "SYSTEM_JOBDISPLAYNAME", "BUILD_BUILDID",
	 "SYSTEM_JOBATTEMPT"},
	{"jenkins", "JENKINS_URL", "GIT_COMMIT", "GIT_BRANCH", "CHANGE_ID", "BUILD_URL", "BUILD_TAG", NULL},
	{"buildkite", "BUILDKITE", "BUILDKITE_COMMIT", "BUILDKITE_BRANCH", "BUILDKITE_PULL_REQUEST",
	 "BUILDKITE_JOB_ID", "BUILDKITE_BUILD_ID", "BUILDKITE_RETRY_COUNT"},
};

static char *variable(const char *name) {
	const char *value = name ? system_variable(name) : NULL;
	return value && source_is_plain(value) ? memory_string(value) : NULL;
}

// GitHub calls the branch of a pull request 17/merge.
static void read_github_change(struct source *source) {
	size_t digits = source->branch ? strspn(source->branch, "0123456789") : 0;
	if (digits && strcmp(source->branch + digits, "/merge") == 0)
		source->change = memory_format("%.*s", (int)digits, source->branch);
}

// ---- changes from elsewhere ----

struct github_event {
	char *head, *head_repository, *base_repository;
};

// One level of {"sha":…, "repo":{"full_name":…}}.
static void read_github_side(struct json_reader *json, char **sha, char **repository) {
	struct json_piece key;
	if (json_peek(json) != '{') {
		json_skip(json);
		return;
	}
	for (json_enter(json, '{'); json_member(json, &key);) {
		if (sha && json_is(&key, "sha") && !*sha)
			*sha = json_read_if_text(json);
		else if (!sha && json_is(&key, "full_name") && !*repository)
			*repository = json_read_if_text(json);
		else if (sha && json_is(&key, "repo"))
			read_github_side(json, NULL, repository);
		else
			json_skip(json);
	}
}

static void read_github_request(struct json_reader *json, struct github_event *event) {
	struct json_piece key;
	char *base = NULL;
	if (json_peek(json) != '{') {
		json_skip(json);
		return;
	}
	for (json_enter(json, '{'); json_member(json, &key);) {
		if (json_is(&key, "head"))
			read_github_side(json, &event->head, &event->head_repository);
		else if (json_is(&key, "base"))
			read_github_side(json, &base, &event->base_repository);
		else
			json_skip(json);
	}
	free(base);
}

// A pull request tests a merge commit; the file about it has the commit that was pushed, and where to. A
// repository that is gone counts as a fork. A workflow on pull_request_target has the branch and the commit
// that the request is for: unless the file says otherwise, its code is someone else's.
static void read_github_event(struct source *source) {
	const char *path = system_variable("GITHUB_EVENT_PATH"), *name = system_variable("GITHUB_EVENT_NAME");
	bool target = name && strcmp(name, "pull_request_target") == 0;
	CLEANUP_FREE char *text = path && (source->change || target) ? read_text(path, MOST_EVENT) : NULL;
	struct github_event event = {0};
	struct json_piece key;
	struct json_reader json = json_from(text ? text : "", text ? strlen(text) : 0);
	for (json_enter(&json, '{'); json_member(&json, &key);) {
		if (json_is(&key, "pull_request"))
			read_github_request(&json, &event);
		else
			json_skip(&json);
	}
	if (event.head && is_commit(event.head)) {
		source->head = event.head;
		event.head = NULL;
	}
	source->fork = event.base_repository ? (!event.head_repository ||
						strcmp(event.head_repository, event.base_repository) != 0)
					     : target;
	free(event.head);
	free(event.head_repository);
	free(event.base_repository);
}

// Pairs of variables that differ for a fork, and single ones that say so.
static bool comes_from_fork(void) {
	static const char *const pairs[][2] = {
		{"CI_MERGE_REQUEST_SOURCE_PROJECT_PATH", "CI_MERGE_REQUEST_PROJECT_PATH"},
		{"BUILDKITE_PULL_REQUEST_REPO", "BUILDKITE_REPO"}};
	const char *azure = system_variable("SYSTEM_PULLREQUEST_ISFORK"),
		   *jenkins = system_variable("CHANGE_FORK");
	bool fork = (azure && strcmp(azure, "True") == 0) || (jenkins && *jenkins);
	for (size_t i = 0; i < ARRAY_SIZE(pairs); i++) {
		const char *from = system_variable(pairs[i][0]), *to = system_variable(pairs[i][1]);
		fork |= from && *from && to && *to && strcmp(from, to) != 0;
	}
	return fork;
}

static void read_system(struct source *source, const struct system *system) {
	source->ci = system->name;
	source->commit = variable(system->commit);
	source->branch = variable(system->branch);
	source->change = variable(system->change);
	source->job = variable(system->job);
	CLEANUP_FREE char *run = variable(system->run);
	CLEANUP_FREE char *attempt = variable(system->attempt);
	source->run = run ? memory_format("%s-%s", system->name, run) : NULL;
	source->attempt = attempt ? strtoull(attempt, NULL, 10) : 0;
	if (attempt && strcmp(system->name, "buildkite") == 0)
		source->attempt++; // it counts from 0
	read_github_change(source);
	if (strcmp(system->name, "github") == 0)
		read_github_event(source);
	source->fork |= comes_from_fork();
	if (source->change && strcmp(source->change, "false") == 0) { // Buildkite's word for none
		free(source->change);
		source->change = NULL;
	}
}

// ---- git ----

// The file as text, NULL if it is not a regular one or larger than `most`. Its name may be another user's.
static char *read_bytes(const char *path, size_t most, size_t *length) {
#ifdef _WIN32
	int fd = system_open(path, O_RDONLY | O_BINARY | O_CLOEXEC);
#else
	int fd = file_open_regular(path, O_RDONLY | O_CLOEXEC);
#endif
	struct stat status;
	if (fd < 0)
		return NULL;
	char *text = NULL;
	if (fstat(fd, &status) == 0 && S_ISREG(status.st_mode) && (uint64_t)status.st_size <= most) {
		size_t size = *length = (size_t)status.st_size;
		text = memory_alloc(size + 1); // zeros
		if (read(fd, text, (unsigned)size) != (ssize_t)size) {
			free(text);
			text = NULL;
		}
	}
	close(fd);
	return text;
}

static char *read_text(const char *path, size_t most) {
	size_t size;
	return read_bytes(path, most, &size);
}

static char *read_line(const char *folder, const char *name) {
	CLEANUP_FREE char *path = memory_format("%s/%s", folder, name);
	char *text = read_text(path, MOST_HEAD);
	if (text)
		text[strcspn(text, "\r\n")] = 0;
	return text;
}

static char *join(const char *folder, const char *path) {
	return system_is_absolute(path) ? memory_string(path) : memory_format("%s/%s", folder, path);
}

// Names of references that git allows cannot leave the folder.
static bool is_reference(const char *name) {
	return strncmp(name, "refs/", 5) == 0 && source_is_plain(name) && !strstr(name, "..");
}

// Lines of packed-refs: "<commit> <name>".
static char *find_packed(const char *common, const char *reference) {
	CLEANUP_FREE char *path = memory_format("%s/packed-refs", common);
	CLEANUP_FREE char *text = read_text(path, MOST_PACKED);
	size_t length = strlen(reference);
	for (const char *line = text; line && *line;) {
		size_t size = strcspn(line, "\r\n"), digits = strspn(line, "0123456789abcdef");
		if (size == digits + 1 + length && line[digits] == ' ' &&
		    memcmp(line + digits + 1, reference, length) == 0)
			return memory_format("%.*s", (int)digits, line);
		line += size + strspn(line + size, "\r\n");
	}
	return NULL;
}

// A worktree keeps its branches in the main repository: commondir says where.
static char *common_folder(const char *git) {
	CLEANUP_FREE char *line = read_line(git, "commondir");
	return !line || !*line ? memory_string(git) : join(git, line);
}

static void read_head(struct source *source, const char *git) {
	static const char symbolic[] = "ref: ";
	CLEANUP_FREE char *head = read_line(git, "HEAD");
	if (!head)
		return;
	if (strncmp(head, symbolic, strlen(symbolic)) != 0) {
		source->commit = memory_string(head);
		return;
	}
	const char *reference = head + strlen(symbolic);
	if (!is_reference(reference))
		return;
	CLEANUP_FREE char *common = common_folder(git);
	source->commit = read_line(common, reference);
	if (!source->commit)
		source->commit = find_packed(common, reference);
	if (strncmp(reference, "refs/heads/", 11) == 0)
		source->branch = memory_string(reference + 11);
}

// The address in [remote "origin"], reduced to its last part, without ".git".
static void read_project(struct source *source, const char *git) {
	CLEANUP_FREE char *common = common_folder(git);
	CLEANUP_FREE char *path = memory_format("%s/config", common);
	CLEANUP_FREE char *text = read_text(path, MOST_CONFIG);
	const char *section = text ? strstr(text, "[remote \"origin\"]") : NULL;
	const char *end = section ? strstr(section + 1, "\n[") : NULL;
	const char *url = section ? strstr(section, "url = ") : NULL;
	if (!url || (end && url > end))
		return;
	url += strlen("url = ");
	size_t length = strcspn(url, "\r\n"), begin;
	while (length && (url[length - 1] == '/' || url[length - 1] == ' '))
		length--;
	if (length > 4 && memcmp(url + length - 4, ".git", 4) == 0)
		length -= 4;
	for (begin = length; begin && url[begin - 1] != '/' && url[begin - 1] != ':';)
		begin--;
	char *project = memory_format("%.*s", (int)MIN(length - begin, 200u), url + begin);
	if (source_is_plain(project))
		source->project = project;
	else
		free(project);
}

// `.git` is a folder, or the file of a worktree: "gitdir: <folder>".
static char *git_folder(const char *folder) {
	static const char begin[] = "gitdir: ";
	CLEANUP_FREE char *git = memory_format("%s/.git", folder);
	struct stat status;
	if (system_stat(git, &status))
		return NULL;
	if (S_ISDIR(status.st_mode))
		return memory_string(git);
	CLEANUP_FREE char *line = read_line(folder, ".git");
	return line && strncmp(line, begin, strlen(begin)) == 0 ? join(folder, line + strlen(begin)) : NULL;
}

// The folder of git for this folder or one above it, whose path is `top`; both to be freed. NULL if none.
static char *find_git(const char *folder, char **top) {
	char *at = system_absolute(folder);
	for (unsigned level = 0; at && level < MOST_LEVELS; level++) {
		char *git = git_folder(at), *slash = strrchr(at, '/');
		if (git) {
			*top = at;
			return git;
		}
		if (!slash)
			break;
		*slash = 0;
	}
	free(at);
	return NULL;
}

static void read_git(struct source *source, const char *folder, bool head) {
	CLEANUP_FREE char *top = NULL;
	CLEANUP_FREE char *git = find_git(folder, &top);
	if (!git)
		return;
	if (head)
		read_head(source, git);
	read_project(source, git);
}

bool source_is_dirty(const char *folder) {
	CLEANUP_FREE char *top = NULL;
	CLEANUP_FREE char *git = find_git(folder, &top);
	CLEANUP_FREE char *path = memory_format("%s/index", git ? git : "");
	size_t size;
	CLEANUP_FREE char *index = git ? read_bytes(path, MOST_INDEX, &size) : NULL;
	return index && worktree_is_dirty(top, index, size);
}

// ---- all of it ----

static void drop(char **text) {
	free(*text);
	*text = NULL;
}

void source_find(struct source *source, const char *folder) {
	*source = (struct source){0};
	for (size_t i = 0; i < ARRAY_SIZE(systems) && !source->ci; i++) {
		const char *sign = system_variable(systems[i].sign);
		if (sign && *sign)
			read_system(source, &systems[i]);
	}
	read_git(source, folder, !source->commit && !source->branch);
	if (source->commit && !is_commit(source->commit))
		drop(&source->commit);
	if (source->branch && !source_is_plain(source->branch))
		drop(&source->branch);
}

void source_free(struct source *source) {
	drop(&source->commit);
	drop(&source->branch);
	drop(&source->change);
	drop(&source->job);
	drop(&source->run);
	drop(&source->head);
	drop(&source->project);
}
