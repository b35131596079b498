// A listener for GoogleTest: every test becomes a case in the trace, every failed
// assertion a mark. Add it in your main():
//
//     testing::InitGoogleTest(&argc, argv);
//     tracelet::add_listener();
//     return RUN_ALL_TESTS();
#pragma once

#include <gtest/gtest.h>
#include <tracelet/mark.h>

#include <string>

namespace tracelet {

class Listener : public testing::EmptyTestEventListener {
	void OnTestSuiteStart(const testing::TestSuite &suite) override {
		tl_slice_begin(suite.name());
	}

	void OnTestStart(const testing::TestInfo &test) override {
		tl_test_begin((std::string(test.test_suite_name()) + "." + test.name()).c_str());
	}

	void OnTestPartResult(const testing::TestPartResult &result) override {
		if (result.failed())
			tl_mark(result.summary());
	}

	void OnTestEnd(const testing::TestInfo &test) override {
		const testing::TestResult *result = test.result();
		tl_test_end(result->Skipped() ? TL_SKIPPED : result->Passed() ? TL_PASSED : TL_FAILED);
	}

	void OnTestSuiteEnd(const testing::TestSuite &) override {
		tl_slice_end();
	}
};

inline void add_listener() {
	testing::UnitTest::GetInstance()->listeners().Append(new Listener); // takes ownership
}

} // namespace tracelet
