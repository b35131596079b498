// `tracelet init`: which test tools a project uses, and a script that runs its tests traced; also the lines
// for CI. Tools and CI systems are tables; the script has a line for each tool that was found.
#include "base/buffer.h"
#include "base/file.h"
#include "base/log.h"
#include "base/path.h"
#include "cli/verb.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define SCRIPT "trace-tests"

// A tool is used if one of its files exists and, if there is a word, contains it.
static const struct tool {
	const char *name;
	const char *files[6];
	const char *word;
	const char *command; // in the script: $each and $run are tracelet's verbs with their options
} tools[] = {
	{"CMake",
	 {"CMakeLists.txt"},
	 NULL,
	 "cmake -S . -B \"${BUILD:-build}\" && cmake --build \"${BUILD:-build}\" &&\n"
	 "\t$each --junit results-ctest.xml -- ctest --test-dir \"${BUILD:-build}\""},
	{"meson",
	 {"meson.build"},
	 NULL,
	 "{ [ -e \"${BUILD:-build}/build.ninja\" ] || meson setup \"${BUILD:-build}\"; } &&\n"
	 "\tmeson test -C \"${BUILD:-build}\" --wrapper \"$run --output-dir $PWD/tracelet-out --\""},
	{"cargo",
	 {"Cargo.toml"},
	 NULL,
	 "env CARGO_TARGET_$(uname -m | tr '[:lower:]' '[:upper:]')_UNKNOWN_LINUX_GNU_RUNNER=\"$each "
	 "--output-dir "
	 "$PWD/tracelet-out --\" \\\n\tcargo test"},
	{"go",
	 {"go.mod"},
	 NULL,
	 "go test -exec \"$each --output-dir $PWD/tracelet-out --junit $PWD/results-go/ --\" ./..."},
	{"pytest",
	 {"pytest.ini", "conftest.py", "tests/conftest.py"},
	 NULL,
	 "$each --junit results-pytest.xml -- pytest"},
	{"pytest",
	 {"pyproject.toml", "tox.ini", "setup.cfg"},
	 "pytest",
	 "$each --junit results-pytest.xml -- pytest"},
	{"npm", {"package.json"}, "\"test\"", "$run --name npm-test -- npm test"},
	{"bazel",
	 {"MODULE.bazel", "WORKSPACE", "WORKSPACE.bazel"},
	 NULL,
	 "bazel test //... --strategy=TestRunner=local --run_under=\"$run --output-dir=$PWD/tracelet-out "
	 "--\""},
};

static const char script_begin[] =
	"#!/bin/sh\n"
	"# Runs the tests of this project, each with a trace in tracelet-out. Made by 'tracelet init'; "
	"change it as you like.\n"
	"# Root and members of the collector's group need nothing else; other users record with sudo, and "
	"the tests\n"
	"# still run as them.\n"
	"if [ \"$(id -u)\" = 0 ] || [ -w /run/tracelet-collector.sock ] || ! sudo -n true 2>/dev/null; then\n"
	"\teach='tracelet each' run='tracelet run'\n"
	"else\n"
	"\tas='sudo --preserve-env=CI,GITHUB_ACTIONS,GITHUB_STEP_SUMMARY,GITLAB_CI,CI_PROJECT_DIR,TF_BUILD "
	"tracelet'\n"
	"\teach=\"$as each --user sudo\" run=\"$as run --user sudo\"\n"
	"fi\n"
	"status=0\n";

// CI systems: where their files are, the file of ours, and what it says.
static const struct service {
	const char *name, *sign, *file, *text, *then;
} services[] = {
	{"GitHub Actions", ".github", ".github/workflows/tracelet.yml",
	 "# Made by 'tracelet init'.\n"
	 "name: traced tests\n"
	 "on: [push, pull_request]\n"
	 "jobs:\n"
	 "  test:\n"
	 "    runs-on: ubuntu-latest\n"
	 "    steps:\n"
	 "      - uses: actions/checkout@v4\n"
	 "      # Install tracelet here: the package, or the archive of a release.\n"
	 "      - run: ./" SCRIPT "\n"
	 "      - uses: actions/upload-artifact@v4\n"
	 "        if: always()\n"
	 "        with: {name: traces, path: tracelet-out}\n",
	 NULL},
	{"GitLab", ".gitlab-ci.yml", ".gitlab/tracelet.yml",
	 "# Made by 'tracelet init'.\n"
	 "traced tests:\n"
	 "  script: ./" SCRIPT "\n"
	 "  artifacts:\n"
	 "    when: always\n"
	 "    paths: [tracelet-out]\n"
	 "    reports: {junit: results-*.xml}\n",
	 "add to .gitlab-ci.yml: include: {local: .gitlab/tracelet.yml}"},
};

// ---- what is there ----

static bool contains(const char *path, const char *word) {
	enum { MOST = 1 << 20 };
	struct buffer text = {0};
	int fd = file_open_regular(path, O_RDONLY);
	ssize_t got = 1;
	while (fd >= 0 && got > 0 && text.size < MOST) {
		got = read(fd, buffer_room(&text, 1 << 14), 1 << 14);
		text.size += got > 0 ? (size_t)got : 0;
	}
	bool found = text.size && memmem(text.data, text.size, word, strlen(word));
	if (fd >= 0)
		close(fd);
	buffer_free(&text);
	return found;
}

