#include "unit.h"

#include "base/memory.h"
#include "xml_walk.h"

#include <stdio.h>
#include <string.h>

// The tags of a text, "name:begin-end" with a sign for their kind, from a copy after which nothing
// may be read.
static void assert_tags(const char *text, const char *expected) {
	size_t size = strlen(text);
	CLEANUP_FREE char *copy = memory_alloc(size + !size);
	struct xml_tag tag = {0};
	char found[256] = "";
	memcpy(copy, text, size);
	while (xml_tag_next(copy, size, tag.end, &tag))
		snprintf(found + strlen(found), sizeof(found) - strlen(found), "%s%.*s%s:%zu-%zu ",
			 tag.kind == XML_TAG_END ? "/" : "", (int)tag.name_size, tag.name,
			 tag.kind == XML_TAG_EMPTY ? "/" : "", tag.begin, tag.end);
	assert_string_equal(found, expected);
}

static void test_tags_of_each_kind_are_found(void **state) {
	assert_tags("<a>text<b x='1'/></a >", "a:0-3 b/:7-17 /a:17-22 ");
	assert_tags("\xef\xbb\xbf<?xml version='1.0'?>\n<\xc3\xa9:n\n/>", "\xc3\xa9:n/:25-33 ");
}

static void test_what_looks_like_a_tag_is_none(void **state) {
	assert_tags("<!-- <a> -- > --><![CDATA[<b/>]>]]]><?c <d> ?><e f='>' g=\"'/>\"></e>",
		    "e:46-63 /e:63-67 ");
}

static void test_the_end_may_come_anywhere(void **state) {
	static const char *const open[] = {"",        "<",         "<a",  "</",          "<a b='>", "<!--",
					   "<!-- --", "<![CDATA[", "<![", "<![CDATA[]]", "<?x ?",   "<!"};
	for (size_t i = 0; i < ARRAY_SIZE(open); i++)
		assert_tags(open[i], "");
	assert_tags("<></>", ":0-2 /:2-5 ");
	assert_tags("</></", "/:0-3 ");
}

static void test_they_are_where_a_parser_finds_them(void **state) {
	static const char text[] =
		"<?xml version='1.0' encoding='UTF-8'?>\r\n<!-- <testcase name='a'/> -->\n<all>\n"
		"<a:b xmlns:a='x'\n\tc = \"1 > 2\"><c/><c  /><d e='/'></d></a:b "
		">&lt;f&gt;<![CDATA[</all>]]>\n"
		"<?p <q> ?><\xc3\xbc>]]</\xc3\xbc></all>\n<!-- end -->";
	assert_int_equal(xml_walk(text, strlen(text)), 10);
}

int main(void) {
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_tags_of_each_kind_are_found),
		cmocka_unit_test(test_what_looks_like_a_tag_is_none),
		cmocka_unit_test(test_the_end_may_come_anywhere),
		cmocka_unit_test(test_they_are_where_a_parser_finds_them),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
