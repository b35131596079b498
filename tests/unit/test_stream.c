#include "aside.h"

#include "base/stream.h"

#include <errno.h>
#include <sched.h>

static void assert_next(struct stream *stream, const char *bytes) {
	const uint8_t *at = stream_need(stream, strlen(bytes));
	assert_non_null(at);
	assert_memory_equal(at, bytes, strlen(bytes));
	stream_consume(stream, strlen(bytes));
}

static void test_bytes_come_in_order_and_are_counted(void **state) {
	put_file(in_folder("input"), "one two three", 13);
	struct stream stream;
	assert_int_equal(stream_open(&stream, in_folder("input")), 0);
	assert_int_equal(stream.total, 13);
	assert_next(&stream, "one ");
	assert_next(&stream, "two ");
	assert_int_equal(stream.offset, 8);
	assert_null(stream_need(&stream, 6));
	assert_int_equal(stream_available(&stream), 5);
	assert_next(&stream, "three");
	assert_null(stream_need(&stream, 1));
	assert_int_equal(stream.error, 0);
	stream_close(&stream);
}

// One byte at a time through a pipe: every read is short.
static void test_short_reads_are_put_together(void **state) {
	int ends[2];
	assert_int_equal(pipe(ends), 0);
	pid_t writer = fork();
	if (writer == 0) {
		for (const char *byte = "a whole line\n"; *byte; byte++) {
			if (write(ends[1], byte, 1) != 1)
				_exit(1);
			sched_yield();
		}
		_exit(0);
	}
	close(ends[1]);
	int stdin_before = dup(STDIN_FILENO);
	dup2(ends[0], STDIN_FILENO);
	close(ends[0]);
	struct stream stream;
	assert_int_equal(stream_open(&stream, "-"), 0);
	assert_int_equal(stream.total, 0);
	assert_next(&stream, "a whole line\n");
	assert_null(stream_need(&stream, 1));
	stream_close(&stream);
	assert_true(fcntl(STDIN_FILENO, F_GETFD) >= 0); // standard input is not ours to close
	dup2(stdin_before, STDIN_FILENO);
	close(stdin_before);
	assert_int_equal(waitpid(writer, NULL, 0), writer);
}

static void test_a_need_larger_than_a_piece_is_met(void **state) {
	enum { SIZE = 3000000 };
	uint8_t *bytes = memory_alloc(SIZE);
	for (size_t i = 0; i < SIZE; i++)
		bytes[i] = (uint8_t)(i * 31 >> 3);
	put_file(in_folder("input"), bytes, SIZE);
	struct stream stream;
	assert_int_equal(stream_open(&stream, in_folder("input")), 0);
	assert_memory_equal(stream_need(&stream, 10), bytes, 10);
	stream_consume(&stream, 7);
	assert_memory_equal(stream_need(&stream, SIZE - 7), bytes + 7, SIZE - 7);
	stream_consume(&stream, SIZE - 7);
	assert_null(stream_need(&stream, 1));
	stream_close(&stream);
	free(bytes);
}

static void test_memory_follows_what_was_read_not_what_was_asked(void **state) {
	put_file(in_folder("input"), "short", 5);
	struct stream stream;
	assert_int_equal(stream_open(&stream, in_folder("input")), 0);
	assert_null(stream_need(&stream, SIZE_MAX));
	assert_null(stream_need(&stream, (size_t)1 << 40));
	assert_true(stream.capacity < 1 << 20);
	assert_next(&stream, "short");
	stream_close(&stream);
}

static void test_a_long_input_in_small_steps_needs_little_memory(void **state) {
	enum { SIZE = 8 << 20, STEP = 1000 };
	uint8_t *bytes = memory_alloc(SIZE);
	put_file(in_folder("input"), bytes, SIZE);
	free(bytes);
	struct stream stream;
	assert_int_equal(stream_open(&stream, in_folder("input")), 0);
	while (stream_need(&stream, STEP))
		stream_consume(&stream, STEP);
	assert_int_equal(stream.offset + stream_available(&stream), SIZE);
	assert_true(stream.capacity <= 1 << 20);
	stream_close(&stream);
}

static void test_memory_is_an_input_too(void **state) {
	char bytes[] = "abcdef";
	struct stream stream;
	stream_of_memory(&stream, bytes, 6);
	memset(bytes, 'x', 6);
	assert_next(&stream, "abc");
	assert_null(stream_need(&stream, 4));
	assert_next(&stream, "def");
	stream_close(&stream);
	stream_of_memory(&stream, NULL, 0);
	assert_null(stream_need(&stream, 1));
	stream_close(&stream);
}

static void test_what_cannot_be_opened_says_why(void **state) {
	struct stream stream;
	assert_int_equal(stream_open(&stream, in_folder("missing")), -ENOENT);
	assert_int_equal(stream_open(&stream, aside_folder), -EISDIR);
}

static void test_a_failed_read_is_remembered(void **state) {
	struct stream stream;
	assert_int_equal(stream_open(&stream, "/proc/self/mem"), 0); // nothing is mapped at 0
	assert_null(stream_need(&stream, 1));
	assert_int_equal(stream.error, -EIO);
	stream_close(&stream);
}

int main(void) {
	const struct CMUnitTest tests[] = {
		IN_FOLDER(test_bytes_come_in_order_and_are_counted),
		IN_FOLDER(test_short_reads_are_put_together),
		IN_FOLDER(test_a_need_larger_than_a_piece_is_met),
		IN_FOLDER(test_memory_follows_what_was_read_not_what_was_asked),
		IN_FOLDER(test_a_long_input_in_small_steps_needs_little_memory),
		IN_FOLDER(test_memory_is_an_input_too),
		IN_FOLDER(test_what_cannot_be_opened_says_why),
		IN_FOLDER(test_a_failed_read_is_remembered),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
