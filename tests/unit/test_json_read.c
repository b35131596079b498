#include "unit.h"

#include "base/json_copy.h"
#include "base/json_read.h"

static struct json_reader reader_of(const char *text) {
	return json_from(text, strlen(text));
}

static void test_members_and_items_are_read_in_turn(void **state) {
	struct json_reader reader = reader_of(" { \"a\" : [1, 2,3] ,\"b\":{}, \"c\":true } ");
	struct json_piece key;
	uint64_t sum = 0;
	assert_true(json_enter(&reader, '{'));
	assert_true(json_member(&reader, &key));
	assert_true(json_is(&key, "a"));
	assert_true(json_enter(&reader, '['));
	while (json_item(&reader))
		sum = sum * 10 + json_read_uint(&reader);
	assert_int_equal(123, sum);
	assert_true(json_member(&reader, &key));
	assert_true(json_is(&key, "b"));
	json_skip(&reader);
	assert_true(json_member(&reader, &key));
	assert_true(json_is(&key, "c"));
	assert_true(json_read_bool(&reader));
	assert_false(json_member(&reader, &key));
	assert_false(reader.failed);
}

static void test_numbers_are_what_they_are_or_the_largest(void **state) {
	static const struct {
		const char *text;
		uint64_t value;
		bool failed;
	} cases[] = {
		{"0", 0, false},
		{"18446744073709551615", UINT64_MAX, false},
		{"18446744073709551616", UINT64_MAX, false},
		{"1.5e3", 1500, false},
		{"1e300", UINT64_MAX, false},
		{"-1", 0, true},
		{"12x", 0, true},
		{"", 0, true},
		{"\"1\"", 0, true},
	};
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct json_reader reader = reader_of(cases[i].text);
		uint64_t value = json_read_uint(&reader);
		assert_int_equal(cases[i].failed, reader.failed);
		if (!cases[i].failed)
			assert_true(cases[i].value == value);
	}
}

static void test_integers_have_a_sign_and_two_ends(void **state) {
	static const struct {
		const char *text;
		int64_t value;
		bool failed;
	} cases[] = {
		{"-1700000000123456789", -1700000000123456789, false},
		{"9223372036854775807", INT64_MAX, false},
		{"9223372036854775808", INT64_MAX, false},
		{"-9223372036854775809", INT64_MIN, false},
		{"-1.5e3", -1500, false},
		{"--1", 0, true},
		{"-", 0, true},
	};
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct json_reader reader = reader_of(cases[i].text);
		int64_t value = json_read_int(&reader);
		assert_int_equal(cases[i].failed, reader.failed);
		if (!cases[i].failed)
			assert_true(cases[i].value == value);
	}
}

static void test_a_copy_is_well_formed(void **state) {
	static const struct {
		const char *text, *copy; // NULL if it is not JSON
	} cases[] = {
		{" { \"a\\u0062\" : [ 1.50e3 , -0 , true , null , \"\\n\" ] , \"\" : { } } ",
		 "{\"ab\":[1.50e3,-0,true,null,\"\\n\"],\"\":{}}"},
		{"{\"a\":\"\x01\"}", "{\"a\":\"\\u0001\"}"},
		{"{\"a\":nonsense}", NULL},
		{"[01]", NULL},
		{"[1.]", NULL},
		{"{\"\\x\":1}", NULL},
		{"[1", NULL},
	};
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct json_reader reader = reader_of(cases[i].text);
		struct buffer out = {0};
		struct json json = json_into(&out);
		json_copy(&reader, &json, NULL);
		buffer_append(&out, "", 1);
		assert_int_equal(reader.failed, !cases[i].copy);
		if (cases[i].copy)
			assert_string_equal((char *)out.data, cases[i].copy);
		buffer_free(&out);
	}
}

