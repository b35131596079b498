// Names that need care, for test_each.sh.
#include <catch2/catch.hpp>

TEST_CASE("adds, and [more]", "[math]") { REQUIRE(1 + 1 == 2); }
TEST_CASE("fails \\ twice", "[math]") {
	CHECK(1 == 2);
	CHECK(2 == 3);
}
TEST_CASE("~not \"this\"") {}
TEST_CASE("hidden", "[.]") { REQUIRE(false); }
TEST_CASE("a very long name of a case that Catch2 wraps when it prints lists for people to read in a terminal") {}
