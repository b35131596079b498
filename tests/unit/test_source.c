// Which source was tested: variables of CI systems, files of git, and what others may put there.
#include "unit.h"

#include "artifact/identity.h"
#include "artifact/source.h"
#include "artifact/worktree.h"
#include "base/uuid.h"

#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#define COMMIT "0123456789abcdef0123456789abcdef01234567"
#define OTHER  "76543210fedcba9876543210fedcba9876543210"

static char folder[] = "/tmp/test_source.XXXXXX";

static void put(const char *name, const char *text) {
	CLEANUP_FREE char *path = memory_format("%s/%s", folder, name);
	FILE *file = fopen(path, "w");
	assert_non_null(file);
	fputs(text, file);
	fclose(file);
}

static void make(const char *name) {
	CLEANUP_FREE char *path = memory_format("%s/%s", folder, name);
	assert_int_equal(mkdir(path, 0700), 0);
}

static void erase(const char *name) {
	CLEANUP_FREE char *path = memory_format("%s/%s", folder, name);
	assert_int_equal(unlink(path), 0);
}

static struct source find(const char *name) {
	CLEANUP_FREE char *path = memory_format("%s/%s", folder, name);
	struct source source;
	source_find(&source, path);
	return source;
}

static void expect(const char *name, const char *commit, const char *branch) {
	struct source source = find(name);
	if (commit)
		assert_string_equal(source.commit, commit);
	else
		assert_null(source.commit);
	if (branch)
		assert_string_equal(source.branch, branch);
	else
		assert_null(source.branch);
	assert_null(source.ci);
	source_free(&source);
}

static int set_up(void **state) {
	static const char *const signs[] = {"GITHUB_ACTIONS", "GITLAB_CI", "TF_BUILD", "JENKINS_URL",
					    "BUILDKITE"};
	for (size_t i = 0; i < ARRAY_SIZE(signs); i++)
		unsetenv(signs[i]);
	if (!mkdtemp(folder))
		return -1;
	make(".git");
	make(".git/refs");
	make(".git/refs/heads");
	make("deep");
	make("deep/er");
	return 0;
}

static int tear_down(void **state) {
	CLEANUP_FREE char *command = memory_format("rm -rf '%s'", folder);
	return system(command);
}

static void test_a_branch_is_found_from_below(void **state) {
	put(".git/HEAD", "ref: refs/heads/main\n");
	put(".git/refs/heads/main", COMMIT "\n");
	expect("deep/er", COMMIT, "main");
}

static void test_a_packed_branch(void **state) {
	put(".git/HEAD", "ref: refs/heads/packed\n");
	put(".git/packed-refs", "# pack-refs with: peeled fully-peeled sorted\n" OTHER
				" refs/heads/packed-too\n" COMMIT " refs/heads/packed\n^" OTHER "\n");
	expect(".", COMMIT, "packed");
}

static void test_a_detached_head(void **state) {
	put(".git/HEAD", COMMIT "\n");
	expect(".", COMMIT, NULL);
}

static void test_a_worktree(void **state) {
	put(".git/refs/heads/side", OTHER "\n");
	make(".git/worktrees");
	make(".git/worktrees/side");
	put(".git/worktrees/side/HEAD", "ref: refs/heads/side\n");
	put(".git/worktrees/side/commondir", "../..\n");
	put("deep/.git", "gitdir: ../.git/worktrees/side\n");
	expect("deep/er", OTHER, "side");
	erase("deep/.git");
}

static void test_what_is_no_commit_is_not_shown(void **state) {
	put("secret", "the secret\n");
	put(".git/HEAD", "ref: refs/heads/../../../secret\n");
	expect(".", NULL, NULL);
	put(".git/HEAD", "ref: refs/heads/bad\n");
	put(".git/refs/heads/bad", "the secret\n");
	expect(".", NULL, "bad");
	put(".git/HEAD", "the secret\n");
	expect(".", NULL, NULL);
	put(".git/HEAD", "ref: refs/heads/\033[31m\n");
	expect(".", NULL, NULL);
	erase(".git/HEAD");
	CLEANUP_FREE char *fifo = memory_format("%s/.git/HEAD", folder);
	assert_int_equal(mkfifo(fifo, 0600), 0);
	expect(".", NULL, NULL); // and does not wait
	erase(".git/HEAD");
}