static void test_texts_lose_their_escapes(void **state) {
	static const struct {
		const char *text, *value; // NULL if it is rejected
	} cases[] = {
		{"\"\"", ""},
		{"\"a\\n\\\"\\\\\\/b\"", "a\n\"\\/b"},
		{"\"\\u00e9\\u20ac\"", "\xc3\xa9\xe2\x82\xac"},
		{"\"\\ud83d\\ude00\"", "\xf0\x9f\x98\x80"},
		{"\"\\ud83d!\"", "\xef\xbf\xbd!"},
		{"\"\\x\"", NULL},
		{"\"\\u12\"", NULL},
		{"\"open", NULL},
		{"\"open\\", NULL},
		{"1", NULL},
	};
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct json_reader reader = reader_of(cases[i].text);
		struct buffer out = {0};
		json_read_text(&reader, &out);
		assert_int_equal(!cases[i].value, reader.failed);
		if (cases[i].value) {
			assert_int_equal(strlen(cases[i].value), out.size);
			assert_memory_equal(cases[i].value, out.size ? (char *)out.data : "", out.size);
		}
		buffer_free(&out);
	}
}

static void test_what_is_damaged_ends_everything(void **state) {
	static const char *const texts[] = {"[1 2]", "[1,", "{\"a\" 1}", "{1:2}", "[[[[1]]]", "{\"a\":}"};
	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		struct json_reader reader = reader_of(texts[i]);
		struct json_piece key;
		json_skip(&reader);
		assert_true(reader.failed);
		assert_false(json_item(&reader));
		assert_false(json_member(&reader, &key));
		assert_int_equal(0, json_read_uint(&reader));
	}
}

static void test_nesting_has_an_end(void **state) {
	char text[200];
	memset(text, '[', sizeof(text));
	struct json_reader reader = json_from(text, sizeof(text));
	json_skip(&reader);
	assert_true(reader.failed);
}

static void test_values_of_another_kind_are_none(void **state) {
	static const char text[] = "[\"a\\u00e9\", 5, -1.5e2, null, true, {\"b\":[1]}, \"1\", 1]";
	struct json_reader reader = reader_of(text);
	CLEANUP_FREE char *one = (json_enter(&reader, '['), json_item(&reader), json_read_if_text(&reader));
	CLEANUP_FREE char *none = (json_item(&reader), json_read_if_text(&reader));
	assert_string_equal(one, "a\xc3\xa9");
	assert_null(none);
	assert_true(json_item(&reader) && json_read_if_number(&reader) == -150);
	assert_true(json_item(&reader) && json_read_if_number(&reader) == 0);
	assert_true(json_item(&reader) && json_read_if_true(&reader));
	assert_true(json_item(&reader) && !json_read_if_true(&reader));
	assert_true(json_item(&reader) && json_read_if_number(&reader) == 0);
	assert_true(json_item(&reader) && !json_read_if_true(&reader));
	assert_false(json_item(&reader));
	assert_false(reader.failed);
}

static void test_damaged_values_fail_whatever_their_kind(void **state) {
	static const char *const texts[] = {"\"open", "\"\\q\"", "1x", "-", "truth", "{\"a\"}", ""};
	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		struct json_reader text = reader_of(texts[i]), number = text, truth = text;
		free(json_read_if_text(&text));
		json_read_if_number(&number);
		json_read_if_true(&truth);
		assert_true(text.failed || number.failed || truth.failed);
	}
}

int main(void) {
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_members_and_items_are_read_in_turn),
		cmocka_unit_test(test_numbers_are_what_they_are_or_the_largest),
		cmocka_unit_test(test_integers_have_a_sign_and_two_ends),
		cmocka_unit_test(test_a_copy_is_well_formed),
		cmocka_unit_test(test_texts_lose_their_escapes),
		cmocka_unit_test(test_what_is_damaged_ends_everything),
		cmocka_unit_test(test_nesting_has_an_end),
		cmocka_unit_test(test_values_of_another_kind_are_none),
		cmocka_unit_test(test_damaged_values_fail_whatever_their_kind),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
