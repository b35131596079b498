// Test frameworks: one entry each, tried from the first on.
//
//	FRAMEWORK(name, parser of its list, members of struct framework ...)
//
// cases.h says what the members mean and declares the parsers, which are in cases_list.c. A program is
// recognised by its name (.commands) or by a text that its framework leaves in it (.marks), never by trying:
// a program that does not know "--list" might take it for "run everything".
//
// In the texts of .passed, .skipped, .verdict and .missing, "{}" is the name of the case, "{n}" a number
// greater than 0 and a blank any number of blanks. Where a framework has several reporters, each has its
// text.
//
// Included several times, hence no #pragma once.

// clang-format off

FRAMEWORK("pytest", cases_from_pytest,
	.commands = TEXTS("pytest", "pytest-3", "py.test", "python* -m pytest", "py -m pytest"),
	.list = TEXTS("--collect-only", "--verbosity=-1"),
	.select = TEXTS("{}"),
	.option_values = TEXTS("-c", "-k", "-m", "-n", "-o", "-p", "-W", "-r", "--basetemp", "--confcutdir",
		"--cov", "--cov-config", "--cov-report", "--deselect", "--ignore",
		"--ignore-glob", "--import-mode", "--junit-xml", "--junitxml", "--log-file",
		"--override-ini", "--rootdir", "--tb"),
	.separator = "::",
	.passed = TEXTS("{n} passed", "{n} xfailed", "{n} xpassed", ". [100%]", "x [100%]", "X [100%]"),
	.skipped = TEXTS("{n} skipped", "s [100%]"),
	.missing = "no tests ran in",
	.failed_status = 1)

FRAMEWORK("ctest", cases_from_ctest,
	.commands = TEXTS("ctest"),
	.list = TEXTS("--show-only=json-v1"),
	.select = TEXTS("--output-on-failure", "-R", "^{}$"),
	.escape = ESCAPE_REGEX,
	.passed = TEXTS("100% tests passed"),
	.skipped = TEXTS("***Skipped"),
	.verdict = "{n} - {} (",
	.missing = "No tests were found!!!",
	.failed_status = 8)

FRAMEWORK("meson", cases_from_lines,
	.commands = TEXTS("meson test"),
	.list = TEXTS("--list"),
	.refine = resolve_meson,
	.select = TEXTS("--no-rebuild", "--print-errorlogs", "--logbase=tracelet", "{}"),
	.option_values = TEXTS("-C", "-j", "-t", "--gdb-path", "--logbase", "--maxfail", "--no-suite",
		"--num-processes", "--repeat", "--setup", "--suite", "--test-args",
		"--timeout-multiplier", "--wrapper"),
	.passed = TEXTS("\nOk: {n}", "\nExpected Fail: {n}"),
	.skipped = TEXTS("\nSkipped: {n}"),
	.missing = "No suitable tests",
	.wrapper = true,
	.status = STATUS_COUNT)

FRAMEWORK("libtest", cases_from_libtest,
	.marks = TEXTS("RUST_TEST_THREADS"),
	.list = TEXTS("--list", "--format", "terse"),
	.refine = mark_ignored,
	.select = TEXTS("--exact", "{}"),
	.separator = "::",
	.passed = TEXTS("test result: ok. {n} passed", "\"event\": \"ok\", \"passed\": {n}"),
	.skipped = TEXTS("test result: ok. 0 passed; 0 failed; {n} ignored"),
	.missing = "running 0 tests",
	.failed_status = 101)

FRAMEWORK("go", cases_from_go,
	.marks = TEXTS("test.paniconexit0", "testing.(*M).Run"),
	.list = TEXTS("-test.list", "."),
	.select = TEXTS("-test.v", "-test.run", "^{}$"),
	.escape = ESCAPE_REGEX,
	.passed = TEXTS("--- PASS: {} ("),
	.skipped = TEXTS("--- SKIP: {} ("),
	.missing = "testing: warning: no tests to run",
	.failed_status = 1)

