// The tables of names and stacks, and the tally that counts events.
#include "unit.h"

#include "event/tally.h"

#include <stdio.h>
#include <string.h>

// ---- strings ----

static void test_a_text_has_one_id(void **state) {
	struct strings *strings = strings_new();
	uint32_t first = strings_add(strings, "worker"), second = strings_add(strings, "backup");
	assert_int_not_equal(first, second);
	assert_int_equal(strings_add(strings, "worker"), first);
	assert_string_equal(strings_get(strings, second), "backup");
	assert_int_equal(strings_length(strings, second), 6);
	strings_free(strings);
}

static void test_the_empty_text_is_id_zero(void **state) {
	struct strings *strings = strings_new();
	assert_int_equal(strings_add(strings, ""), 0);
	assert_int_equal(strings_add_bytes(strings, NULL, 0), 0);
	assert_string_equal(strings_get(strings, 0), "");
	strings_free(strings);
}

static void test_texts_may_hold_nuls(void **state) {
	struct strings *strings = strings_new();
	uint32_t pair = strings_add_bytes(strings, "a\0b", 4), single = strings_add(strings, "a");
	assert_int_not_equal(pair, single);
	assert_int_equal(strings_length(strings, pair), 4);
	assert_memory_equal(strings_get(strings, pair), "a\0b\0", 5);
	strings_free(strings);
}

static void test_an_unknown_id_is_the_empty_text(void **state) {
	struct strings *strings = strings_new();
	assert_string_equal(strings_get(strings, 12345), "");
	assert_int_equal(strings_length(strings, 12345), 0);
	strings_free(strings);
}

static void test_ten_thousand_texts_are_distinguished(void **state) {
	struct strings *strings = strings_new();
	char text[32];
	for (uint32_t round = 0; round < 2; round++)
		for (uint32_t i = 1; i <= 10000; i++) {
			snprintf(text, sizeof(text), "task %u", i);
			assert_int_equal(strings_add(strings, text), i);
		}
	strings_free(strings);
}

// An attacker who knows the seed can give sixteen bytes any hash: the second word undoes the first.
static void test_texts_with_the_same_hash_are_distinguished(void **state) {
	struct strings *strings = strings_new();
	uint64_t start = 16 * 0x9e3779b97f4a7c15u ^ hash_seed, words[3][2];
	for (uint64_t i = 0; i < 3; i++) {
		words[i][0] = i;
		words[i][1] = hash_u64(start ^ i);
	}
	assert_true(hash_bytes(words[0], 16) == hash_bytes(words[1], 16));
	for (uint32_t round = 0; round < 2; round++)
		for (uint32_t i = 0; i < 3; i++)
			assert_int_equal(strings_add_bytes(strings, words[i], 16), i + 1);
	assert_memory_equal(strings_get(strings, 3), words[2], 16);
	strings_free(strings);
}

// ---- stacks ----

static void test_a_frame_has_one_id(void **state) {
	struct stacks *stacks = stacks_new();
	struct frame frame = {.address = 0x1000, .symbol = 1, .kind = FRAME_KERNEL};
	uint32_t first = stacks_add_frame(stacks, &frame);
	assert_int_equal(stacks_add_frame(stacks, &frame), first);
	frame.kind = FRAME_USER;
	uint32_t second = stacks_add_frame(stacks, &frame);
	assert_int_not_equal(first, second);
	assert_int_equal(stacks_frame(stacks, first)->kind, FRAME_KERNEL);
	assert_null(stacks_frame(stacks, 2));
	stacks_free(stacks);
}

static void test_a_stack_has_one_id_and_shares_its_callers(void **state) {
	struct stacks *stacks = stacks_new();
	uint32_t main = stacks_add(stacks, 0, 0);
	uint32_t left = stacks_add(stacks, main, 1), right = stacks_add(stacks, main, 2);
	assert_int_not_equal(main, 0);
	assert_int_not_equal(left, right);
	assert_int_equal(stacks_add(stacks, main, 1), left);
	assert_int_not_equal(stacks_add(stacks, 0, 1), left);
	assert_int_equal(stacks_get(stacks, left)->caller, main);
	assert_int_equal(stacks_get(stacks, right)->caller, main);
	assert_int_equal(stacks_get(stacks, right)->frame, 2);
	assert_null(stacks_get(stacks, 0));
	assert_null(stacks_get(stacks, 100));
	stacks_free(stacks);
}

static void test_a_stack_with_itself_above_is_deeper_by_one(void **state) {
	struct stacks *stacks = stacks_new();
	uint32_t stack = 0;
	for (uint32_t depth = 1; depth <= 1000; depth++) {
		stack = stacks_add(stacks, stack, 7);
		assert_int_equal(stack, depth);
	}
	stacks_free(stacks);
}

static void test_tables_can_be_freed_twice(void **state) {
	struct tables tables = tables_new();
	tables_free(&tables);
	tables_free(&tables);
}

// ---- the tally ----

static unsigned pushed, finished, destroyed;

static int count_push(struct sink *sink, const struct event *event) {
	pushed++;
	return event->kind == EVENT_EXIT ? -1 : 0;
}

