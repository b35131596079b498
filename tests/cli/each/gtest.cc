// Cases of every kind that GoogleTest has, for test_each.sh.
#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>

TEST(Parser, Deep) { puts("what a good case prints"); }
TEST(Parser, Wide) {
	puts("what a bad case prints");
	EXPECT_EQ(1, 2);
}
TEST(Parser, Skips) { GTEST_SKIP() << "not today"; }
TEST(Parser, DISABLED_Later) { FAIL(); }
TEST(Crash, Aborts) { abort(); }

class Sizes : public testing::TestWithParam<int> {};
TEST_P(Sizes, Fit) { EXPECT_LT(GetParam(), 3); }
INSTANTIATE_TEST_SUITE_P(All, Sizes, testing::Values(1, 2));
