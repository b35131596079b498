#include "unit.h"

#include "base/array.h"
#include "base/map.h"

static void test_an_empty_map_has_nothing(void **state) {
	struct map map = {0};
	assert_null(map_get(&map, 0));
	assert_false(map_delete(&map, 0));
	map_free(&map);
}

static void test_a_new_key_has_value_zero(void **state) {
	struct map map = {0};
	assert_int_equal(*map_put(&map, 0), 0);
	*map_put(&map, 0) = 7;
	assert_int_equal(*map_put(&map, 0), 7);
	assert_int_equal(*map_put(&map, UINT64_MAX), 0);
	assert_int_equal(map.count, 2);
	map_free(&map);
	assert_null(map_get(&map, 0));
}

static void test_entries_stay_while_the_map_grows(void **state) {
	struct map map = {0};
	for (uint64_t key = 0; key < 100000; key++)
		*map_put(&map, key << 32) = key;
	assert_int_equal(map.count, 100000);
	for (uint64_t key = 0; key < 100000; key++) {
		assert_int_equal(*map_get(&map, key << 32), key);
		assert_null(map_get(&map, key << 32 | 1));
	}
	map_free(&map);
}

// Keys that all map to the last slot of the smallest table: their run wraps around.
static void test_keys_of_one_slot_are_distinguished_and_survive_deletion(void **state) {
	enum { SLOTS = 16, KEYS = 8 };
	uint64_t keys[KEYS];
	for (uint64_t key = 1, found = 0; found < KEYS; key++)
		if ((hash_u64(key) & (SLOTS - 1)) == SLOTS - 1)
			keys[found++] = key;
	for (size_t gone = 0; gone < KEYS; gone++) {
		struct map map = {0};
		for (size_t i = 0; i < KEYS; i++)
			*map_put(&map, keys[i]) = i;
		assert_int_equal(map.capacity, SLOTS);
		assert_true(map_delete(&map, keys[gone]));
		for (size_t i = 0; i < KEYS; i++) {
			uint64_t *value = map_get(&map, keys[i]);
			assert_true(i == gone ? !value : value && *value == i);
		}
		map_free(&map);
	}
}

// Compared with a plain table, with so few keys that runs meet and wrap all the time.
static void test_a_random_history_is_the_same_as_in_a_table(void **state) {
	enum { KEYS = 40 };
	struct map map = {0};
	uint64_t expected[KEYS] = {0}, random = 1;
	bool there[KEYS] = {0};
	for (uint64_t step = 0; step < 200000; step++) {
		random = random * 6364136223846793005u + 1442695040888963407u;
		uint64_t key = random >> 33 & 0xffff;
		size_t index = key % KEYS;
		if (random >> 60 < 8) {
			*map_put(&map, index) = step;
			expected[index] = step;
			there[index] = true;
		} else {
			assert_int_equal(map_delete(&map, index), there[index]);
			there[index] = false;
		}
		index = (index + step) % KEYS;
		uint64_t *value = map_get(&map, index);
		assert_int_equal(value != NULL, there[index]);
		assert_true(!value || *value == expected[index]);
	}
	size_t count = 0;
	for (size_t i = 0; i < KEYS; i++)
		count += there[i];
	assert_int_equal(map.count, count);
	map_free(&map);
}

static void test_hashes_distinguish_lengths_and_bytes(void **state) {
	static const char zeros[24];
	for (size_t size = 1; size <= sizeof(zeros); size++)
		assert_true(hash_bytes(zeros, size) != hash_bytes(zeros, size - 1));
	assert_true(hash_bytes("abcdefgh1", 9) != hash_bytes("abcdefgh2", 9));
	static const char shifted[] = "xabcdefgh";
	assert_true(hash_bytes("abcdefgh", 8) == hash_bytes(&shifted[1], 8));
}

int main(void) {
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_an_empty_map_has_nothing),
		cmocka_unit_test(test_a_new_key_has_value_zero),
		cmocka_unit_test(test_entries_stay_while_the_map_grows),
		cmocka_unit_test(test_keys_of_one_slot_are_distinguished_and_survive_deletion),
		cmocka_unit_test(test_a_random_history_is_the_same_as_in_a_table),
		cmocka_unit_test(test_hashes_distinguish_lengths_and_bytes),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
