// A listener for doctest: every test case becomes a case in the trace, every subcase a slice, every failed assertion a
// mark. Include it in one file of the program, after doctest/doctest.h.
#pragma once

#include <tracelet/mark.h>

namespace tracelet {

class Listener : public doctest::IReporter {
public:
	explicit Listener(const doctest::ContextOptions &) {}

	void test_case_start(const doctest::TestCaseData &data) override {
		tl_test_begin(data.m_name);
	}

	void test_case_reenter(const doctest::TestCaseData &) override {}

	void test_case_end(const doctest::CurrentTestCaseStats &stats) override {
		tl_test_end(stats.testCaseSuccess ? TL_PASSED : TL_FAILED);
	}

	void test_case_exception(const doctest::TestCaseException &exception) override {
		tl_mark(exception.error_string.c_str());
	}

	void subcase_start(const doctest::SubcaseSignature &signature) override {
		tl_slice_begin(signature.m_name.c_str());
	}

	void subcase_end() override {
		tl_slice_end();
	}

	void log_assert(const doctest::AssertData &data) override {
		if (data.m_failed)
			tl_mark(data.m_expr);
	}

	void log_message(const doctest::MessageData &) override {}
	void report_query(const doctest::QueryData &) override {}
	void test_run_start() override {}
	void test_run_end(const doctest::TestRunStats &) override {}
	void test_case_skipped(const doctest::TestCaseData &) override {}
};

DOCTEST_REGISTER_LISTENER("tracelet", 1, Listener);

} // namespace tracelet