static int count_finish(struct sink *sink) {
	finished++;
	return 0;
}

static void count_destroy(struct sink *sink) {
	destroyed++;
}

static void test_the_tally_counts_and_passes_on(void **state) {
	static const struct event events[] = {
		{.kind = EVENT_START, .time = 1},
		{.kind = EVENT_TASK, .time = 1},
		{.kind = EVENT_SWITCH, .time = 20},
		{.kind = EVENT_SWITCH, .time = 10}, // on another CPU
		{.kind = EVENT_WAKING, .time = 15},
		{.kind = EVENT_LOST, .time = 30, .lost = {.count = 5, .source = SOURCE_IRQ}},
		{.kind = EVENT_LOST, .time = 31, .lost = {.count = 2, .source = SOURCE_IRQ}},
		{.kind = EVENT_WATERMARK, .time = 40},
	};
	struct sink next = {.push = count_push, .finish = count_finish, .destroy = count_destroy};
	struct tally tally;
	struct sink *sink = tally_init(&tally, &next);
	for (size_t i = 0; i < ARRAY_SIZE(events); i++)
		assert_int_equal(sink_push(sink, &events[i]), 0);
	assert_int_equal(sink_push(sink, &(struct event){.kind = EVENT_EXIT, .time = 16}), -1);
	assert_int_equal(sink_finish(sink), 0);
	sink_destroy(sink);
	assert_int_equal(pushed, ARRAY_SIZE(events) + 1);
	assert_int_equal(finished, 1);
	assert_int_equal(destroyed, 1);
	assert_int_equal(tally.events, 4);
	assert_int_equal(tally.kinds[EVENT_SWITCH], 2);
	assert_int_equal(tally.lost[SOURCE_IRQ], 7);
	assert_int_equal(tally.lost[SOURCE_SCHED], 0);
	assert_int_equal(tally.first, 10);
	assert_int_equal(tally.last, 20);
}

static uint64_t gaps_of(const struct event *events, size_t count) {
	struct sink next = {.push = count_push, .finish = count_finish, .destroy = count_destroy};
	struct tally tally;
	struct sink *sink = tally_init(&tally, &next);
	for (size_t i = 0; i < count; i++)
		sink_push(sink, &events[i]);
	sink_destroy(sink);
	return tally.gaps;
}
#define GAPS(...)                                                                                            \
	gaps_of((struct event[]){__VA_ARGS__}, sizeof((struct event[]){__VA_ARGS__}) / sizeof(struct event))
#define SWITCH(number, from, to)                                                                             \
	{                                                                                                    \
		.kind = EVENT_SWITCH, .cpu = (number), .tid = (from), .switched = {.next_tid = (to) }        \
	}

static void test_a_switch_that_is_missing_is_a_gap(void **state) {
	assert_int_equal(GAPS(SWITCH(0, 0, 10), SWITCH(0, 10, 11), SWITCH(0, 11, 0)), 0);
	assert_int_equal(GAPS(SWITCH(0, 0, 10), SWITCH(0, 11, 12)), 1);
	assert_int_equal(GAPS(SWITCH(0, 0, 10), SWITCH(1, 11, 12)), 0); // another CPU
	// Already counted as lost.
	assert_int_equal(GAPS(SWITCH(0, 0, 10), {.kind = EVENT_LOST}, SWITCH(0, 11, 12)), 0);
	// A task outside the test may arrive unnoticed, a task of the test may not.
	assert_int_equal(GAPS(SWITCH(0, 10, TID_OUTSIDE), SWITCH(0, TID_OUTSIDE + 1, 12)), 0);
	assert_int_equal(GAPS(SWITCH(0, 10, TID_OUTSIDE), SWITCH(0, 11, 12)), 1);
	// A thread that called exec continues as its process.
	assert_int_equal(GAPS(SWITCH(0, 0, 12), {.kind = EVENT_EXEC, .tid = 10, .exec = {.old_tid = 12}},
			      SWITCH(0, 10, 0)),
			 0);
}

static void test_every_source_has_a_name(void **state) {
	for (int source = 0; source < SOURCE_COUNT; source++)
		assert_non_null(event_source_names[source]);
}

int main(void) {
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_text_has_one_id),
		cmocka_unit_test(test_the_empty_text_is_id_zero),
		cmocka_unit_test(test_texts_may_hold_nuls),
		cmocka_unit_test(test_an_unknown_id_is_the_empty_text),
		cmocka_unit_test(test_ten_thousand_texts_are_distinguished),
		cmocka_unit_test(test_texts_with_the_same_hash_are_distinguished),
		cmocka_unit_test(test_a_frame_has_one_id),
		cmocka_unit_test(test_a_stack_has_one_id_and_shares_its_callers),
		cmocka_unit_test(test_a_stack_with_itself_above_is_deeper_by_one),
		cmocka_unit_test(test_tables_can_be_freed_twice),
		cmocka_unit_test(test_the_tally_counts_and_passes_on),
		cmocka_unit_test(test_a_switch_that_is_missing_is_a_gap),
		cmocka_unit_test(test_every_source_has_a_name),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
