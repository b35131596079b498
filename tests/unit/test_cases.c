#include "unit.h"

#include "suite/cases.h"
#include "suite/verdict.h"

// The names in a list, each followed by '!' if it is disabled and '|' if it runs alone.
static char *names_in(case_parser *parse, const char *text) {
	struct cases cases = {0};
	struct buffer names = {0};
	if (!parse(text, strlen(text), &cases))
		buffer_printf(&names, "(no list)");
	for (size_t i = 0; i < cases.count; i++)
		buffer_printf(&names, "<%s%s%s>", cases.items[i].name, cases.items[i].disabled ? "!" : "",
			      cases.items[i].alone ? "|" : "");
	buffer_append(&names, "", 1);
	cases_free(&cases);
	return (char *)names.data;
}

#define assert_names(parse, text, expected)                                                                  \
	do {                                                                                                 \
		CLEANUP_FREE char *names = names_in(parse, text);                                            \
		assert_string_equal(names, expected);                                                        \
	} while (0)

static void test_gtest_joins_suite_and_case(void **state) {
	assert_names(cases_from_gtest,
		     "Running main() from gtest_main.cc\n"
		     "Parser.\n"
		     "  Deep\n"
		     "  DISABLED_Later\n"
		     "All/Sizes/0.  # TypeParam = int\n"
		     "  Fit/0  # GetParam() = \"a # b\"\n"
		     "DISABLED_Old.\n"
		     "  Case\r\n",
		     "<Parser.Deep><Parser.DISABLED_Later!><All/Sizes/0.Fit/0><DISABLED_Old.Case!>");
	assert_names(cases_from_gtest, "  Case\nno suite\n  Case\n", "");
	assert_names(cases_from_gtest, "", "");
}

static void test_catch2_has_a_name_in_each_line(void **state) {
	assert_names(cases_from_catch2,
		     "adds, and [more]\n\nfails \\ twice\n\"quoted\"\n\"#5 is alive\"\n\"#",
		     "<adds, and [more]><fails \\ twice><\"quoted\"><#5 is alive><\"#>");
}

static void test_cpputest_has_names_between_blanks(void **state) {
	assert_names(cases_from_words, "Parser.Wide Parser.Deep\nCrash.Aborts  \r\n",
		     "<Parser.Wide><Parser.Deep><Crash.Aborts>");
	assert_names(cases_from_words, " \n\n", "");
}

static void test_doctest_has_names_between_rules(void **state) {
	assert_names(cases_from_doctest,
		     "[doctest] listing all test case names\n==============================\n"
		     "adds, and more\n  with spaces before\n"
		     "==============================\n[doctest] unskipped test cases passing the current "
		     "filters: 2\n",
		     "<adds, and more><  with spaces before>");
	assert_names(cases_from_doctest, "all tests passed\n", "(no list)");
}

static void test_libtest_lists_tests_and_not_benchmarks(void **state) {
	assert_names(cases_from_libtest,
		     "parser::deep: test\nparser::fast: benchmark\na b: test\n\n2 tests\n",
		     "<parser::deep><a b>");
}

static void test_go_lists_what_it_runs(void **state) {
	assert_names(cases_from_go,
		     "TestDeep\nBenchmarkFast\nExampleThing\nFuzzIt\nok  \tour/package\t0.002s\n",
		     "<TestDeep><ExampleThing><FuzzIt>");
}

static void test_pytest_ends_at_the_first_empty_line(void **state) {
	assert_names(cases_from_pytest,
		     "tests/test_a.py::test_one\ntests/test_a.py::TestB::test_in[a b::c]\n\n2 tests "
		     "collected in 0.01s\nx::y\n",
		     "<tests/test_a.py::test_one><tests/test_a.py::TestB::test_in[a b::c]>");
	assert_names(cases_from_pytest, "\nno tests collected in 0.00s\n", "(no list)");
}

