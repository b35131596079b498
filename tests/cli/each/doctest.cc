// Names that need care, for test_each.sh.
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include <doctest/doctest.h>

TEST_CASE("adds, and more") { CHECK(1 + 1 == 2); }
TEST_CASE("fails * here") { CHECK(1 == 2); }
TEST_CASE("skipped" * doctest::skip()) { CHECK(1 == 2); }
TEST_SUITE("suite") {
	TEST_CASE("Adds, And More") {}
}