static const char *sign_of(const struct tool *tool, const char *folder) {
	for (size_t i = 0; i < ARRAY_SIZE(tool->files) && tool->files[i]; i++) {
		CLEANUP_FREE char *path = memory_format("%s/%s", folder, tool->files[i]);
		if (tool->word ? contains(path, tool->word) : access(path, R_OK) == 0)
			return tool->files[i];
	}
	return NULL;
}

// The script for the tools that are used; what was found goes to stdout. False if none is.
static bool make_script(const char *folder, struct buffer *script) {
	const char *last = NULL;
	buffer_text(script, script_begin);
	for (size_t i = 0; i < ARRAY_SIZE(tools); i++) {
		const char *sign = sign_of(&tools[i], folder);
		if (!sign || (last && strcmp(last, tools[i].name) == 0))
			continue;
		printf("# %s (%s)\n", tools[i].name, sign);
		buffer_printf(script, "\n# %s\n%s || status=$?\n", tools[i].name, tools[i].command);
		last = tools[i].name;
	}
	buffer_text(script, "exit $status\n");
	return last;
}

// ---- files ----

static void make_parents(char *path) {
	for (char *slash = strchr(path + 1, '/'); slash; slash = strchr(slash + 1, '/')) {
		*slash = 0;
		mkdir(path, 0777);
		*slash = '/';
	}
}

// A new file; what exists is left alone.
static bool write_file(const char *folder, const char *name, const char *text, size_t size, mode_t mode) {
	CLEANUP_FREE char *path = memory_format("%s/%s", folder, name);
	make_parents(path);
	int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode);
	int error = fd < 0 ? -errno : file_write_all(fd, text, size);
	if (fd >= 0 && close(fd) != 0 && !error)
		error = -errno;
	if (error == -EEXIST)
		log_error("%s exists and is left as it is; delete it to get a new one", path);
	else if (error)
		log_error("cannot write %s: %s", path, strerror(-error));
	else
		printf("wrote %s\n", path);
	return !error;
}

static bool give(const char *folder, const char *name, const char *text, size_t size, mode_t mode,
		 bool written) {
	if (written)
		return write_file(folder, name, text, size, mode);
	printf("\n# ---- %s ----\n%.*s", name, (int)size, text);
	return true;
}

static int init_project(const char *folder, bool written) {
	struct buffer script = {0};
	bool good = true, found = make_script(folder, &script);
	if (found) {
		good = give(folder, SCRIPT, (char *)script.data, script.size, 0777, written);
		for (size_t i = 0; i < ARRAY_SIZE(services); i++) {
			const struct service *service = &services[i];
			CLEANUP_FREE char *sign = memory_format("%s/%s", folder, service->sign);
			if (access(sign, F_OK) != 0)
				continue;
			good &= give(folder, service->file, service->text, strlen(service->text), 0666,
				     written);
			if (service->then)
				printf("# %s\n", service->then);
		}
		printf("%s", written ? "# next: ./" SCRIPT ", then 'tracelet report tracelet-out'\n"
				     : "\n# 'tracelet init --write' makes these files\n");
	} else {
		log_error("no CMake, meson, cargo, go, pytest, npm or bazel project in %s; for any command: "
			  "tracelet run -- COMMAND",
			  folder);
	}
	buffer_free(&script);
	return !found ? EXIT_FOUND : good ? 0 : EXIT_USAGE;
}

// ---- the verb ----

enum { OPTION_WRITE = LETTERS + 1 };

static const struct verb_option own_options[] = {
	{"write", OPTION_WRITE, NULL, "make the files; without it they are printed"},
	{0},
};

static bool take_option(int option, const char *value, void *context) {
	*(bool *)context = true;
	return true;
}

static int run(int argc, char **argv, const struct verb *verb) {
	bool written = false;
	int status = verb_take(argc, argv, verb, take_option, &written);
	if (status >= 0)
		return status;
	if (argc - optind > 1) {
		log_error("init takes one DIR");
		return verb_bad_usage(verb);
	}
	return init_project(optind < argc ? argv[optind] : ".", written);
}

const struct verb verb_init = {
	.name = "init",
	.family = FAMILY_SET_UP,
	.options = own_options,
	.summary = "put tracing into a project's test command and CI",
	.usage = "tracelet init [--write] [DIR]",
	.about = "Looks at the project in DIR (the current directory): CMake, meson, cargo, go, pytest, npm, "
		 "bazel. "
		 "Prints a script, " SCRIPT
		 ", that runs its tests with a trace for each, and a file for GitHub Actions "
		 "or GitLab if the project uses them.",
	.notes = "Files that exist are never changed.\n\n"
		 "Exit status: 0; 1 if no project was found; 2 bad options, or a file cannot be written.\n\n"
		 "Example: tracelet init --write && ./" SCRIPT,
	.run = run,
};
