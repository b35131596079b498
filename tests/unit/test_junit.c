#include "unit.h"

#include "artifact/junit.h"

static const struct manifest_artifact artifacts[] = {{.path = "/t/a.pb", .size = 1},
						     {.path = "/t/b<&\xc3\xbc.pb", .size = 1}};
static const struct junit_record records[] = {{"A.one", NULL, artifacts, 1}, {"two", NULL, artifacts, 2}};

static char *attach(const char *text) {
	struct buffer out = {0};
	struct junit_attached attached;
	char why[256] = "";
	int error = junit_attach(text, strlen(text), records, 2, &out, &attached, why);
	if (error)
		buffer_printf(&out, "(%s)", why);
	buffer_append(&out, "", 1);
	return (char *)out.data;
}

#define assert_attached(text, expected)                                                                      \
	do {                                                                                                 \
		CLEANUP_FREE char *result = attach(text);                                                    \
		assert_string_equal(result, expected);                                                       \
	} while (0)

#define A "\n[[ATTACHMENT|/t/a.pb]]\n"
#define B "\n[[ATTACHMENT|/t/b&#x3c;&#x26;&#xfc;.pb]]\n"

static void test_a_case_of_each_shape_gets_its_lines(void **state) {
	assert_attached("<s><testcase classname='A' name='one'/></s>",
			"<s><testcase classname='A' name='one'><system-out>" A
			"</system-out></testcase></s>");
	assert_attached("<s><testcase classname='A' name='one'></testcase></s>",
			"<s><testcase classname='A' name='one'><system-out>" A
			"</system-out></testcase></s>");
	assert_attached("<testcase name='two'>x<system-out>y</system-out>z</testcase>",
			"<testcase name='two'>x<system-out>y" A B "</system-out>z</testcase>");
	assert_attached("<testcase name='two'><system-out /></testcase>",
			"<testcase name='two'><system-out >" A B "</system-out></testcase>");
	assert_attached("\xef\xbb\xbf<testcase name='two'/>",
			"\xef\xbb\xbf<testcase name='two'><system-out>" A B "</system-out></testcase>");
	assert_attached("<testcase name='two'><system-err/></testcase>",
			"<testcase name='two'><system-out>" A B "</system-out><system-err/></testcase>");
}

static void test_only_the_output_of_the_case_itself_counts(void **state) {
	assert_attached("<testsuite><testcase name='two'><a><system-out>x</system-out></a></testcase>"
			"<system-out>y</system-out></testsuite>",
			"<testsuite><testcase name='two'><a><system-out>x</system-out></a>"
			"<system-out>" A B "</system-out></testcase><system-out>y</system-out></testsuite>");
}

static void test_lines_that_are_there_are_not_added_again(void **state) {
	assert_attached("<testcase name='two'><system-out>" A "</system-out></testcase>",
			"<testcase name='two'><system-out>" A B "</system-out></testcase>");
	assert_attached("<testcase name='two'><system-out>" A B "</system-out></testcase>",
			"<testcase name='two'><system-out>" A B "</system-out></testcase>");
}

static void test_class_and_name_come_before_the_name_alone(void **state) {
	assert_attached("<s><testcase classname='B' name='A.one'/><testcase classname='A' name='one'/></s>",
			"<s><testcase classname='B' name='A.one'/><testcase classname='A' name='one'>"
			"<system-out>" A "</system-out></testcase></s>");
	assert_attached("<testsuite name='A'><testcase classname='B' name='one'/></testsuite>",
			"<testsuite name='A'><testcase classname='B' name='one'><system-out>" A
			"</system-out></testcase></testsuite>");
}

static void test_what_two_cases_are_called_is_added_to_none(void **state) {
	static const char text[] =
		"<s><testcase classname='C' name='two'/><testcase classname='D' name='two'/></s>";
	assert_attached(text, text);
}

static void test_what_is_no_junit_is_refused(void **state) {
	assert_attached("", "(line 1: no element found)");
	assert_attached("<a>", "(line 1: no element found)");
	assert_attached("<a></b>", "(line 1: mismatched tag)");
	assert_attached("<!DOCTYPE a><a/>", "(it has a DOCTYPE, which JUnit files do not need)");
	assert_attached("\xfe\xff<", "(neither UTF-8 nor another encoding that extends ASCII)");
}

static void test_what_xml_cannot_say_is_written_as_a_replacement(void **state) {
	const struct junit_case cases[] = {
		{.class_name = "A",
		 .name = "a\nb\"<",
		 .message = "m",
		 .result = JUNIT_FAILED,
		 .output = "\x1b\xff&\n",
		 .output_size = 4},
		{.class_name = "A", .name = "good"},
	};
	struct buffer out = {0};
	junit_write(&out, "suite", 1.5, cases, 2);
	buffer_append(&out, "", 1);
	const char *text = (char *)out.data;
	assert_non_null(strstr(text, "<testsuite name=\"suite\" tests=\"2\" failures=\"1\" errors=\"0\" "
				     "skipped=\"0\" time=\"1.5"));
	assert_non_null(strstr(text, "name=\"a&#10;b&quot;&lt;\""));
	assert_non_null(strstr(text, "<failure message=\"m\">\xef\xbf\xbd\xef\xbf\xbd&amp;\n</failure>"));
	assert_non_null(strstr(text, "<testcase classname=\"A\" name=\"good\" time=\"0.000000\"/>"));
	buffer_free(&out);
}

int main(void) {
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_case_of_each_shape_gets_its_lines),
		cmocka_unit_test(test_only_the_output_of_the_case_itself_counts),
		cmocka_unit_test(test_lines_that_are_there_are_not_added_again),
		cmocka_unit_test(test_class_and_name_come_before_the_name_alone),
		cmocka_unit_test(test_what_two_cases_are_called_is_added_to_none),
		cmocka_unit_test(test_what_is_no_junit_is_refused),
		cmocka_unit_test(test_what_xml_cannot_say_is_written_as_a_replacement),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
