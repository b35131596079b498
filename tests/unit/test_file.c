// Files are complete or do not exist.
#include "aside.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>

static int write_text(const char *path, const char *text, enum output_mode mode) {
	struct output output;
	int error = output_open(&output, path, mode);
	if (error)
		return error;
	output_write(&output, text, strlen(text));
	return output_commit(&output);
}

// ---- output ----

static void test_a_file_appears_when_it_is_complete(void **state) {
	struct output output;
	assert_int_equal(output_open(&output, in_folder("out"), OUTPUT_REPLACE), 0);
	assert_int_equal(output_write(&output, "half", 4), 0);
	assert_int_equal(access(in_folder("out"), F_OK), -1);
	assert_int_equal(folder_entries(), 1);
	assert_int_equal(output_write(&output, " and half", 9), 0);
	assert_int_equal(output_commit(&output), 0);
	assert_file(in_folder("out"), "half and half");
	assert_int_equal(folder_entries(), 1);
	assert_int_equal(output.written, 13);
}

static void test_an_abandoned_file_leaves_nothing(void **state) {
	struct output output;
	assert_int_equal(output_open(&output, in_folder("out"), OUTPUT_REPLACE), 0);
	output_write(&output, "half", 4);
	output_abandon(&output);
	assert_int_equal(folder_entries(), 0);
	output_abandon(&output);
}

static void test_replacing_keeps_the_old_file_until_the_new_one_is_complete(void **state) {
	put_file(in_folder("out"), "old", 3);
	struct output output;
	assert_int_equal(output_open(&output, in_folder("out"), OUTPUT_REPLACE), 0);
	output_write(&output, "new", 3);
	assert_file(in_folder("out"), "old");
	assert_int_equal(output_commit(&output), 0);
	assert_file(in_folder("out"), "new");
	assert_int_equal(folder_entries(), 1);
}

static int write_over(const char *path, int over, const char *text, size_t size) {
	struct output output;
	assert_int_equal(output_open_over(&output, path, &over), 0);
	output_write(&output, text, size);
	return output_commit(&output);
}

