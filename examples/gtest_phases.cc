// GoogleTest with the listener: one test that passes in two phases, one that
// fails in the middle of a phase, one that is skipped.
#include "gtest_listener.h"

TEST(Parser, Shallow) {
	tl_slice_begin("load");
	tl_slice_end();
	tl_slice_begin("parse");
	tl_slice_end();
}

TEST(Parser, Deep) {
	tl_slice_begin("parse");
	ASSERT_EQ(1, 2) << "the tree is not as deep as it should be";
	tl_slice_end(); // not reached: the end of the case ends the slice
}

TEST(Printer, Wide) {
	GTEST_SKIP() << "there is no wide printer here";
}

int main(int argc, char **argv) {
	testing::InitGoogleTest(&argc, argv);
	tracelet::add_listener();
	return RUN_ALL_TESTS();
}
