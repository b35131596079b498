// Every call of the library with its first allocation failing, then its second, and so on until it
// needs no more: each reports -ENOMEM, frees its memory and closes what it opened. Linked with the
// static library, whose calls of malloc() and the like end here (--wrap).
#include "../unit/unit.h"

#include "../unit/sample_trace.h"
#include "tracelet/tracelet.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

// ---- an allocator that fails ----

static long until_failure = -1; // allocations; none fails if negative
static long live;

void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *pointer, size_t size);
void __real_free(void *pointer);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *pointer, size_t size);
void __wrap_free(void *pointer);

static bool fails(void) {
	return until_failure >= 0 && until_failure-- == 0;
}

static void *counted(void *pointer) {
	live += pointer != NULL;
	return pointer;
}

void *__wrap_malloc(size_t size) {
	return fails() ? NULL : counted(__real_malloc(size));
}

void *__wrap_calloc(size_t count, size_t size) {
	return fails() ? NULL : counted(__real_calloc(count, size));
}

void *__wrap_realloc(void *pointer, size_t size) {
	if (fails())
		return NULL;
	return pointer ? __real_realloc(pointer, size) : counted(__real_realloc(NULL, size));
}

void __wrap_free(void *pointer) {
	live -= pointer != NULL;
	__real_free(pointer);
}

static int open_descriptors(void) {
	int count = 0;
	DIR *folder = opendir("/proc/self/fd");
	assert_non_null(folder);
	while (readdir(folder))
		count++;
	closedir(folder);
	return count;
}

// ---- the calls ----

static char trace[] = "/tmp/tracelet-memory.XXXXXX";
static uint64_t defects;

static int check_trace(void) {
	struct tl_check_result result = TL_INIT(result);
	int error = tl_check_trace(trace, NULL, &result);
	defects = result.defects;
	return error;
}

static int trace_landed(void) {
	return tl_trace_landed(trace, 0, NULL, 0);
}

static int session_stop(void) {
	char path[64];
	int error = tl_session_stop("x", path, sizeof(path));
	if (!error)
		assert_string_equal(path, "/a/(b) (1.23 MB).pb");
	return error;
}

static int session_current(void) {
	char path[64];
	return tl_session_current_file(NULL, path, sizeof(path));
}

static int artifact_path(void) {
	char path[64];
	return tl_artifact_path("x", "perfetto", path, sizeof(path));
}

static int run_command(void) {
	struct tl_run_result result = TL_INIT(result);
	int error = tl_run((char *[]){(char *)"x", NULL}, NULL, &result);
	if (!error) {
		assert_int_equal(result.artifact_count, 2);
		assert_string_equal(result.artifacts[0]->path, "/a/\"x\".svg");
		assert_string_equal(result.trace, "/a/x.pb");
		assert_string_equal(result.messages, "a message\n");
		assert_int_equal(result.exit_status, 3);
		assert_int_equal(result.lost, 3);
		assert_true(result.wall_seconds == 1.25);
	}
	tl_run_free(&result);
	return error;
}

// Returns how many allocations the call needs.
static long fail_each(int (*call)(void)) {
	enum { MANY = 1000 };
	int descriptors = open_descriptors();
	for (long at = 0; at < MANY; at++) {
		long before = live;
		until_failure = at;
		int error = call();
		bool needed_more = until_failure < 0;
		until_failure = -1;
		assert_int_equal(live, before);
		assert_int_equal(open_descriptors(), descriptors);
		assert_int_equal(error, needed_more ? -ENOMEM : 0);
		if (!needed_more)
			return at;
	}
	fail_msg("a call that allocates without end");
	return 0;
}

static void test_checking_a_trace_survives(void **state) {
	assert_in_range(fail_each(check_trace), 8, 500);
	assert_int_equal(defects, 0);
	assert_in_range(fail_each(trace_landed), 8, 500);
}

static void test_asking_for_paths_survives(void **state) {
	assert_in_range(fail_each(session_stop), 2, 20);
	assert_in_range(fail_each(session_current), 2, 20);
	assert_in_range(fail_each(artifact_path), 2, 20);
}

static void test_running_a_command_survives(void **state) {
	assert_in_range(fail_each(run_command), 5, 50);
}

static int write_trace(void **state) {
	struct buffer bytes = {0};
	sample_trace(&bytes);
	int fd = mkstemp(trace);
	bool whole = fd >= 0 && write(fd, bytes.data, bytes.size) == (ssize_t)bytes.size;
	close(fd);
	buffer_free(&bytes);
	return whole ? 0 : -1;
}

static int remove_trace(void **state) {
	return unlink(trace);
}

int main(void) {
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_checking_a_trace_survives),
		cmocka_unit_test(test_asking_for_paths_survives),
		cmocka_unit_test(test_running_a_command_survives),
	};
	return cmocka_run_group_tests(tests, write_trace, remove_trace);
}
