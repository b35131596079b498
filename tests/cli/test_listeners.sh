# Listeners for C++ frameworks: cases from inside a test program, with a trace for each.
. "$(dirname "$0")/lib.sh"
need_root
need_command g++

# traces NAME...: each case has a trace of its own.
traces() {
	local name
	for name; do
		check "with a trace: $name" "$TRACELET" check tracelet-out/*$name*.pb
	done
}

# cpp NAME HEADER COUNTS FLAG...: the program in sample.cc, traced.
cpp() {
	local name=$1 header=$2 counts=$3
	shift 3
	if [ ! -e "/usr/include/$header" ]; then
		skip "$name" "there is no $header here"
		return
	fi
	check "$name: the listener compiles" g++ -O0 -Wall -Wextra -I"$source/include" -I"$source/examples" sample.cc -o sample "$@"
	rm -rf tracelet-out
	run "$TRACELET" run --name whole -- ./sample
	check_not "$name: the test failed" test "$status" = 0
	check_match "$name: $counts" "cases +$counts" "$stderr"
	traces good bad
}

cat >sample.cc <<'END'
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>
#include "doctest_listener.h"
TEST_CASE("good") { SUBCASE("load") { CHECK(true); } }
TEST_CASE("bad") { CHECK(1 + 1 == 3); }
END
cpp doctest doctest/doctest.h "1 passed, 1 failed"
if [ -z "${TRACELET_LONG:-}" ]; then
	skip "Catch2, Boost.Test" "compiling them takes long: make test-long"
	done_testing
fi
cat >sample.cc <<'END'
#define CATCH_CONFIG_MAIN
#include <catch2/catch.hpp>
#include "catch2_listener.h"
TEST_CASE("good") { SECTION("load") { CHECK(true); } }
TEST_CASE("bad") { CHECK(1 + 1 == 3); }
END
cpp Catch2 catch2/catch.hpp "1 passed, 1 failed"
cat >sample.cc <<'END'
#define BOOST_TEST_MODULE sample
#include <boost/test/included/unit_test.hpp>
#include "boost_listener.h"
BOOST_AUTO_TEST_CASE(good) { BOOST_TEST(true); }
BOOST_AUTO_TEST_CASE(bad) { BOOST_TEST(1 + 1 == 3); }
BOOST_AUTO_TEST_CASE(never, *boost::unit_test::disabled()) {}
END
cpp Boost.Test boost/test/included/unit_test.hpp "1 passed, 1 failed"
done_testing