static void test_tap_names_follow_the_number(void **state) {
	assert_names(cases_from_tap,
		     "TAP version 13\n1..4\nok 1 - first one\nnot ok 2 second # TODO later\nok - third\nokay "
		     "4 - no\n"
		     "ok 5 # SKIP not here\n# ok 6 - a comment\n",
		     "<first one><second><third>");
	assert_names(cases_from_tap, "hello\n", "(no list)");
	assert_names(cases_from_tap, "TAP version 13\n1..0 # skip: no network\n", "");
	assert_names(cases_from_tap, "1..0", "");
	assert_names(cases_from_tap, "1..05\n", "(no list)");
	assert_names(cases_from_tap, "ok 1 issue #12\nok 2 - #3 # skip: no\nok 3 - c # time=3ms\n",
		     "<issue #12><#3><c>");
}

static void test_ctest_reports_which_tests_run_alone(void **state) {
	assert_names(cases_from_ctest,
		     "Internal ctest changing into directory: /x\n"
		     "{\"kind\":\"ctestInfo\",\"tests\":["
		     "{\"name\":\"good\",\"properties\":[{\"name\":\"WORKING_DIRECTORY\",\"value\":\"/x\"}]},"
		     "{\"name\":\"off\",\"properties\":[{\"name\":\"DISABLED\",\"value\":true}]},"
		     "{\"name\":\"alone\",\"properties\":[{\"name\":\"RUN_SERIAL\",\"value\":true}]},"
		     "{\"name\":\"locked\",\"properties\":[{\"name\":\"RESOURCE_LOCK\",\"value\":[\"db\"]}]},"
		     "{\"name\":7},{\"properties\":[]},{},7]}",
		     "<good><off!><alone|><locked|>");
	assert_names(cases_from_ctest, "{\"tests\":7}", "(no list)");
	assert_names(cases_from_ctest, "{\"tests\":[", "(no list)");
	assert_names(cases_from_ctest, "No tests were found!!!", "(no list)");
}

static bool from_meson(const char *text, size_t size, struct cases *cases) {
	static const char introspection[] =
		"[{\"name\":\"one\",\"is_parallel\":true},{\"name\":\"two\",\"is_parallel\":false},"
		"{\"name\":\"a / two\"},7,{},{\"name\":\"\"}]";
	cases_from_lines(text, size, cases);
	cases_resolve_meson(introspection, strlen(introspection), cases);
	return true;
}

static void test_meson_names_may_follow_a_suite(void **state) {
	assert_names(from_meson, "ninja: no work to do.\n[1/2] make one thing\none\ntwo\n", "<one><two|>");
	assert_names(from_meson, "project:slow / two\nproject / a / two\nproject+one\n", "<two|><a / two>");
	struct cases cases = {0};
	cases_add(&cases, "one", 3);
	cases_resolve_meson("{", 1, &cases);
	assert_int_equal(cases.count, 0);
	cases_free(&cases);
}

static void test_a_name_with_a_nul_is_not_taken(void **state) {
	struct cases cases = {0};
	assert_null(cases_add(&cases, "a\0b", 3));
	assert_null(cases_add(&cases, "", 0));
	assert_int_equal(cases.count, 0);
}

// ---- running one case ----

static char *command_for(const char *framework, char **command, const char *select, const char *name) {
	struct words words = {0};
	struct buffer line = {0};
	case_command(framework_by_name(framework), command, select, name, &words);
	for (size_t i = 0; i < words.count; i++)
		buffer_printf(&line, "<%s>", words.items[i]);
	buffer_append(&line, "", 1);
	words_free(&words);
	return (char *)line.data;
}

static void test_a_case_is_selected_by_its_exact_name(void **state) {
	static const struct {
		const char *framework, *name, *expected;
	} rows[] = {
		{"gtest", "A/B.C/0", "<./t><-x><--gtest_filter=A/B.C/0>"},
		{"catch2", "~a, \"b\" [c] \\d", "<./t><-x><\\~a\\, \\\"b\\\" \\[c\\] \\\\d>"},
		{"doctest", "a, b",
		 "<./t><-x><--no-colors=true><--minimal=false><--quiet=false><--case-sensitive=true>"
		 "<--test-case=a\\, b>"},
		{"libtest", "a::b", "<./t><-x><--exact><a::b>"},
		{"cpputest", "Parser.Deep", "<./t><-x><-sg><Parser><-sn><Deep>"},
		{"go", "TestA", "<./t><-x><-test.v><-test.run><^TestA$>"},
		{"ctest", "a (b) + c.d", "<./t><-x><--output-on-failure><-R><^a \\(b\\) \\+ c\\.d$>"},
	};
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		char *command[] = {(char *)"./t", (char *)"-x", NULL};
		CLEANUP_FREE char *line = command_for(rows[i].framework, command, NULL, rows[i].name);
		assert_string_equal(line, rows[i].expected);
	}
}