FRAMEWORK("gtest", cases_from_gtest,
	.marks = TEXTS("gtest_list_tests", "libgtest.so", "gtest.dll"),
	.list = TEXTS("--gtest_list_tests"),
	.select = TEXTS("--gtest_filter={}"),
	.separator = ".",
	.passed = TEXTS("[ PASSED ] {n} test"),
	.skipped = TEXTS("[ SKIPPED ] {n} test"),
	.missing = "[==========] Running 0 tests",
	.failed_status = 1)

// Its reporters: console, compact, xml, junit, tap, teamcity and automake.
#define CATCH2_PASSED                                                                                        \
	.passed = TEXTS("All tests passed (", "test cases: {n} | {n} passed",                                \
		"test cases: {n} | {n} failed as expected", "Passed {n} test case", "Passed all {n} test case",  \
		"<OverallResultsCases successes=\"{n}\" failures=\"0\"",                                     \
		"<OverallResultsCases successes=\"0\" failures=\"0\" expectedFailures=\"{n}\"",            \
		"errors=\"0\" failures=\"0\" tests=\"{n}\"",                                               \
		"errors=\"0\" failures=\"0\" skipped=\"0\" tests=\"{n}\"", "\nok {n} -",                \
		"##teamcity[testFinished", ":test-result: PASS")

FRAMEWORK("catch2", cases_from_catch2,
	.marks = TEXTS("list-test-names-only"),
	.list = TEXTS("--list-test-names-only"),
	.select = TEXTS("{}"),
	.escape = ESCAPE_CATCH2,
	CATCH2_PASSED,
	.missing = "No test cases matched",
	.status = STATUS_SUM)

FRAMEWORK("catch2-3", cases_from_catch2,
	.marks = TEXTS(" is a Catch2 v", "libCatch2.so", "Catch2.dll"),
	.list = TEXTS("--list-tests", "--verbosity", "quiet"),
	.select = TEXTS("{}"),
	.escape = ESCAPE_CATCH2,
	CATCH2_PASSED,
	.skipped = TEXTS("test cases: {n} | {n} skipped"),
	.skipped_status = 4,
	.missing = "No test cases matched",
	.status = STATUS_LARGEST)

#undef CATCH2_PASSED

FRAMEWORK("doctest", cases_from_doctest,
	.marks = TEXTS("dt-list-test-cases"),
	.list = TEXTS("--list-test-cases", "--no-colors=true"),
	.select = TEXTS("--no-colors=true", "--minimal=false", "--quiet=false", "--case-sensitive=true",
		"--test-case={}"),
	.escape = ESCAPE_COMMA,
	.passed = TEXTS("[doctest] test cases: {n} | {n} passed | 0 failed",
		"<OverallResultsTestCases successes=\"{n}\" failures=\"0\"", "errors=\"0\" failures=\"0\" tests=\"{n}\""),
	.missing = "[doctest] test cases: 0 |",
	.failed_status = 1)

FRAMEWORK("cpputest", cases_from_words,
	.marks = TEXTS("[-lg] [-ln]"),
	.list = TEXTS("-ln"),
	.select = TEXTS("-sg", "{suite}", "-sn", "{case}"),
	.separator = ".",
	.passed = TEXTS("OK ({n} tests, {n} ran,", "##teamcity[testFinished"),
	.skipped = TEXTS(" 0 ran, 0 checks, {n} ignored,"),
	.missing = "Errors (ran nothing,",
	.status = STATUS_COUNT)

#ifndef _WIN32 // nothing can be preloaded there
FRAMEWORK("cmocka", cases_from_lines,
	.marks = TEXTS("libcmocka.so"),
	.list = TEXTS("TRACELET_CASES=list"),
	.select = TEXTS("TRACELET_CASES=run {}"),
	.preload = "libtracelet-cmocka.so",
	.passed = TEXTS("[ PASSED ] {n} test", "\nok {n} -", "\nsuccess: {}",
		"failures=\"0\" errors=\"0\" skipped=\"0\""),
	.skipped = TEXTS("[ SKIPPED ] {n} test", "\nskip: {}", "ok {n} # SKIP",
		"failures=\"0\" errors=\"0\" skipped=\"{n}\""),
	.status = STATUS_COUNT)
#endif

FRAMEWORK("tap", cases_from_tap,
	.status = STATUS_FIXED, .failed_status = 1)

// clang-format on