static void test_a_ci_system_knows_better(void **state) {
	setenv("GITHUB_ACTIONS", "true", 1);
	setenv("GITHUB_SHA", OTHER, 1);
	setenv("GITHUB_REF_NAME", "17/merge", 1);
	setenv("GITHUB_JOB", "unit", 1);
	setenv("GITHUB_RUN_ID", "4711", 1);
	setenv("GITHUB_RUN_ATTEMPT", "2", 1);
	struct source source = find(".");
	assert_string_equal(source.ci, "github");
	assert_string_equal(source.commit, OTHER);
	assert_string_equal(source.branch, "17/merge");
	assert_string_equal(source.change, "17");
	assert_string_equal(source.job, "unit");
	assert_string_equal(source.run, "github-4711");
	assert_int_equal(source.attempt, 2);
	source_free(&source);
	setenv("GITHUB_JOB", "two\nlines", 1);
	source = find(".");
	assert_null(source.job);
	source_free(&source);
	unsetenv("GITHUB_ACTIONS");
}

// ---- changes from elsewhere ----

static void set_event(const char *text) {
	put("event.json", text);
	CLEANUP_FREE char *path = memory_format("%s/event.json", folder);
	setenv("GITHUB_EVENT_PATH", path, 1);
}

#define SIDE(sha, repository) "{\"sha\":\"" sha "\",\"repo\":" repository ",\"label\":\"a:b\"}"
#define MINE                  "{\"id\":1,\"full_name\":\"us/code\",\"fork\":false}"
#define THEIRS                "{\"id\":2,\"full_name\":\"them/code\",\"fork\":true}"
#define REQUEST(head, base)                                                                                  \
	"{\"action\":\"opened\",\"number\":17,\"pull_request\":{\"number\":17,\"head\":" head                \
	",\"base\":" base "}}"

// What the file of GitHub about a pull request says: which commit was pushed, and from where.
static void test_the_event_file_of_a_pull_request(void **state) {
	static const struct {
		const char *text, *head;
		bool fork;
	} events[] = {
		{REQUEST(SIDE(COMMIT, MINE), SIDE(OTHER, MINE)), COMMIT, false},
		{REQUEST(SIDE(COMMIT, THEIRS), SIDE(OTHER, MINE)), COMMIT, true},
		{REQUEST(SIDE(COMMIT, "null"), SIDE(OTHER, MINE)), COMMIT, true}, // the fork was deleted
		{REQUEST(SIDE("main; rm -rf /", THEIRS), SIDE(OTHER, MINE)), NULL, true},
		{REQUEST("[]", SIDE(OTHER, MINE)), NULL, true},
		{"{\"pull_request\":null}", NULL, false},
		{"{\"pull_request\":{\"head\":{\"sha\":7}}}", NULL, false},
		{"{\"pull_request\":{\"head\":", NULL, false},
		{"", NULL, false},
		{"[[[[", NULL, false},
	};
	setenv("GITHUB_ACTIONS", "true", 1);
	setenv("GITHUB_EVENT_NAME", "pull_request", 1);
	setenv("GITHUB_SHA", OTHER, 1);
	setenv("GITHUB_REF_NAME", "17/merge", 1);
	for (size_t i = 0; i < ARRAY_SIZE(events); i++) {
		set_event(events[i].text);
		struct source source = find(".");
		assert_string_equal(source.commit, OTHER);
		assert_string_equal(source.change, "17");
		if (events[i].head)
			assert_string_equal(source.head, events[i].head);
		else
			assert_null(source.head);
		assert_int_equal(source.fork, events[i].fork);
		source_free(&source);
	}
	setenv("GITHUB_EVENT_PATH", "/dev/zero", 1);
	struct source source = find(".");
	assert_false(source.fork);
	source_free(&source);
}

