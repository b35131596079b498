// A listener for Catch2 2.x and 3.x: every test case becomes a case in the trace, every section a slice, every failed
// assertion a mark. Include it in one file of the program, after Catch2's own header.
#pragma once

#ifdef CATCH_VERSION_MAJOR
#define TRACELET_CATCH2_OLD (CATCH_VERSION_MAJOR < 3)
#elif defined(CATCH_CONFIG_MAIN) || defined(TWOBLUECUBES_SINGLE_INCLUDE_CATCH_HPP_INCLUDED)
#define TRACELET_CATCH2_OLD 1
#else
#define TRACELET_CATCH2_OLD 0
#include <catch2/reporters/catch_reporter_event_listener.hpp>
#include <catch2/reporters/catch_reporter_registrars.hpp>
#include <catch2/catch_test_case_info.hpp>
#endif
#include <tracelet/mark.h>

#include <string>

namespace tracelet {

#if TRACELET_CATCH2_OLD
using CatchListener = Catch::TestEventListenerBase;
#else
using CatchListener = Catch::EventListenerBase;
#endif

class Listener : public CatchListener {
	int depth = 0;

public:
	using CatchListener::CatchListener;

	void testCaseStarting(const Catch::TestCaseInfo &info) override {
		tl_test_begin(std::string(info.name).c_str());
	}

	// The first section is the test case itself.
	void sectionStarting(const Catch::SectionInfo &info) override {
		if (depth++ > 0)
			tl_slice_begin(std::string(info.name).c_str());
	}

	void sectionEnded(const Catch::SectionStats &) override {
		if (--depth > 0)
			tl_slice_end();
	}

#if TRACELET_CATCH2_OLD
	bool assertionEnded(const Catch::AssertionStats &stats) override {
		mark_failure(stats);
		return true;
	}
#else
	void assertionEnded(const Catch::AssertionStats &stats) override {
		mark_failure(stats);
	}
#endif

	void testCaseEnded(const Catch::TestCaseStats &stats) override {
		tl_test_end(stats.totals.assertions.allOk() ? TL_PASSED : TL_FAILED);
	}

private:
	static void mark_failure(const Catch::AssertionStats &stats) {
		if (!stats.assertionResult.isOk())
			tl_mark(std::string(stats.assertionResult.getExpressionInMacro()).c_str());
	}
};

CATCH_REGISTER_LISTENER(Listener)

} // namespace tracelet