static void test_a_small_output_takes_over_a_file(void **state) {
	struct stat before, after;
	int over = open(in_folder("old"), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	assert_int_equal(write(over, "content", 7), 7);
	assert_int_equal(fstat(over, &before), 0);
	put_file(in_folder("there"), "mine", 4);
	assert_int_equal(write_over(in_folder("there"), over, "new", 3), -EEXIST);
	assert_file(in_folder("there"), "mine");
	assert_file(in_folder("old"), "content");
	assert_int_equal(write_over(in_folder("out"), over, "new", 3), 0);
	assert_file(in_folder("out"), "new");
	assert_int_equal(stat(in_folder("out"), &after), 0);
	assert_int_equal(after.st_ino, before.st_ino);
	close(over);
}

static void test_a_large_output_is_a_file_of_its_own(void **state) {
	enum { LARGE = 1 << 20 };
	CLEANUP_FREE char *text = memory_alloc(LARGE);
	int over = open(in_folder("old"), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
	struct stat made;
	assert_int_equal(write(over, "content", 7), 7);
	assert_int_equal(write_over(in_folder("out"), over, text, LARGE), 0);
	assert_file(in_folder("old"), "content");
	assert_int_equal(stat(in_folder("out"), &made), 0);
	assert_int_equal(made.st_size, LARGE);
	close(over);
}

static void test_creating_never_touches_what_exists(void **state) {
	put_file(in_folder("file"), "mine", 4);
	assert_int_equal(symlink("nowhere", in_folder("link")), 0);
	assert_int_equal(mkdir(in_folder("folder"), 0700), 0);
	assert_int_equal(write_text(in_folder("file"), "yours", OUTPUT_CREATE), -EEXIST);
	assert_int_equal(write_text(in_folder("link"), "yours", OUTPUT_CREATE), -EEXIST);
	assert_int_equal(write_text(in_folder("folder"), "yours", OUTPUT_CREATE), -EEXIST);
	assert_file(in_folder("file"), "mine");
	assert_int_equal(folder_entries(), 3);
	assert_int_equal(write_text(in_folder("new"), "yours", OUTPUT_CREATE), 0);
	assert_file(in_folder("new"), "yours");
}

static void test_one_of_two_creators_wins(void **state) {
	struct output first, second;
	assert_int_equal(output_open(&first, in_folder("out"), OUTPUT_CREATE), 0);
	assert_int_equal(output_open(&second, in_folder("out"), OUTPUT_CREATE), 0);
	output_write(&first, "first", 5);
	output_write(&second, "second", 6);
	assert_int_equal(output_commit(&second), 0);
	assert_int_equal(output_commit(&first), -EEXIST);
	assert_file(in_folder("out"), "second");
	assert_int_equal(folder_entries(), 1);
}

static void test_a_link_stays_and_its_file_is_replaced(void **state) {
	struct stat status;
	put_file(in_folder("file"), "old", 3);
	assert_int_equal(symlink("file", in_folder("link")), 0);
	assert_int_equal(write_text(in_folder("link"), "new", OUTPUT_REPLACE), 0);
	assert_file(in_folder("file"), "new");
	assert_int_equal(lstat(in_folder("link"), &status), 0);
	assert_true(S_ISLNK(status.st_mode));
	assert_int_equal(folder_entries(), 2);
}

static void test_a_device_is_written_to_and_not_replaced(void **state) {
	struct stat status;
	assert_int_equal(write_text("/dev/null", "gone", OUTPUT_REPLACE), 0);
	assert_int_equal(stat("/dev/null", &status), 0);
	assert_true(S_ISCHR(status.st_mode));
}

static void test_where_no_file_can_be_made_the_reason_is_reported(void **state) {
	struct output output;
	assert_int_equal(output_open(&output, in_folder("no/such/folder"), OUTPUT_REPLACE), -ENOENT);
	assert_int_equal(output_open(&output, aside_folder, OUTPUT_REPLACE), -EISDIR);
	put_file(in_folder("file"), "", 0);
	assert_int_equal(output_open(&output, in_folder("file/below"), OUTPUT_REPLACE), -ENOTDIR);
	assert_int_equal(folder_entries(), 1);
}

// A full disk: after the first failed write all others fail, and no file is left.
static void test_a_failed_write_is_reported_and_leaves_nothing(void **state) {
	enum { LIMIT = 100000, PIECE = 60000 };
	uint8_t *piece = memory_alloc(PIECE);
	struct rlimit before, limit;
	getrlimit(RLIMIT_FSIZE, &before);
	limit = (struct rlimit){.rlim_cur = LIMIT, .rlim_max = before.rlim_max};
	signal(SIGXFSZ, SIG_IGN);
	setrlimit(RLIMIT_FSIZE, &limit);
	struct output output;
	assert_int_equal(output_open(&output, in_folder("out"), OUTPUT_REPLACE), 0);
	int error = 0;
	for (int i = 0; i < 20 && !error; i++)
		error = output_write(&output, piece, PIECE);
	int later = output_write(&output, piece, PIECE);
	int last = output_commit(&output);
	setrlimit(RLIMIT_FSIZE, &before);
	signal(SIGXFSZ, SIG_DFL);
	assert_int_equal(error, -EFBIG);
	assert_int_equal(later, -EFBIG);
	assert_int_equal(last, -EFBIG);
	assert_int_equal(folder_entries(), 0);
	free(piece);
}

static void test_a_failed_write_to_a_device_is_reported_at_the_end(void **state) {
	if (access("/dev/full", W_OK))
		skip();
	assert_int_equal(write_text("/dev/full", "too much", OUTPUT_REPLACE), -ENOSPC);
}

static void test_a_large_buffer_goes_out_in_its_place(void **state) {
	struct output output;
	struct buffer small = {0}, large = {0};
	assert_int_equal(output_open(&output, in_folder("out"), OUTPUT_REPLACE), 0);
	buffer_append(&small, "begin", 5);
	for (int i = 0; i < 100000; i++)
		buffer_append(&large, "0123456789", 10);
	assert_int_equal(output_take(&output, &small), 0);
	assert_int_equal(output_take(&output, &large), 0);
	assert_int_equal(small.size + large.size, 0);
	assert_int_equal(output_write(&output, "end", 3), 0);
	assert_int_equal(output_commit(&output), 0);
	struct input input;
	assert_int_equal(input_open(&input, in_folder("out")), 0);
	assert_int_equal(input.size, 1000008);
	assert_memory_equal(input.data, "begin0123", 9);
	assert_memory_equal(input.data + input.size - 5, "89end", 5);
	input_close(&input);
	buffer_free(&small);
	buffer_free(&large);
}

// A pipe that accepts little at a time: each write is short.
static void test_short_writes_are_continued(void **state) {
	enum { SIZE = 1 << 20 };
	int ends[2];
	assert_int_equal(pipe(ends), 0);
	pid_t reader = fork();
	if (reader == 0) {
		close(ends[1]);
		static uint8_t piece[777];
		size_t sum = 0;
		for (ssize_t got; (got = read(ends[0], piece, sizeof(piece))) > 0;)
			for (ssize_t i = 0; i < got; i++, sum++)
				if (piece[i] != (uint8_t)(sum * 13 >> 2))
					_exit(2);
		_exit(sum == SIZE ? 0 : 1);
	}
	close(ends[0]);
	uint8_t *bytes = memory_alloc(SIZE);
	for (size_t i = 0; i < SIZE; i++)
		bytes[i] = (uint8_t)(i * 13 >> 2);
	assert_int_equal(file_write_all(ends[1], bytes, SIZE), 0);
	close(ends[1]);
	int status;
	assert_int_equal(waitpid(reader, &status, 0), reader);
	assert_int_equal(status, 0);
	assert_int_equal(file_write_all(-1, bytes, 1), -EBADF);
	free(bytes);
}

// ---- input ----

static void test_a_file_is_there_as_a_whole(void **state) {
	put_file(in_folder("file"), "content", 7);
	put_file(in_folder("empty"), "", 0);
	assert_file(in_folder("file"), "content");
	assert_file(in_folder("empty"), "");
	struct input input;
	assert_int_equal(input_open(&input, "/proc/self/stat"), 0); // claims to have no size
	assert_true(input.size > 10);
	input_close(&input);
	input_close(&input);
	assert_int_equal(input_open(&input, in_folder("missing")), -ENOENT);
	assert_int_equal(input_open(&input, aside_folder), -EISDIR);
}

static void test_only_a_terminal_is_a_terminal(void **state) {
	put_file(in_folder("file"), "", 0);
	assert_false(file_is_terminal(in_folder("file")));
	assert_false(file_is_terminal(in_folder("missing")));
	assert_false(file_is_terminal("/dev/null"));
	int terminal = posix_openpt(O_RDWR | O_NOCTTY);
	if (terminal < 0 || grantpt(terminal) || unlockpt(terminal))
		skip();
	assert_true(file_is_terminal(ptsname(terminal)));
	close(terminal);
}

// ---- words ----

// A name that someone else chose may lead to anything.
static void test_only_regular_files_are_opened(void **state) {
	struct stat found, opened;
	assert_int_equal(mkfifo(in_folder("fifo"), 0600), 0);
	assert_int_equal(file_open_regular(in_folder("fifo"), O_RDONLY), -EINVAL);
	assert_int_equal(file_open_regular("/dev/full", O_RDWR), -EINVAL);
	assert_int_equal(file_open_regular(in_folder("."), O_RDONLY), -EINVAL);
	assert_int_equal(file_open_regular("/proc/self/status", O_RDONLY), -ENODATA);
	assert_int_equal(file_open_regular(in_folder("there_is_none"), O_RDONLY), -ENOENT);
	assert_int_equal(write_text(in_folder("regular"), "text", OUTPUT_CREATE), 0);
	assert_int_equal(symlink("regular", in_folder("link")), 0);
	assert_int_equal(file_open_regular(in_folder("link"), O_RDONLY | O_NOFOLLOW), -EINVAL);
	int file = file_open_regular(in_folder("link"), O_RDWR);
	assert_true(file >= 0);
	assert_int_equal(fstat(file, &opened) | stat(in_folder("regular"), &found), 0);
	assert_int_equal(opened.st_ino, found.st_ino);
	close(file);
}

// The file that was found is opened, whatever its name refers to by then.
static void test_what_was_found_is_opened(void **state) {
	char text[8] = "";
	assert_int_equal(write_text(in_folder("before"), "old", OUTPUT_CREATE), 0);
	int there = file_find_regular(in_folder("before"), 0);
	assert_true(there >= 0);
	assert_int_equal(unlink(in_folder("before")) | mkfifo(in_folder("before"), 0600), 0);
	int file = file_open_found(there, O_RDONLY);
	assert_int_equal(read(file, text, sizeof(text)), 3);
	assert_string_equal(text, "old");
	close(file);
	close(there);
}

static void test_sizes_in_words(void **state) {
	static const struct {
		uint64_t size;
		const char *words;
	} cases[] = {
		{0, "0 bytes"},          {999, "999 bytes"},         {1000, "1.00 kB"},  {9994, "9.99 kB"},
		{9996, "10.0 kB"},       {12345, "12.3 kB"},         {999499, "999 kB"}, {999500, "1.00 MB"},
		{1234567890, "1.23 GB"}, {UINT64_MAX, "18446744 TB"}};
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		char text[16];
		assert_string_equal(file_size_words(cases[i].size, text), cases[i].words);
	}
}

static void test_a_device_that_never_ends(void **state) {
	struct input input;
	assert_int_equal(-EFBIG, input_open(&input, "/dev/zero"));
	assert_int_equal(0, input_open(&input, "/dev/null"));
	assert_int_equal(0, input.size);
	input_close(&input);
}

int main(void) {
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_device_that_never_ends),
		IN_FOLDER(test_a_file_appears_when_it_is_complete),
		IN_FOLDER(test_an_abandoned_file_leaves_nothing),
		IN_FOLDER(test_replacing_keeps_the_old_file_until_the_new_one_is_complete),
		IN_FOLDER(test_a_small_output_takes_over_a_file),
		IN_FOLDER(test_a_large_output_is_a_file_of_its_own),
		IN_FOLDER(test_creating_never_touches_what_exists),
		IN_FOLDER(test_one_of_two_creators_wins),
		IN_FOLDER(test_a_link_stays_and_its_file_is_replaced),
		IN_FOLDER(test_a_device_is_written_to_and_not_replaced),
		IN_FOLDER(test_where_no_file_can_be_made_the_reason_is_reported),
		IN_FOLDER(test_a_failed_write_is_reported_and_leaves_nothing),
		IN_FOLDER(test_a_failed_write_to_a_device_is_reported_at_the_end),
		IN_FOLDER(test_a_large_buffer_goes_out_in_its_place),
		IN_FOLDER(test_short_writes_are_continued),
		IN_FOLDER(test_a_file_is_there_as_a_whole),
		IN_FOLDER(test_only_a_terminal_is_a_terminal),
		IN_FOLDER(test_only_regular_files_are_opened),
		IN_FOLDER(test_what_was_found_is_opened),
		cmocka_unit_test(test_sizes_in_words),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