// Such a workflow has the name and the commit of the branch that the change is for, whatever it checks out.
static void test_a_workflow_on_the_target_is_not_the_targets(void **state) {
	setenv("GITHUB_ACTIONS", "true", 1);
	setenv("GITHUB_EVENT_NAME", "pull_request_target", 1);
	setenv("GITHUB_SHA", OTHER, 1);
	setenv("GITHUB_REF_NAME", "main", 1);
	set_event(REQUEST(SIDE(COMMIT, THEIRS), SIDE(OTHER, MINE)));
	struct source source = find(".");
	assert_true(source.fork);
	assert_string_equal(source.head, COMMIT);
	source_free(&source);
	set_event(REQUEST(SIDE(COMMIT, MINE), SIDE(OTHER, MINE)));
	source = find(".");
	assert_false(source.fork);
	source_free(&source);
	set_event("torn");
	source = find(".");
	assert_true(source.fork);
	source_free(&source);
	setenv("GITHUB_EVENT_NAME", "push", 1);
	source = find(".");
	assert_false(source.fork);
	source_free(&source);
}

static void test_forks_of_other_systems(void **state) {
	static const struct {
		const char *sign, *pairs[2][2];
		bool fork;
	} forks[] = {
		{"GITLAB_CI",
		 {{"CI_MERGE_REQUEST_SOURCE_PROJECT_PATH", "them/code"},
		  {"CI_MERGE_REQUEST_PROJECT_PATH", "us/code"}},
		 true},
		{"GITLAB_CI",
		 {{"CI_MERGE_REQUEST_SOURCE_PROJECT_PATH", "us/code"},
		  {"CI_MERGE_REQUEST_PROJECT_PATH", "us/code"}},
		 false},
		{"GITLAB_CI", {{"CI_MERGE_REQUEST_PROJECT_PATH", "us/code"}}, false},
		{"TF_BUILD", {{"SYSTEM_PULLREQUEST_ISFORK", "True"}}, true},
		{"TF_BUILD", {{"SYSTEM_PULLREQUEST_ISFORK", "False"}}, false},
		{"JENKINS_URL", {{"CHANGE_FORK", "them"}}, true},
		{"JENKINS_URL", {{"CHANGE_ID", "17"}}, false},
		{"BUILDKITE",
		 {{"BUILDKITE_PULL_REQUEST_REPO", "git://them/code"}, {"BUILDKITE_REPO", "git://us/code"}},
		 true},
		{"BUILDKITE",
		 {{"BUILDKITE_PULL_REQUEST_REPO", ""}, {"BUILDKITE_REPO", "git://us/code"}},
		 false},
	};
	for (size_t i = 0; i < ARRAY_SIZE(forks); i++) {
		setenv(forks[i].sign, "yes", 1);
		for (size_t k = 0; k < 2 && forks[i].pairs[k][0]; k++)
			setenv(forks[i].pairs[k][0], forks[i].pairs[k][1], 1);
		struct source source = find(".");
		assert_int_equal(source.fork, forks[i].fork);
		source_free(&source);
		unsetenv(forks[i].sign);
		for (size_t k = 0; k < 2 && forks[i].pairs[k][0]; k++)
			unsetenv(forks[i].pairs[k][0]);
	}
}

static int forget_github(void **state) {
	static const char *const names[] = {"GITHUB_ACTIONS", "GITHUB_EVENT_NAME", "GITHUB_EVENT_PATH"};
	for (size_t i = 0; i < ARRAY_SIZE(names); i++)
		unsetenv(names[i]);
	return 0;
}

// ---- work trees ----

static void git(const char *words) {
	CLEANUP_FREE char *command = memory_format(
		"cd %s/tree && git -c user.name=a -c user.email=a@b -c index.threads=1 %s >/dev/null 2>&1",
		folder, words);
	assert_int_equal(system(command), 0);
}

static bool is_dirty(const char *name) {
	CLEANUP_FREE char *path = memory_format("%s/%s", folder, name);
	return source_is_dirty(path);
}

static void make_tree(const char *version) {
	CLEANUP_FREE char *erase_tree = memory_format("rm -rf %s/tree", folder);
	assert_int_equal(system(erase_tree), 0);
	make("tree");
	git("init");
	make("tree/below");
	put("tree/first", "1");
	put("tree/below/second", "12");
	put("tree/below/a-name-that-is-longer", "123");
	git("add .");
	CLEANUP_FREE char *words = memory_format("update-index --index-version %s", version);
	git(words);
	git("commit -m first");
}

