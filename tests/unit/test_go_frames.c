// Unwind rows from Go's table of functions, built by hand: a function that moves the stack pointer, one that
// switches stacks, one that Go marks as the outermost.
#include "aside.h"

#include "base/buffer.h"
#include "symbol/go_frames.h"
#include "symbol/unwind.h"

#include <string.h>

enum {
	TEXT = 0x401000,
	HEADER = 72,
	NAMES = HEADER,
	NUMBERS = 128,
	FUNCTIONS = 160,
	RECORDS = 64,
	RECORD = 48
};

static const char names[] = "main.work\0runtime.mcall\0runtime.goexit";
// The distance is 0 for 4 bytes, 24 for 16 bytes, 0 for 12 bytes; then, for the others, 0 for 32 bytes.
static const uint8_t numbers[] = {0, 2, 4, 48, 16, 47, 12, 0, 2, 32, 0};

static void put(uint8_t *table, size_t at, uint64_t value, size_t size) {
	memcpy(table + at, &value, size);
}

// 32 bytes of code each. `start_line` is what Go 1.20 added before the flags.
static size_t build(uint8_t *table, uint32_t magic, uint64_t text) {
	static const struct {
		uint32_t name, distances;
		uint8_t flags;
	} functions[] = {{0, 1, 0}, {10, 8, 0}, {24, 8, 1}};
	size_t flags = magic == 0xfffffff0 ? 37 : 41;
	memset(table, 0, 512);
	put(table, 0, magic, 4);
	put(table, 6, 1, 1);
	put(table, 7, 8, 1);
	put(table, 8, 3, 8);
	put(table, 24, text, 8);
	put(table, 32, NAMES, 8);
	put(table, 56, NUMBERS, 8);
	put(table, 64, FUNCTIONS, 8);
	memcpy(table + NAMES, names, sizeof(names));
	memcpy(table + NUMBERS, numbers, sizeof(numbers));
	for (uint32_t i = 0; i < 3; i++) {
		size_t record = FUNCTIONS + RECORDS + i * RECORD;
		put(table, FUNCTIONS + i * 8, i * 32, 4);
		put(table, FUNCTIONS + i * 8 + 4, RECORDS + i * RECORD, 4);
		put(table, record, i * 32, 4);
		put(table, record + 4, functions[i].name, 4);
		put(table, record + 16, functions[i].distances, 4);
		put(table, record + flags, functions[i].flags, 1);
	}
	put(table, FUNCTIONS + 3 * 8, 3 * 32, 4);
	return FUNCTIONS + RECORDS + 3 * RECORD;
}

static void expect_rows(uint32_t magic, uint64_t text_of_table, uint64_t text_of_file) {
	uint8_t bytes[512];
	struct buffer frames = {0};
	struct unwind_row row;
	size_t size = build(bytes, magic, text_of_table);
	assert_true(go_frames(bytes, size, text_of_file, &frames));
	struct unwind_table *table = unwind_table_of_both(NULL, 0, 0, frames.data, frames.size);
	assert_non_null(table);
	static const struct {
		uint64_t at;
		int32_t offset;
	} places[] = {{0, 8}, {3, 8}, {4, 32}, {19, 32}, {20, 8}, {31, 8}};
	for (size_t i = 0; i < ARRAY_SIZE(places); i++) {
		assert_true(unwind_row_at(table, TEXT + places[i].at, &row));
		assert_int_equal(row.cfa_offset, places[i].offset);
		assert_int_equal(row.return_offset, -1);
		assert_false(row.registers & UNWIND_OUTERMOST);
	}
	assert_true(unwind_row_at(table, TEXT + 40, &row));
	assert_true(row.registers & UNWIND_OUTERMOST);
	assert_true(unwind_row_at(table, TEXT + 72, &row));
	assert_true(row.registers & UNWIND_OUTERMOST);
	assert_false(unwind_row_at(table, TEXT + 96, &row));
	unwind_table_free(table);
	buffer_free(&frames);
}

static void test_rows_follow_the_stack_pointer(void **state) {
	expect_rows(0xfffffff0, TEXT, 0);
}

static void test_a_later_version_has_its_flags_elsewhere(void **state) {
	expect_rows(0xfffffff1, TEXT, 0);
}

static void test_a_program_for_any_address_has_the_address_of_its_section(void **state) {
	expect_rows(0xfffffff1, 0, TEXT);
}

static void test_other_versions_are_not_read(void **state) {
	uint8_t bytes[512];
	struct buffer frames = {0};
	size_t size = build(bytes, 0xfffffffb, TEXT); // Go 1.2
	assert_false(go_frames(bytes, size, TEXT, &frames));
	buffer_free(&frames);
}

// Whatever is wrong with the table: no byte outside of it is read, which the sanitizers see.
static void test_a_damaged_table_does_no_harm(void **state) {
	uint8_t bytes[512];
	size_t size = build(bytes, 0xfffffff1, TEXT);
	for (size_t at = 0; at < size * 3; at++) {
		build(bytes, 0xfffffff1, TEXT);
		size_t left = at < size ? at : size;
		if (at >= size)
			bytes[at % size] = at < 2 * size ? 0xff : (uint8_t)(bytes[at % size] ^ 0x41);
		uint8_t *copy = memory_alloc(left + !left);
		struct buffer frames = {0};
		memcpy(copy, bytes, left);
		go_frames(copy, left, TEXT, &frames);
		if (frames.size)
			unwind_table_free(unwind_table_of_both(NULL, 0, 0, frames.data, frames.size));
		buffer_free(&frames);
		free(copy);
	}
}

int main(void) {
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_rows_follow_the_stack_pointer),
		cmocka_unit_test(test_a_later_version_has_its_flags_elsewhere),
		cmocka_unit_test(test_a_program_for_any_address_has_the_address_of_its_section),
		cmocka_unit_test(test_other_versions_are_not_read),
		cmocka_unit_test(test_a_damaged_table_does_no_harm),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
