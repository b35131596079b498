#include "unit.h"

#include "base/json.h"

#include <math.h>

static void assert_text(struct buffer *out, const char *text) {
	buffer_append(out, "", 1);
	assert_string_equal((char *)out->data, text);
	buffer_free(out);
}

static void test_members_and_items_are_separated_by_commas(void **state) {
	struct buffer out = {0};
	struct json json = json_into(&out);
	json_object(&json, NULL);
	json_string(&json, "name", "value");
	json_array(&json, "list");
	json_uint(&json, NULL, UINT64_MAX);
	json_int(&json, NULL, INT64_MIN);
	json_object(&json, NULL);
	json_close_object(&json);
	json_array(&json, NULL);
	json_close_array(&json);
	json_close_array(&json);
	json_bool(&json, "yes", true);
	json_bool(&json, "no", false);
	json_string(&json, "nothing", NULL);
	json_close_object(&json);
	assert_text(&out, "{\"name\":\"value\",\"list\":[18446744073709551615,-9223372036854775808,{},[]],"
			  "\"yes\":true,\"no\":false,\"nothing\":null}");
}

static void test_two_outermost_objects_have_no_comma_between(void **state) {
	struct buffer out = {0};
	struct json json = json_into(&out);
	for (int i = 0; i < 2; i++) {
		json_object(&json, NULL);
		json_close_object(&json);
		buffer_append(&out, "\n", 1);
	}
	assert_text(&out, "{}\n{}\n");
}

static void test_numbers_that_json_does_not_have_are_null(void **state) {
	struct buffer out = {0};
	struct json json = json_into(&out);
	json_array(&json, NULL);
	json_double(&json, NULL, 1.5);
	json_double(&json, NULL, 0.1);
	json_double(&json, NULL, 1e300);
	json_double(&json, NULL, (double)NAN);
	json_double(&json, NULL, (double)-INFINITY);
	json_close_array(&json);
	assert_text(&out, "[1.5,0.1,1e+300,null,null]");
}

static void test_texts_are_escaped_and_stay_utf8(void **state) {
	static const struct {
		const char *text;
		size_t size;
		const char *quoted;
	} cases[] = {
#define CASE(text, quoted) {text, sizeof(text) - 1, "\"" quoted "\""}
		CASE("", ""),
		CASE("say \"no\"\\", "say \\\"no\\\"\\\\"),
		CASE("a\nb\tc\rd", "a\\nb\\tc\\u000dd"),
		CASE("\0\x01\x1f\x7f", "\\u0000\\u0001\\u001f\\u007f"),
		CASE("gr\xc3\xbc\xc3\x9f \xe2\x82\xac \xf0\x9f\x90\xb5",
		     "gr\xc3\xbc\xc3\x9f \xe2\x82\xac \xf0\x9f\x90\xb5"),
		CASE("\xff", "\\ufffd"),                                  // an invalid first byte
		CASE("\x80z", "\\ufffdz"),                                // a lone continuation byte
		CASE("\xc3", "\\ufffd"),                                  // truncated
		CASE("\xe2\x82z", "\\ufffd\\ufffdz"),                     // interrupted by another character
		CASE("\xc0\xaf", "\\ufffd\\ufffd"),                       // longer than needed
		CASE("\xe0\x80\xaf", "\\ufffd\\ufffd\\ufffd"),            // the same
		CASE("\xed\xa0\x80", "\\ufffd\\ufffd\\ufffd"),            // half of a surrogate pair
		CASE("\xf4\x90\x80\x80", "\\ufffd\\ufffd\\ufffd\\ufffd"), // beyond the last character
		CASE("\xf0\x9f\x90", "\\ufffd\\ufffd\\ufffd"),
#undef CASE
	};
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++) {
		struct buffer out = {0};
		struct json json = json_into(&out);
		json_text(&json, NULL, cases[i].text, cases[i].size);
		assert_text(&out, cases[i].quoted);
	}
}

static void test_keys_are_escaped_too(void **state) {
	struct buffer out = {0};
	struct json json = json_into(&out);
	json_object(&json, NULL);
	json_uint(&json, "a\"b", 1);
	json_close_object(&json);
	assert_text(&out, "{\"a\\\"b\":1}");
}

int main(void) {
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_members_and_items_are_separated_by_commas),
		cmocka_unit_test(test_two_outermost_objects_have_no_comma_between),
		cmocka_unit_test(test_numbers_that_json_does_not_have_are_null),
		cmocka_unit_test(test_texts_are_escaped_and_stay_utf8),
		cmocka_unit_test(test_keys_are_escaped_too),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