static void test_the_users_own_words_select_a_case(void **state) {
	char *command[] = {(char *)"./t", NULL};
	CLEANUP_FREE char *line = command_for("tap", command, " --only={}  -v", "a \"b\"");
	assert_string_equal(line, "<./t><--only=a \"b\"><-v>");
	CLEANUP_FREE char *regex = command_for("tap", command, "--filter ^{regex}$", "a (b) {}");
	assert_string_equal(regex, "<./t><--filter><^a \\(b\\) \\{\\}$>");
}

static void test_words_that_select_others_are_left_out(void **state) {
	char *meson[] = {(char *)"meson", (char *)"test", (char *)"-C",
			 (char *)"build", (char *)"one",  (char *)"--suite",
			 (char *)"slow",  (char *)"two",  NULL};
	CLEANUP_FREE char *line = command_for("meson", meson, NULL, "two");
	assert_string_equal(line, "<meson><test><-C><build><--suite><slow><--no-rebuild><--print-errorlogs>"
				  "<--logbase=tracelet><two>");
	// "." exists, "no-such-file" does not: it may belong to an option.
	char *pytest[] = {
		(char *)"python3", (char *)"-m",     (char *)"pytest",       (char *)"-c", (char *)".",
		(char *)".",       (char *)"--seed", (char *)"no-such-file", NULL};
	CLEANUP_FREE char *other = command_for("pytest", pytest, NULL, "t.py::a");
	assert_string_equal(other, "<python3><-m><pytest><-c><.><--seed><no-such-file><t.py::a>");
}

// ---- what the framework reports ----

static void assert_report(const char *framework, const char *name, const char *output,
			  enum case_report expected) {
	assert_int_equal(case_report_of(framework_by_name(framework), name, NULL, output, strlen(output)),
			 expected);
}

static void test_only_a_report_makes_a_case_pass(void **state) {
	assert_report("gtest", "A.B", "", REPORT_MISSING);
	assert_report("gtest", "A.B", "[ RUN      ] A.B\n", REPORT_MISSING);
	assert_report("gtest", "A.B", "[  PASSED  ] 1 test.\n", REPORT_PASSED);
	assert_report("gtest", "A.B", "[  PASSED  ] 0 tests.\n", REPORT_MISSING);
	assert_report("gtest", "A.B", "\033[0;32m[  PASSED  ] \033[m10 tests.\n", REPORT_PASSED);
	assert_report("gtest", "A.B", "[  PASSED  ] 0 tests.\n[  SKIPPED ] 1 test, listed below:\n",
		      REPORT_SKIPPED);
	assert_report("pytest", "a.py::b", "1 passed in 0.1s", REPORT_PASSED);
	assert_report("pytest", "a.py::b", "a.py ", REPORT_MISSING);
	assert_report("meson", "a", "Ok:                 0   \nSkipped:            0   \n", REPORT_MISSING);
	assert_report("go", "TestA", "    --- SKIP: TestA/part (0.00s)\n--- PASS: TestA (0.00s)\nPASS\n",
		      REPORT_PASSED);
	assert_report("go", "TestA", "--- PASS: TestAll (0.00s)\n", REPORT_MISSING);
	assert_report("cmocka", "a", "ok 1 - a\n", REPORT_PASSED);
	assert_report("cmocka", "a", "not ok 1 # SKIP a\n", REPORT_SKIPPED);
	assert_report("cmocka", "a", "not ok 1 - a\n", REPORT_MISSING);
}

