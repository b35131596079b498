// The parts of `tracelet heap` that need no kernel: where probes are placed, and adding up.
#include "unit.h"

#include "heap/tally.h"
#include "symbol/probe_point.h"

#include <unistd.h>

// ---- where a probe is placed ----

static void test_a_program_is_put_where_the_kernel_carries_out_the_instruction(void **state) {
	static const struct {
		const char *code;
		size_t size, at;
	} cases[] = {
#define CODE(bytes) bytes, sizeof(bytes) - 1
		{CODE("\x41\x54\x55\x53"), 0},                             // push %r12
		{CODE("\x48\x85\xff\x0f\x84\xbf\x00\x00\x00\x55"), 3},     // test %rdi, %rdi; je
		{CODE("\xf3\x0f\x1e\xfa\x55"), 4},                         // endbr64; push %rbp
		{CODE("\x48\x89\xf8\x53"), 3},                             // mov %rdi, %rax; push
		{CODE("\x80\x3d\x46\x1b\x14\x00\x00\x0f\x84\x00\x00"), 7}, // cmpb $0, global; je
		{CODE("\x48\x83\xff\x08\x77\x10"), 4},                     // cmp $8, %rdi; ja
		// Instructions that must not be skipped: the probe stays at the start of the
		// function.
		{CODE("\x48\x83\xec\x18\x53"), 0}, // sub $24, %rsp
		{CODE("\x48\x89\xf7\x53"), 0},     // mov %rsi, %rdi
		{CODE("\x48\x89\xf5\x53"), 0},     // mov %rsi, %rbp
		{CODE("\x31\xff\x53"), 0},         // xor %edi, %edi
		{CODE("\x0f\x05\x53"), 0},         // syscall
		{CODE("\x48\x85"), 0},             // truncated
		{CODE("\x48\x85\xff"), 0},         // and nothing after it
		{CODE(""), 0},
#undef CODE
	};
	for (size_t i = 0; i < ARRAY_SIZE(cases); i++)
		assert_int_equal(cases[i].at, probe_point((const uint8_t *)cases[i].code, cases[i].size));
}

// ---- adding up ----

static void take_stack(struct heap_tally *tally, uint64_t id, uint64_t inner) {
	struct {
		struct heap_stack head;
		uint64_t addresses[2];
	} record = {{.kind = HEAP_RECORD_STACK, .frames = 2, .id = id, .flags = SAMPLE_STACK_COMPLETE},
		    {inner, 0x1000}};
	heap_tally_take(tally, &record, sizeof(record));
}

static void take_block(struct heap_tally *tally, uint64_t time, uint64_t address, uint64_t size,
		       uint64_t stack, uint64_t old) {
	struct heap_block record = {.kind = HEAP_RECORD_BLOCK,
				    .time = time,
				    .address = address,
				    .size = size,
				    .stack = stack,
				    .resized = old != 0,
				    .old = old};
	heap_tally_take(tally, &record, sizeof(record));
}

static void take_free(struct heap_tally *tally, uint64_t time, uint64_t address) {
	struct heap_free record = {.kind = HEAP_RECORD_FREE, .time = time, .address = address};
	heap_tally_take(tally, &record, sizeof(record));
}

static const struct heap_point *point_of(const struct heap_tally *tally, uint64_t stack) {
	uint64_t *node = map_get((struct map *)&tally->stacks, stack);
	assert_non_null(node);
	return &tally->area->points[tally->area->nodes[*node - 1].point];
}

static int begin(void **state) {
	struct heap_tally *tally = memory_alloc(sizeof(*tally));
	*state = tally;
	return heap_tally_init(tally, getpid());
}

static int end(void **state) {
	heap_tally_free(*state);
	free(*state);
	return 0;
}

