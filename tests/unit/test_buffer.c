#include "aside.h"

#include "base/array.h"
#include "base/buffer.h"
#include "base/cursor.h"

static void assert_bytes(struct buffer *buffer, const char *bytes, size_t size) {
	assert_int_equal(buffer->size, size);
	assert_memory_equal(buffer->data, bytes, size);
	buffer_free(buffer);
}
#define ASSERT_BYTES(buffer, bytes) assert_bytes(buffer, bytes, sizeof(bytes) - 1)

// ---- bytes ----

static void test_bytes_stay_while_the_buffer_grows(void **state) {
	struct buffer buffer = {0};
	for (unsigned i = 0; i < 100000; i++)
		buffer_append(&buffer, &(uint8_t){(uint8_t)(i * 7)}, 1);
	assert_int_equal(buffer.size, 100000);
	for (unsigned i = 0; i < 100000; i++)
		assert_int_equal(buffer.data[i], (uint8_t)(i * 7));
	buffer_free(&buffer);
	assert_null(buffer.data);
}

static void test_nothing_is_appended_from_nowhere(void **state) {
	struct buffer buffer = {0};
	buffer_append(&buffer, NULL, 0);
	assert_int_equal(buffer.size, 0);
	assert_null(buffer.data);
}

static void test_printf_takes_any_length(void **state) {
	struct buffer buffer = {0};
	buffer_printf(&buffer, "%s", "");
	assert_int_equal(buffer.size, 0);
	buffer_printf(&buffer, "%0500d", 7);
	buffer_printf(&buffer, "-%u", 8);
	assert_int_equal(buffer.size, 502);
	assert_memory_equal(buffer.data + 498, "07-8", 4);
	buffer_free(&buffer);
}

static void ask_for_everything(void) {
	struct buffer buffer = {0};
	buffer_append(&buffer, "x", 1);
	buffer_room(&buffer, SIZE_MAX);
}

static void test_a_size_that_overflows_ends_the_program(void **state) {
	assert_true(aborts(ask_for_everything));
}

// ---- varints and fields ----

static void test_varints_have_the_bytes_they_need(void **state) {
	static const struct {
		uint64_t value;
		size_t size;
	} cases[] = {{0, 1},     {127, 1},        {128, 2},         {16383, 2},
		     {16384, 3}, {UINT32_MAX, 5}, {1ull << 63, 10}, {UINT64_MAX, 10}};
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct buffer buffer = {0};
		buffer_varint(&buffer, cases[i].value);
		assert_int_equal(buffer.size, cases[i].size);
		struct cursor cursor = cursor_of(buffer.data, buffer.size);
		assert_true(cursor_varint(&cursor) == cases[i].value);
		assert_false(cursor.failed);
		assert_int_equal(cursor_left(&cursor), 0);
		buffer_free(&buffer);
	}
}

static void test_fields_are_as_protobuf_has_them(void **state) {
	struct buffer buffer = {0};
	proto_uint(&buffer, 1, 150);
	ASSERT_BYTES(&buffer, "\x08\x96\x01");
	proto_string(&buffer, 2, "testing");
	ASSERT_BYTES(&buffer, "\x12\x07testing");
	proto_int(&buffer, 1, -2);
	ASSERT_BYTES(&buffer, "\x08\xfe\xff\xff\xff\xff\xff\xff\xff\xff\x01");
	proto_fixed64(&buffer, 16, 0x0102030405060708);
	ASSERT_BYTES(&buffer, "\x81\x01\x08\x07\x06\x05\x04\x03\x02\x01");
	proto_double(&buffer, 1, 1.0);
	ASSERT_BYTES(&buffer, "\x09\0\0\0\0\0\0\xf0\x3f");
	proto_bytes(&buffer, 3, "\0\xff", 2);
	ASSERT_BYTES(&buffer, "\x1a\x02\0\xff");
}

// ---- nested messages ----

static void test_an_empty_message_has_length_zero(void **state) {
	struct buffer buffer = {0};
	proto_end(&buffer, proto_begin(&buffer, 1));
	ASSERT_BYTES(&buffer, "\x0a\0");
}

// Around each size at which the length needs another byte.
static void test_the_length_of_a_message_grows_with_it(void **state) {
	static const size_t sizes[] = {1, 127, 128, 129, 16383, 16384, 16385, 2097151, 2097152};
	for (size_t i = 0; i < ARRAY_SIZE(sizes); i++) {
		struct buffer buffer = {0};
		size_t mark = proto_begin(&buffer, 1);
		memset(buffer_room(&buffer, sizes[i]), 'x', sizes[i]);
		buffer.data[buffer.size] = 'a';
		buffer.data[buffer.size + sizes[i] - 1] = 'z';
		buffer.size += sizes[i];
		proto_end(&buffer, mark);
		struct cursor cursor = cursor_of(buffer.data, buffer.size);
		assert_int_equal(cursor_u8(&cursor), 0x0a);
		assert_int_equal(cursor_varint(&cursor), sizes[i]);
		assert_int_equal(cursor_left(&cursor), sizes[i]);
		assert_int_equal(cursor.at[0], sizes[i] == 1 ? 'z' : 'a');
		assert_int_equal(cursor.end[-1], 'z');
		buffer_free(&buffer);
	}
}

