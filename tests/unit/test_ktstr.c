// Traces in streams from ktstr's guests, by its rules.
#include "aside.h"
#include "sample_trace.h"

#include "guest/host/ktstr.h"

#include <errno.h>
#include <zlib.h>

enum { CHUNK = KTSTR_FAMILY | 'C', OUTPUT = 0x534f5554 };

static void frame(struct buffer *stream, uint32_t type, const void *payload, size_t size) {
	uint32_t header[4] = {type, (uint32_t)size, (uint32_t)crc32(0, payload, (unsigned)size), 0};
	buffer_append(stream, header, sizeof(header));
	buffer_append(stream, payload, size);
}

// Reads and frees the stream; the trace must be `expected`, or missing.
static void check_stream(struct buffer *bytes, int error, const char *expected) {
	struct stream input;
	struct output output;
	struct ktstr_result result;
	struct input written;
	stream_of_memory(&input, bytes->data, bytes->size);
	assert_int_equal(output_open(&output, in_folder("out"), OUTPUT_REPLACE), 0);
	assert_int_equal(ktstr_read(&input, &(struct ktstr_options){.most = 100}, &output, &result), error);
	if (!error) {
		assert_int_equal(output_commit(&output), 0);
		assert_int_equal(input_open(&written, in_folder("out")), 0);
		assert_int_equal(written.size, strlen(expected));
		assert_memory_equal(written.data, expected, written.size);
		input_close(&written);
	} else {
		assert_true(*result.why);
	}
	output_abandon(&output);
	stream_close(&input);
	buffer_free(bytes);
}

static void test_chunks_are_joined_up_to_the_last_frame(void **state) {
	struct buffer stream = {0};
	frame(&stream, OUTPUT, "hello", 5);
	frame(&stream, CHUNK, "ab", 2);
	frame(&stream, OUTPUT, "world", 5);
	stream.data[stream.size - 1] ^= 1; // damage in another stream does not matter
	frame(&stream, CHUNK, "cd", 2);
	frame(&stream, KTSTR_LAST, "e", 1);
	frame(&stream, CHUNK, "f", 1);
	frame(&stream, KTSTR_LAST, "g", 1);
	check_stream(&stream, 0, "abcde");
}

static void test_a_small_trace_is_one_frame(void **state) {
	struct buffer stream = {0};
	frame(&stream, KTSTR_LAST, "abc", 3);
	check_stream(&stream, 0, "abc");
}

static void test_without_a_last_frame_there_is_no_trace(void **state) {
	struct buffer stream = {0};
	check_stream(&stream, -ENODATA, NULL);
	frame(&stream, CHUNK, "ab", 2);
	check_stream(&stream, -ENODATA, NULL);
	stream = (struct buffer){0};
	frame(&stream, KTSTR_LAST, "", 0);
	check_stream(&stream, -ENODATA, NULL);
	stream = (struct buffer){0};
	frame(&stream, KTSTR_LAST, "abc", 3);
	stream.size--;
	check_stream(&stream, -ENODATA, NULL);
}

static void test_one_damaged_frame_is_no_trace(void **state) {
	struct buffer stream = {0};
	frame(&stream, CHUNK, "ab", 2);
	stream.data[stream.size - 1] ^= 1;
	frame(&stream, KTSTR_LAST, "c", 1);
	check_stream(&stream, -EBADMSG, NULL);
}

static void test_lengths_are_bounded(void **state) {
	struct buffer stream = {0};
	uint32_t huge[4] = {KTSTR_LAST, KTSTR_PAYLOAD_MOST + 1, 0, 0};
	buffer_append(&stream, huge, sizeof(huge));
	check_stream(&stream, -EFBIG, NULL);
	stream = (struct buffer){0};
	static const char zeros[60];
	frame(&stream, CHUNK, zeros, sizeof(zeros));
	frame(&stream, KTSTR_LAST, zeros, sizeof(zeros));
	check_stream(&stream, -EFBIG, NULL);
}

static void test_only_a_good_trace_becomes_a_file(void **state) {
	struct buffer trace = {0}, stream = {0};
	struct ktstr_result result;
	struct ktstr_options options = {0};
	sample_trace(&trace);
	frame(&stream, CHUNK, trace.data, 10);
	frame(&stream, KTSTR_LAST, trace.data + 10, trace.size - 10);
	put_file(in_folder("stream"), stream.data, stream.size);
	assert_int_equal(ktstr_import(in_folder("stream"), in_folder("good.pb"), &options, &result), 0);
	assert_int_equal(access(in_folder("good.pb"), F_OK), 0);
	stream.size = 0;
	frame(&stream, KTSTR_LAST, trace.data, trace.size - 1);
	put_file(in_folder("stream"), stream.data, stream.size);
	assert_int_not_equal(ktstr_import(in_folder("stream"), in_folder("bad.pb"), &options, &result), 0);
	assert_int_not_equal(access(in_folder("bad.pb"), F_OK), 0);
	assert_int_not_equal(access(in_folder("bad.pb.incoming"), F_OK), 0);
	buffer_free(&trace);
	buffer_free(&stream);
}

int main(void) {
	const struct CMUnitTest tests[] = {
		IN_FOLDER(test_chunks_are_joined_up_to_the_last_frame),
		IN_FOLDER(test_a_small_trace_is_one_frame),
		IN_FOLDER(test_without_a_last_frame_there_is_no_trace),
		IN_FOLDER(test_one_damaged_frame_is_no_trace),
		IN_FOLDER(test_lengths_are_bounded),
		IN_FOLDER(test_only_a_good_trace_becomes_a_file),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