static void test_tap_needs_the_line_of_the_case(void **state) {
	assert_report("tap", "a b", "1..1\nok 1 - a b\n", REPORT_PASSED);
	assert_report("tap", "a b", "1..1\nok 1 - a\n", REPORT_MISSING);
	assert_report("tap", "a b", "1..0\n", REPORT_NO_CASE);
	assert_report("tap", "a b", "ok 1 a b # Skip why\n", REPORT_SKIPPED);
	assert_report("tap", "a b", "not ok 1 - a b # TODO why\n", REPORT_PASSED);
	assert_report("tap", "a b", "not ok 1 - a b\nok 2 - a b\n", REPORT_FAILED);
}

// ---- the table ----

static void test_runners_are_recognised_by_their_names(void **state) {
	static const struct {
		const char *words[4], *framework;
	} rows[] = {
		{{"/usr/bin/pytest-3", NULL}, "pytest"}, {{"python3.11", "-m", "pytest", NULL}, "pytest"},
		{{"ctest", "-V", NULL}, "ctest"},        {{"meson", "test", NULL}, "meson"},
		{{"meson", "compile", NULL}, NULL},      {{"python3", "-m", "unittest", NULL}, NULL},
		{{"/no/such/program", NULL}, NULL},
	};
	for (size_t i = 0; i < ARRAY_SIZE(rows); i++) {
		const struct framework *framework = framework_of((char **)(uintptr_t)rows[i].words);
		if (rows[i].framework)
			assert_string_equal(framework->name, rows[i].framework);
		else
			assert_null(framework);
	}
}

static void test_this_very_program_is_recognised_by_what_is_in_it(void **state) {
	char *command[] = {(char *)"/proc/self/exe", NULL};
	// The program contains the marks of all frameworks, as texts of the table; the first one
	// wins.
	assert_non_null(framework_of(command));
}

static void test_the_status_is_the_frameworks(void **state) {
	static const int failed[] = {3, 200, 139};
	assert_int_equal(cases_exit_status(framework_by_name("gtest"), failed, 0), 0);
	assert_int_equal(cases_exit_status(framework_by_name("gtest"), failed, 2), 1);
	assert_int_equal(cases_exit_status(framework_by_name("libtest"), failed, 2), 101);
	assert_int_equal(cases_exit_status(framework_by_name("catch2"), failed, 2), 203);
	assert_int_equal(cases_exit_status(framework_by_name("catch2"), failed, 3), 255);
	assert_int_equal(cases_exit_status(framework_by_name("catch2-3"), failed, 3), 200);
	assert_int_equal(cases_exit_status(framework_by_name("meson"), failed, 3), 3);
}

int main(void) {
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_gtest_joins_suite_and_case),
		cmocka_unit_test(test_catch2_has_a_name_in_each_line),
		cmocka_unit_test(test_cpputest_has_names_between_blanks),
		cmocka_unit_test(test_doctest_has_names_between_rules),
		cmocka_unit_test(test_libtest_lists_tests_and_not_benchmarks),
		cmocka_unit_test(test_go_lists_what_it_runs),
		cmocka_unit_test(test_pytest_ends_at_the_first_empty_line),
		cmocka_unit_test(test_tap_names_follow_the_number),
		cmocka_unit_test(test_ctest_reports_which_tests_run_alone),
		cmocka_unit_test(test_meson_names_may_follow_a_suite),
		cmocka_unit_test(test_a_name_with_a_nul_is_not_taken),
		cmocka_unit_test(test_a_case_is_selected_by_its_exact_name),
		cmocka_unit_test(test_the_users_own_words_select_a_case),
		cmocka_unit_test(test_words_that_select_others_are_left_out),
		cmocka_unit_test(test_only_a_report_makes_a_case_pass),
		cmocka_unit_test(test_tap_needs_the_line_of_the_case),
		cmocka_unit_test(test_runners_are_recognised_by_their_names),
		cmocka_unit_test(test_this_very_program_is_recognised_by_what_is_in_it),
		cmocka_unit_test(test_the_status_is_the_frameworks),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
