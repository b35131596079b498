// Text from untrusted sources, made safe for a terminal, a CI log, XML.
#include "aside.h"

#include "base/text.h"

#include <stdio.h>

static void check_plain(const char *text, const char *expected) {
	CLEANUP_FREE char *plain = text_plain_copy(text);
	assert_string_equal(plain, expected);
	struct buffer in_place = {0};
	buffer_text(&in_place, "before");
	buffer_text(&in_place, text);
	text_plain_from(&in_place, strlen("before"));
	assert_int_equal(in_place.size, strlen("before") + strlen(expected));
	assert_memory_equal(in_place.data + strlen("before"), expected, strlen(expected));
	buffer_free(&in_place);
}

// ---- plain ----

static void test_usual_names_stay(void **state) {
	check_plain("", "");
	check_plain("std::vector<int, A>::push_back(int&&) const [clone .isra.0]",
		    "std::vector<int, A>::push_back(int&&) const [clone .isra.0]");
	check_plain("größer 日本 C:\\a\\b.exe {closure#0} a##b", "größer 日本 C:\\a\\b.exe {closure#0} a##b");
}

static void test_control_characters_are_shown(void **state) {
	check_plain("a\033[31mb\a\x7f", "a\\x1b[31mb\\x07\\x7f");
	check_plain("a\nb\r\nc\td", "a\\nb\\r\\nc\\td");
	check_plain("\xc2\x9b"
		    "31m",
		    "\\x9b31m");
}

static void test_what_is_not_utf8_is_shown(void **state) {
	check_plain("a\xff\xc3", "a\\xff\\xc3");
	check_plain("\xed\xa0\x80", "\\xed\\xa0\\x80"); // half of a UTF-16 pair
	check_plain("\xc0\xaf", "\\xc0\\xaf");          // "/" in too many bytes
}

static void test_lines_and_directions_are_shown(void **state) {
	check_plain("a\xe2\x80\xa8"
		    "b\xe2\x80\xae"
		    "c\xe2\x81\xa6",
		    "a\\u2028b\\u202ec\\u2066");
}

static void test_github_takes_no_orders(void **state) {
	check_plain("::error::x", "\\x3a:error::x");
	check_plain("  ::error::x", "  \\x3a:error::x");
	check_plain("\xe3\x80\x80::error::x", "\xe3\x80\x80\\x3a:error::x");
	check_plain("a ::error::x", "a ::error::x"); // not at the beginning
	check_plain("\n::error::x", "\\n::error::x");
}

static void test_azure_and_teamcity_take_no_orders(void **state) {
	check_plain("##vso[a]b", "\\x23#vso[a]b");
	check_plain("x ##[error]b", "x \\x23#[error]b");
	check_plain("###teamcity[b]", "#\\x23#teamcity[b]");
	check_plain("##", "##");
	check_plain("##a", "##a");
}

static void test_a_line_is_one_line(void **state) {
	struct buffer out = {0};
	text_append_line(&out, "%s: %d", "a\nb", 5);
	text_append_line(&out, "%s", "::error::x");
	text_append_line(&out, "%s", "");
	buffer_append(&out, "", 1);
	assert_string_equal((char *)out.data, "a\\nb: 5\n\\x3a:error::x\n\n");
	buffer_free(&out);
}

static void check_path(const char *path, const char *expected) {
	char *text = NULL;
	size_t size;
	FILE *out = open_memstream(&text, &size);
	text_path_line(out, path);
	fclose(out);
	assert_string_equal(text, expected);
	free(text);
}

static void test_a_path_is_exact_unless_it_is_hostile(void **state) {
	check_path("/tmp/gr\xf6sse \xe2\x80\x8f", "/tmp/gr\xf6sse \xe2\x80\x8f\n");
	check_path("/tmp/a\n::error::x", "/tmp/a\\n::error::x\n");
	check_path("::error::x", "\\x3a:error::x\n");
}

static void test_width_is_in_characters(void **state) {
	assert_int_equal(text_width("größe", strlen("größe")), 5);
}

// ---- UTF-8 ----

static void test_utf8_is_made(void **state) {
	struct buffer out = {0};
	text_utf8(&out, "a\xff\xc3\xa9\033", 5);
	buffer_append(&out, "", 1);
	assert_string_equal((char *)out.data, "a\xef\xbf\xbd\xc3\xa9\033");
	buffer_free(&out);
}

// ---- XML ----

static void check_xml(const char *text, size_t most, const char *expected) {
	struct buffer out = {0};
	text_xml_cut(&out, text, strlen(text), most);
	buffer_append(&out, "", 1);
	assert_string_equal((char *)out.data, expected);
	buffer_free(&out);
}

static void test_xml_has_entities(void **state) {
	check_xml("</a> & \"b\" ]]>", SIZE_MAX, "&lt;/a&gt; &amp; &quot;b&quot; ]]&gt;");
}

static void test_xml_knows_few_control_characters(void **state) {
	check_xml("a\tb\nc\r\nd", SIZE_MAX, "a\tb\nc\nd");
	check_xml("a\033b\rc", SIZE_MAX,
		  "a\xef\xbf\xbd"
		  "b\xef\xbf\xbd"
		  "c");
	check_xml("\xff\xef\xbf\xbe", SIZE_MAX, "\xef\xbf\xbd\xef\xbf\xbd");
}

static void test_a_long_text_is_cut(void **state) {
	check_xml("<<<<", 4, "&lt;&lt;&lt;&lt;");
	check_xml("<<<<<", 4, "&lt;&lt;&lt;…");
}

int main(void) {
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_usual_names_stay),
		cmocka_unit_test(test_control_characters_are_shown),
		cmocka_unit_test(test_what_is_not_utf8_is_shown),
		cmocka_unit_test(test_lines_and_directions_are_shown),
		cmocka_unit_test(test_github_takes_no_orders),
		cmocka_unit_test(test_azure_and_teamcity_take_no_orders),
		cmocka_unit_test(test_a_line_is_one_line),
		cmocka_unit_test(test_a_path_is_exact_unless_it_is_hostile),
		cmocka_unit_test(test_width_is_in_characters),
		cmocka_unit_test(test_utf8_is_made),
		cmocka_unit_test(test_xml_has_entities),
		cmocka_unit_test(test_xml_knows_few_control_characters),
		cmocka_unit_test(test_a_long_text_is_cut),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
