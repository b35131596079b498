// A listener for Boost.Test: every test case becomes a case in the trace, every suite a slice. Include it in the file that
// defines BOOST_TEST_MODULE, after Boost's header.
#pragma once

#include <boost/test/framework.hpp>
#include <boost/test/results_collector.hpp>
#include <boost/test/tree/observer.hpp>
#include <boost/test/tree/test_unit.hpp>
#include <boost/test/unit_test_suite.hpp>
#include <tracelet/mark.h>

#include <string>

namespace tracelet {

class Listener : public boost::unit_test::test_observer {
public:
	Listener() {
		boost::unit_test::framework::register_observer(*this);
	}

	~Listener() override {
		boost::unit_test::framework::deregister_observer(*this);
	}

	void test_unit_start(const boost::unit_test::test_unit &unit) override {
		if (unit.p_type == boost::unit_test::TUT_CASE)
			tl_test_begin(unit.full_name().c_str());
		else
			tl_slice_begin(unit.p_name.get().c_str());
	}

	void test_unit_finish(const boost::unit_test::test_unit &unit, unsigned long) override {
		if (unit.p_type != boost::unit_test::TUT_CASE) {
			tl_slice_end();
			return;
		}
		const auto &results = boost::unit_test::results_collector.results(unit.p_id);
		tl_test_end(results.p_skipped ? TL_SKIPPED : results.passed() ? TL_PASSED : TL_FAILED);
	}

	// After the collector of results, which must know how the case ended.
	int priority() override {
		return 5;
	}
};

BOOST_TEST_GLOBAL_FIXTURE(Listener);

} // namespace tracelet