static void test_messages_nest(void **state) {
	enum { DEPTH = 100 };
	struct buffer buffer = {0};
	size_t marks[DEPTH];
	for (size_t i = 0; i < DEPTH; i++)
		marks[i] = proto_begin(&buffer, 2);
	proto_string(&buffer, 1, "inside");
	for (size_t i = DEPTH; i-- > 0;)
		proto_end(&buffer, marks[i]);
	struct cursor cursor = cursor_of(buffer.data, buffer.size);
	for (size_t i = 0; i < DEPTH; i++) {
		assert_int_equal(cursor_u8(&cursor), 2 << 3 | PROTO_BYTES);
		uint64_t length = cursor_varint(&cursor);
		assert_int_equal(length, cursor_left(&cursor));
	}
	assert_int_equal(cursor_u8(&cursor), 1 << 3 | PROTO_BYTES);
	assert_int_equal(cursor_u8(&cursor), 6);
	assert_memory_equal(cursor.at, "inside", 6);
	buffer_free(&buffer);
}

// ---- arrays ----

static void test_an_array_keeps_its_items_while_it_grows(void **state) {
	ARRAY(uint64_t) numbers = {0};
	for (uint64_t i = 0; i < 10000; i++)
		array_push(&numbers, i * i);
	assert_int_equal(numbers.count, 10000);
	for (uint64_t i = 0; i < 10000; i++)
		assert_int_equal(numbers.items[i], i * i);
	array_free(&numbers);
	assert_int_equal(numbers.count + numbers.capacity, 0);
	assert_null(numbers.items);
}

static void test_reserving_less_than_there_is_changes_nothing(void **state) {
	ARRAY(uint8_t) bytes = {0};
	array_reserve(&bytes, 100);
	uint8_t *items = bytes.items;
	array_reserve(&bytes, 5);
	assert_ptr_equal(bytes.items, items);
	assert_true(bytes.capacity >= 100);
	assert_int_equal(bytes.count, 0);
	array_free(&bytes);
}

static void reserve_everything(void) {
	ARRAY(uint64_t) numbers = {0};
	array_reserve(&numbers, SIZE_MAX / 4);
	array_push(&numbers, 1);
}

static void test_items_whose_size_overflows_end_the_program(void **state) {
	assert_true(aborts(reserve_everything));
}

// ---- memory ----

static void test_numbers_are_written_with_all_their_digits(void **state) {
	struct buffer buffer = {0};
	buffer_decimal(&buffer, 0);
	buffer_text(&buffer, ",");
	buffer_decimal(&buffer, 1090);
	buffer_text(&buffer, ",");
	buffer_decimal(&buffer, UINT64_MAX);
	buffer_append(&buffer, "", 1);
	assert_string_equal((char *)buffer.data, "0,1090,18446744073709551615");
	buffer_free(&buffer);
}

static void test_memory_is_zeroed_and_there_even_for_nothing(void **state) {
	uint8_t *memory = memory_alloc(1000);
	for (size_t i = 0; i < 1000; i++)
		assert_int_equal(memory[i], 0);
	memory = memory_resize(memory, 0);
	assert_non_null(memory);
	free(memory);
	CLEANUP_FREE void *nothing = memory_alloc(0);
	assert_non_null(nothing);
}

static void test_formatted_text_has_the_room_it_needs(void **state) {
	CLEANUP_FREE char *text = memory_format("%s/%05d%s", "a", 42, ".pb");
	assert_string_equal(text, "a/00042.pb");
	CLEANUP_FREE char *empty = memory_format("%s", "");
	assert_string_equal(empty, "");
	CLEANUP_FREE char *copy = memory_string(text);
	assert_string_equal(copy, text);
}

int main(void) {
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_bytes_stay_while_the_buffer_grows),
		cmocka_unit_test(test_nothing_is_appended_from_nowhere),
		cmocka_unit_test(test_printf_takes_any_length),
		cmocka_unit_test(test_a_size_that_overflows_ends_the_program),
		cmocka_unit_test(test_varints_have_the_bytes_they_need),
		cmocka_unit_test(test_fields_are_as_protobuf_has_them),
		cmocka_unit_test(test_an_empty_message_has_length_zero),
		cmocka_unit_test(test_the_length_of_a_message_grows_with_it),
		cmocka_unit_test(test_messages_nest),
		cmocka_unit_test(test_an_array_keeps_its_items_while_it_grows),
		cmocka_unit_test(test_reserving_less_than_there_is_changes_nothing),
		cmocka_unit_test(test_items_whose_size_overflows_end_the_program),
		cmocka_unit_test(test_numbers_are_written_with_all_their_digits),
		cmocka_unit_test(test_memory_is_zeroed_and_there_even_for_nothing),
		cmocka_unit_test(test_formatted_text_has_the_room_it_needs),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