static void test_blocks_are_added_up_for_their_stacks(void **state) {
	struct heap_tally *tally = *state;
	take_stack(tally, 7, 0x2000);
	take_stack(tally, 9, 0x3000);
	take_block(tally, 100, 0x10, 50, 7, 0);
	take_block(tally, 200, 0x20, 30, 9, 0);
	take_free(tally, 300, 0x10);
	take_block(tally, 400, 0x10, 10, 7, 0);
	const struct heap_point *first = point_of(tally, 7), *second = point_of(tally, 9);
	assert_int_equal(60, first->total_bytes);
	assert_int_equal(2, first->total_blocks);
	assert_int_equal(10, first->bytes);
	assert_int_equal(50, first->most_bytes);
	assert_int_equal(30, second->bytes);
	assert_int_equal(40, tally->area->bytes);
	assert_int_equal(80, tally->area->most_bytes);
	assert_int_equal(200, tally->area->peak_ticks);
	// The first has changed since the peak and knows its values then; the second has not.
	assert_int_equal(tally->area->peak, first->peak);
	assert_int_equal(50, first->peak_bytes);
	assert_int_not_equal(tally->area->peak, second->peak);
	assert_int_equal(200,
			 (int64_t)first->life + 400); // 300 - 100, and the block allocated at 400 is live
}

static void test_blocks_from_before_are_passed_over(void **state) {
	struct heap_tally *tally = *state;
	take_free(tally, 100, 0x10);
	assert_int_equal(1, tally->before);
	assert_int_equal(0, tally->area->bytes);
	assert_int_equal(1, tally->area->point_count);
}

static void test_a_resized_block_counts_again_where_it_came_from(void **state) {
	struct heap_tally *tally = *state;
	take_stack(tally, 7, 0x2000);
	take_stack(tally, 9, 0x3000);
	take_block(tally, 100, 0x10, 50, 7, 0);
	take_block(tally, 200, 0x30, 70, 9, 0x10);
	assert_int_equal(120, point_of(tally, 7)->total_bytes);
	assert_int_equal(2, point_of(tally, 7)->total_blocks);
	assert_int_equal(70, point_of(tally, 7)->bytes);
	take_block(tally, 300, 0x50, 5, 9, 0x40); // resized from a block allocated earlier
	assert_int_equal(5, point_of(tally, 9)->bytes);
}

static void test_a_block_whose_end_was_lost_ends_when_another_is_in_its_place(void **state) {
	struct heap_tally *tally = *state;
	take_stack(tally, 7, 0x2000);
	take_block(tally, 100, 0x10, 50, 7, 0);
	take_block(tally, 200, 0x10, 60, 7, 0);
	assert_int_equal(60, tally->area->bytes);
	assert_int_equal(1, point_of(tally, 7)->blocks);
}

static void test_a_block_without_a_stack_counts_all_the_same(void **state) {
	struct heap_tally *tally = *state;
	take_block(tally, 100, 0x10, 50, 0, 0);
	take_block(tally, 100, 0x20, 50, 4711, 0); // its stack was lost
	assert_int_equal(100, tally->area->points[0].total_bytes);
}

static void test_what_comes_after_the_window_does_not_count(void **state) {
	struct heap_tally *tally = *state;
	tally->until = 100;
	take_block(tally, 100, 0x10, 50, 0, 0);
	take_block(tally, 101, 0x20, 50, 0, 0);
	take_free(tally, 102, 0x10);
	assert_int_equal(50, tally->area->bytes);
}

static void test_records_that_are_cut_off_are_none(void **state) {
	struct heap_tally *tally = *state;
	struct heap_stack stack = {.kind = HEAP_RECORD_STACK, .frames = 1000, .id = 3};
	struct heap_block block = {.kind = HEAP_RECORD_BLOCK, .size = 1};
	heap_tally_take(tally, &stack, sizeof(stack));
	heap_tally_take(tally, &block, sizeof(block) - 1);
	heap_tally_take(tally, &block, 0);
	assert_int_equal(0, tally->stacks.count);
	assert_int_equal(0, tally->area->bytes);
}

int main(void) {
#define WITH_TALLY(test) cmocka_unit_test_setup_teardown(test, begin, end)
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_program_is_put_where_the_kernel_carries_out_the_instruction),
		WITH_TALLY(test_blocks_are_added_up_for_their_stacks),
		WITH_TALLY(test_blocks_from_before_are_passed_over),
		WITH_TALLY(test_a_resized_block_counts_again_where_it_came_from),
		WITH_TALLY(test_a_block_whose_end_was_lost_ends_when_another_is_in_its_place),
		WITH_TALLY(test_a_block_without_a_stack_counts_all_the_same),
		WITH_TALLY(test_what_comes_after_the_window_does_not_count),
		WITH_TALLY(test_records_that_are_cut_off_are_none),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
