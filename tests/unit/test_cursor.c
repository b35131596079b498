// Each cursor function is asked for what is there, and for one byte more.
#include "unit.h"

#include "base/cursor.h"
#include "base/memory.h"

static const uint8_t bytes[] = {0x01, 0x82, 0x03, 0x84, 0x05, 0x86, 0x07, 0x88};

static void test_integers_are_little_endian(void **state) {
	struct cursor cursor = cursor_of(bytes, sizeof(bytes));
	assert_int_equal(cursor_u8(&cursor), 0x01);
	assert_int_equal(cursor_u16(&cursor), 0x0382);
	assert_int_equal(cursor_u32(&cursor), 0x07860584);
	assert_int_equal(cursor_left(&cursor), 1);
	cursor = cursor_of(bytes, sizeof(bytes));
	assert_true(cursor_u64(&cursor) == 0x8807860584038201);
	assert_false(cursor.failed);
}

static uint64_t take_u8(struct cursor *cursor) {
	return cursor_u8(cursor);
}
static uint64_t take_u16(struct cursor *cursor) {
	return cursor_u16(cursor);
}
static uint64_t take_u32(struct cursor *cursor) {
	return cursor_u32(cursor);
}

static void test_past_the_end_every_integer_is_zero_and_failed(void **state) {
	static const struct {
		uint64_t (*take)(struct cursor *);
		size_t size;
	} readers[] = {{take_u8, 1}, {take_u16, 2}, {take_u32, 4}, {cursor_u64, 8}};
	for (size_t i = 0; i < ARRAY_SIZE(readers); i++) {
		for (size_t size = 0; size < readers[i].size; size++) {
			struct cursor cursor = cursor_of(bytes, size);
			assert_true(readers[i].take(&cursor) == 0);
			assert_true(cursor.failed);
			assert_ptr_equal(cursor.at, cursor.end);
		}
		struct cursor enough = cursor_of(bytes, readers[i].size);
		assert_true(readers[i].take(&enough) != 0);
		assert_false(enough.failed);
	}
}

static void test_a_failed_cursor_gives_nothing_more(void **state) {
	struct cursor cursor = cursor_of(bytes, sizeof(bytes));
	assert_null(cursor_take(&cursor, sizeof(bytes) + 1));
	assert_int_equal(cursor_u8(&cursor), 0);
	assert_null(cursor_take(&cursor, 0));
	assert_null(cursor_string(&cursor));
	struct cursor slice = cursor_slice(&cursor, 0);
	assert_true(slice.failed);
	uint8_t copy[4] = {1, 2, 3, 4};
	cursor_copy(&cursor, copy, sizeof(copy));
	assert_memory_equal(copy, "\0\0\0\0", 4);
}

static void test_a_hostile_size_does_not_wrap_around(void **state) {
	struct cursor cursor = cursor_of(bytes, sizeof(bytes));
	assert_null(cursor_take(&cursor, SIZE_MAX));
	cursor = cursor_of(bytes, sizeof(bytes));
	struct cursor slice = cursor_slice(&cursor, (size_t)0 - 8);
	assert_true(cursor.failed && slice.failed);
	assert_int_equal(cursor_left(&slice), 0);
}

static void test_a_slice_ends_where_its_end_was_recorded(void **state) {
	struct cursor cursor = cursor_of(bytes, sizeof(bytes));
	struct cursor slice = cursor_slice(&cursor, 3);
	assert_int_equal(cursor_left(&slice), 3);
	assert_int_equal(cursor_left(&cursor), 5);
	cursor_u32(&slice);
	assert_true(slice.failed);
	assert_false(cursor.failed);
	assert_int_equal(cursor_u8(&cursor), 0x84);
}

static void test_a_varint_ends_with_its_input(void **state) {
	static const uint8_t endless[] = {0x80, 0x80, 0x80};
	struct cursor cursor = cursor_of(endless, sizeof(endless));
	assert_true(cursor_varint(&cursor) == 0);
	assert_true(cursor.failed);
}

static void test_a_varint_has_at_most_ten_bytes(void **state) {
	uint8_t long_one[11];
	memset(long_one, 0x80, sizeof(long_one));
	long_one[10] = 1;
	struct cursor cursor = cursor_of(long_one, sizeof(long_one));
	assert_true(cursor_varint(&cursor) == 0);
	assert_true(cursor.failed);
	static const uint8_t largest[] = {0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x01};
	cursor = cursor_of(largest, sizeof(largest));
	assert_true(cursor_varint(&cursor) == UINT64_MAX);
	assert_false(cursor.failed);
}

static void test_a_string_needs_its_end_inside_the_input(void **state) {
	struct cursor cursor = cursor_of("ab\0cd", 5);
	assert_string_equal(cursor_string(&cursor), "ab");
	assert_null(cursor_string(&cursor));
	assert_true(cursor.failed);
	cursor = cursor_of("", 1);
	assert_string_equal(cursor_string(&cursor), "");
	assert_null(cursor_string(&cursor));
}

int main(void) {
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_integers_are_little_endian),
		cmocka_unit_test(test_past_the_end_every_integer_is_zero_and_failed),
		cmocka_unit_test(test_a_failed_cursor_gives_nothing_more),
		cmocka_unit_test(test_a_hostile_size_does_not_wrap_around),
		cmocka_unit_test(test_a_slice_ends_where_its_end_was_recorded),
		cmocka_unit_test(test_a_varint_ends_with_its_input),
		cmocka_unit_test(test_a_varint_has_at_most_ten_bytes),
		cmocka_unit_test(test_a_string_needs_its_end_inside_the_input),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
