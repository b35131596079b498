// Isolates tests: a folder of their own, captured stderr, a child that is
// expected to crash.
#pragma once

#include "unit.h"

#include "base/file.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

// ---- a folder ----

static char aside_folder[128]; // folder of the running test

static inline int folder_setup(void **state) {
	const char *parent = getenv("TMPDIR");
	snprintf(aside_folder, sizeof(aside_folder), "%.80s/tracelet-unit-XXXXXX",
		 parent ? parent : P_tmpdir);
	return mkdtemp(aside_folder) ? 0 : -1;
}

static inline int folder_teardown(void **state) {
	pid_t pid = fork();
	if (pid == 0) {
		execlp("rm", "rm", "-rf", aside_folder, NULL);
		_exit(127);
	}
	int status;
	return waitpid(pid, &status, 0) == pid && status == 0 ? 0 : -1;
}

#define IN_FOLDER(test) cmocka_unit_test_setup_teardown(test, folder_setup, folder_teardown)

// The path of a file in the folder; valid until the eighth call after this one.
static inline const char *in_folder(const char *name) {
	static char paths[8][512];
	static unsigned next;
	char *path = paths[next++ % 8];
	snprintf(path, sizeof(paths[0]), "%s/%s", aside_folder, name);
	return path;
}

static inline size_t folder_entries(void) {
	size_t count = 0;
	DIR *folder = opendir(aside_folder);
	assert_non_null(folder);
	while (readdir(folder))
		count++;
	closedir(folder);
	return count - 2; // without . and ..
}

static inline void put_file(const char *path, const void *bytes, size_t size) {
	int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0666);
	assert_true(fd >= 0);
	assert_int_equal(file_write_all(fd, bytes, size), 0);
	close(fd);
}

static inline void assert_file(const char *path, const char *content) {
	struct input input;
	assert_int_equal(input_open(&input, path), 0);
	assert_int_equal(input.size, strlen(content));
	if (input.size)
		assert_memory_equal(input.data, content, input.size);
	input_close(&input);
}

// ---- stderr ----

struct captured {
	int stderr_before, file;
};

static inline struct captured capture_begin(void) {
	struct captured captured = {.stderr_before = dup(STDERR_FILENO),
				    .file = memfd_create("stderr", MFD_CLOEXEC)};
	assert_true(captured.stderr_before >= 0 && captured.file >= 0);
	dup2(captured.file, STDERR_FILENO);
	return captured;
}

// What was written in the meantime; the caller frees it.
static inline char *capture_end(struct captured captured) {
	dup2(captured.stderr_before, STDERR_FILENO);
	close(captured.stderr_before);
	off_t size = lseek(captured.file, 0, SEEK_END);
	char *text = memory_alloc((size_t)size + 1);
	assert_int_equal(pread(captured.file, text, (size_t)size, 0), size);
	close(captured.file);
	return text;
}

// ---- a child ----

// Whether a child that runs this is killed by SIGABRT.
static inline bool aborts(void (*act)(void)) {
	pid_t pid = fork();
	if (pid == 0) {
		int null = open("/dev/null", O_WRONLY);
		dup2(null, STDERR_FILENO);
		signal(SIGABRT, SIG_DFL);
		act();
		_exit(0);
	}
	int status = 0;
	assert_int_equal(waitpid(pid, &status, 0), pid);
	return WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT;
}
