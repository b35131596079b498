// Variants of a test: one canonical text, one hash.
#include "base/memory.h"
#include "base/siphash.h"
#include "settings/variant.h"
#include "unit.h"

#include <string.h>

static void test_hash_of_the_two_known_variants(void **state) {
	char digits[VARIANT_HASH_SIZE];
	variant_hash("{\"kargs\":[],\"payload\":null,\"scheduler\":\"eevdf\",\"sysctls\":[],"
		     "\"topology\":\"1n1l1c1t\",\"work_type\":\"\"}",
		     digits);
	assert_string_equal(digits, "36ceceea5c2beda7");
	variant_hash("{\"kargs\":[\"nosmt\"],\"payload\":null,\"scheduler\":\"scx-ktstr\","
		     "\"sysctls\":[\"sysctl.kernel.sched_cfs_bandwidth_slice_us=1000\"],"
		     "\"topology\":\"1n2l4c1t\",\"work_type\":\"SpinWait\"}",
		     digits);
	assert_string_equal(digits, "5a5b5775a01a425f");
}

static void test_hash_of_every_length_of_the_last_word_differs(void **state) {
	static const char text[] = "0123456789abcdef";
	for (size_t i = 0; i < sizeof(text); i++)
		for (size_t k = 0; k < i; k++)
			assert_int_not_equal(siphash13(text, i), siphash13(text, k));
}

// Adds each addition to the variant; the caller frees the text.
static char *variant_of(const char *const *additions) {
	char *variant = NULL;
	for (; *additions; additions++) {
		char *next = variant_add(variant, *additions);
		assert_non_null(next);
		free(variant);
		variant = next;
	}
	return variant;
}

static void check_variant(const char *const *additions, const char *expected) {
	char *variant = variant_of(additions);
	assert_string_equal(variant, expected);
	free(variant);
}

static void test_keys_are_in_the_order_of_their_bytes(void **state) {
	check_variant((const char *[]){"b=2", "a=1", "B=3", NULL}, "{\"B\":\"3\",\"a\":\"1\",\"b\":\"2\"}");
	check_variant((const char *[]){"a=1", "B=3", "b=2", NULL}, "{\"B\":\"3\",\"a\":\"1\",\"b\":\"2\"}");
}

static void test_value_is_all_behind_the_first_equals_sign(void **state) {
	check_variant((const char *[]){"sysctl=kernel.x=1 \"y\"/z", NULL},
		      "{\"sysctl\":\"kernel.x=1 \\\"y\\\"/z\"}");
	check_variant((const char *[]){"empty=", NULL}, "{\"empty\":\"\"}");
}

static void test_the_same_key_again_replaces(void **state) {
	check_variant((const char *[]){"a=1", "a=2", NULL}, "{\"a\":\"2\"}");
}

static void test_object_is_put_into_canonical_form(void **state) {
	check_variant((const char *[]){" {}" + 1, NULL}, "{}");
	check_variant((const char *[]){"{ \"topology\" : \"1n1l1c1t\", \"work_type\":\"\", \"sysctls\":[],"
				       "\"scheduler\":\"eevdf\",\"payload\":null,\"kargs\":[]}",
				       NULL},
		      "{\"kargs\":[],\"payload\":null,\"scheduler\":\"eevdf\",\"sysctls\":[],"
		      "\"topology\":\"1n1l1c1t\",\"work_type\":\"\"}");
	check_variant((const char *[]){"{\"k\":[\"b\",\"a\"],\"n\":[2,1],\"o\":{\"z\":1,\"y\":true}}", NULL},
		      "{\"k\":[\"a\",\"b\"],\"n\":[2,1],\"o\":{\"y\":true,\"z\":1}}");
}

static void test_texts_and_numbers_have_one_form(void **state) {
	check_variant((const char *[]){"{\"a\":\"\\u00e9\\/\\u000d\\b\\u0001\\\"\\\\\"}", NULL},
		      "{\"a\":\"\xc3\xa9/\\r\\b\\u0001\\\"\\\\\"}");
	check_variant((const char *[]){"{\"\\u0061\":[-0, 1.50,1e5 ,-12],\"a\":[true,false, null]}", NULL},
		      "{\"a\":[true,false,null]}");
	check_variant((const char *[]){"{\"b\":[-0, 1.50,1e5 ,-12]}", NULL}, "{\"b\":[0,1.50,1e5,-12]}");
}

static void test_nesting_has_an_end(void **state) {
	char text[128] = "{\"a\":";
	memset(text + 5, '[', 15);
	memset(text + 20, ']', 15);
	strcpy(text + 35, "}");
	CLEANUP_FREE char *deep = variant_add(NULL, text);
	assert_string_equal(deep, text);
	memset(text + 5, '[', 50);
	strcpy(text + 55, "]}");
	assert_null(variant_add(NULL, text));
}

static void test_what_is_no_variant_is_refused(void **state) {
	static const char *const bad[] = {"",
					  "a",
					  "=b",
					  "{",
					  "{\"a\":1} x",
					  "{\"a\":}",
					  "{a=b",
					  "{\"a\":01}",
					  "{\"a\":1.}",
					  "{\"a\":NaN}",
					  "{\"a\":+1}",
					  "{\"a\":tru}",
					  "{\"a\":\"\xff\"}",
					  "{\"a\":1,}",
					  "{\"\\q\":1}"};
	for (size_t i = 0; i < ARRAY_SIZE(bad); i++)
		assert_null(variant_add(NULL, bad[i]));
}

int main(void) {
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_hash_of_the_two_known_variants),
		cmocka_unit_test(test_hash_of_every_length_of_the_last_word_differs),
		cmocka_unit_test(test_keys_are_in_the_order_of_their_bytes),
		cmocka_unit_test(test_value_is_all_behind_the_first_equals_sign),
		cmocka_unit_test(test_the_same_key_again_replaces),
		cmocka_unit_test(test_object_is_put_into_canonical_form),
		cmocka_unit_test(test_texts_and_numbers_have_one_form),
		cmocka_unit_test(test_nesting_has_an_end),
		cmocka_unit_test(test_what_is_no_variant_is_refused),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
