// Cases of CppUTest, for test_each.sh.
#include <CppUTest/CommandLineTestRunner.h>
#include <CppUTest/TestHarness.h>

TEST_GROUP(Parser) {};
TEST(Parser, Deep) { LONGS_EQUAL(2, 1 + 1); }
TEST(Parser, DeepAndWide) { LONGS_EQUAL(2, 1 + 1); }
TEST(Parser, Wide) { LONGS_EQUAL(3, 1 + 1); }
IGNORE_TEST(Parser, Later) { FAIL("not yet"); }

TEST_GROUP(Crash) {};
TEST(Crash, Aborts) { abort(); }

int main(int argc, char **argv) { return CommandLineTestRunner::RunAllTests(argc, argv); }