static void test_a_work_tree_is_dirty_if_a_known_file_differs(void **state) {
	static const char *const versions[] = {"2", "3", "4"};
	if (system("git --version >/dev/null 2>&1"))
		skip();
	for (size_t i = 0; i < ARRAY_SIZE(versions); i++) {
		make_tree(versions[i]);
		assert_false(is_dirty("tree"));
		put("tree/new", "new files do not count");
		assert_false(is_dirty("tree/below"));
		put("tree/below/second", "another size");
		assert_true(is_dirty("tree/below"));
		git("add below");
		assert_true(is_dirty("tree"));
		git("commit -m second");
		assert_false(is_dirty("tree"));
		erase("tree/first");
		assert_true(is_dirty("tree"));
		git("checkout first");
		assert_false(is_dirty("tree"));
		git("update-index --assume-unchanged first");
		git("commit --allow-empty -m third");
		erase("tree/first");
		assert_false(is_dirty("tree"));
	}
}

// The index may be torn, or made by someone else.
static void test_a_torn_index_says_nothing(void **state) {
	char index[4096];
	if (system("git --version >/dev/null 2>&1"))
		skip();
	make_tree("4");
	CLEANUP_FREE char *path = memory_format("%s/tree/.git/index", folder);
	FILE *file = fopen(path, "r");
	assert_non_null(file);
	size_t size = fread(index, 1, sizeof(index), file);
	fclose(file);
	erase("tree/below/second"); // the last one
	for (size_t most = 0; most < size; most++) {
		char *part = memory_alloc(most + 1); // so that a sanitizer sees what is read beyond
		memcpy(part, index, most);
		CLEANUP_FREE char *tree = memory_format("%s/tree", folder);
		worktree_is_dirty(tree, part, most);
		for (size_t at = 0; at < most; at += 7) {
			part[at] ^= 0x5a;
			worktree_is_dirty(tree, part, most);
			part[at] ^= 0x5a;
		}
		free(part);
	}
	assert_true(is_dirty("tree"));
}

static void test_ids_differ_and_sort_by_time(void **state) {
	char first[UUID_SIZE], second[UUID_SIZE];
	uuid_new(first);
	usleep(2000);
	uuid_new(second);
	assert_true(uuid_is(first) && uuid_is(second));
	assert_int_equal(first[14], '7');
	assert_true(strcmp(first, second) < 0);
	assert_false(uuid_is("019a8f0e-6b1c-7a52-9d0e-3f1c5b7a9e4"));
	assert_false(uuid_is("019a8f0e-6b1c-7a52-9d0e-3f1c5b7a9e42x"));
	assert_false(uuid_is("019A8F0E-6b1c-7a52-9d0e-3f1c5b7a9e42"));
}

static void test_only_known_words_are_a_status(void **state) {
	assert_string_equal(manifest_known_status("timed-out"), "timed-out");
	assert_null(manifest_known_status("passed\n"));
	assert_null(manifest_known_status(NULL));
}

int main(void) {
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_branch_is_found_from_below),
		cmocka_unit_test(test_a_packed_branch),
		cmocka_unit_test(test_a_detached_head),
		cmocka_unit_test(test_a_worktree),
		cmocka_unit_test(test_what_is_no_commit_is_not_shown),
		cmocka_unit_test(test_a_ci_system_knows_better),
		cmocka_unit_test_teardown(test_the_event_file_of_a_pull_request, forget_github),
		cmocka_unit_test_teardown(test_a_workflow_on_the_target_is_not_the_targets, forget_github),
		cmocka_unit_test(test_forks_of_other_systems),
		cmocka_unit_test(test_a_work_tree_is_dirty_if_a_known_file_differs),
		cmocka_unit_test(test_a_torn_index_says_nothing),
		cmocka_unit_test(test_ids_differ_and_sort_by_time),
		cmocka_unit_test(test_only_known_words_are_a_status),
	};
	return cmocka_run_group_tests(tests, set_up, tear_down);
}
