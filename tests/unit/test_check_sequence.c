// `tracelet check`: sequences, interned ids, clocks.
#include "check_outcome.h"

// ---- sequences ----

static void test_flags_need_a_sequence(void **state) {
	struct buffer trace = {0};
	proto_end(&trace, packet_begin(&trace, 0, CLEARED));
	assert_only(&trace, "no-sequence");
}

static void test_state_is_needed_before_it_was_cleared(void **state) {
	struct buffer trace = {0};
	proto_end(&trace, packet_begin(&trace, 1, NEEDS_STATE));
	assert_only(&trace, "not-cleared");
}

static void test_interned_data_before_the_first_clear_is_ignored(void **state) {
	struct buffer trace = {0};
	size_t packet = packet_begin(&trace, 1, 0);
	size_t interned = proto_begin(&trace, INTERNED_DATA);
	interned_string(&trace, 2, 1, "name");
	proto_end(&trace, interned);
	proto_end(&trace, packet);
	assert_only(&trace, "state-ignored");
}

static void test_an_interned_entry_without_id(void **state) {
	struct buffer trace = {0};
	size_t packet = packet_begin(&trace, 1, CLEARED);
	size_t interned = proto_begin(&trace, INTERNED_DATA);
	interned_string(&trace, 2, 0, "name");
	proto_end(&trace, interned);
	proto_end(&trace, packet);
	assert_only(&trace, "interned-zero");
}

static void named_instant(struct buffer *trace, uint32_t sequence, uint32_t field, uint64_t id) {
	size_t packet = packet_begin(trace, sequence, NEEDS_STATE);
	size_t event = proto_begin(trace, TRACK_EVENT);
	proto_uint(trace, 9, INSTANT);
	proto_uint(trace, field, id);
	proto_end(trace, event);
	proto_end(trace, packet);
}

static void test_ids_of_track_events_resolve(void **state) {
	static const struct { uint32_t field, table; } ids[] = {{3, 1}, {10, 2}, {34, 4}, {56, 7}};
	for (size_t i = 0; i < ARRAY_SIZE(ids); i++) {
		struct buffer trace = {0};
		size_t packet = packet_begin(&trace, 1, CLEARED);
		size_t interned = proto_begin(&trace, INTERNED_DATA);
		proto_uint(&trace, 900, 1);
		size_t entry = proto_begin(&trace, ids[i].table);
		proto_uint(&trace, 1, 6);
		proto_end(&trace, entry);
		proto_end(&trace, interned);
		proto_end(&trace, packet);
		named_instant(&trace, 1, ids[i].field, 6);
		named_instant(&trace, 1, ids[i].field, 7);
		assert_only(&trace, "interned-id");
	}
}

static void test_an_id_of_another_sequence_does_not_resolve(void **state) {
	struct buffer trace = {0};
	size_t packet = packet_begin(&trace, 1, CLEARED);
	size_t interned = proto_begin(&trace, INTERNED_DATA);
	interned_string(&trace, 2, 1, "name");
	proto_end(&trace, interned);
	proto_end(&trace, packet);
	proto_end(&trace, packet_begin(&trace, 2, CLEARED));
	named_instant(&trace, 2, 10, 1);
	assert_only(&trace, "interned-id");
}

static void test_an_id_from_before_the_last_clear_does_not_resolve(void **state) {
	struct buffer trace = {0};
	size_t packet = packet_begin(&trace, 1, CLEARED);
	size_t interned = proto_begin(&trace, INTERNED_DATA);
	interned_string(&trace, 2, 1, "name");
	proto_end(&trace, interned);
	proto_end(&trace, packet);
	cleared(&trace);
	named_instant(&trace, 1, 10, 1);
	assert_only(&trace, "interned-id");
}

static void test_an_annotation_name_deep_inside_resolves(void **state) {
	struct buffer trace = {0};
	cleared(&trace);
	size_t packet = packet_begin(&trace, 1, NEEDS_STATE);
	size_t event = proto_begin(&trace, TRACK_EVENT);
	size_t outer = proto_begin(&trace, 4);
	size_t inner = proto_begin(&trace, 12);
	proto_uint(&trace, 1, 3);
	proto_end(&trace, inner);
	proto_end(&trace, outer);
	proto_end(&trace, event);
	proto_end(&trace, packet);
	assert_only(&trace, "interned-id");
}

static void test_ids_between_interned_entries_resolve(void **state) {
	static const struct { uint32_t table, field; } links[] = {{19, 2}, {19, 7}, {6, 2}, {6, 5}, {7, 2}};
	for (size_t i = 0; i < ARRAY_SIZE(links); i++) {
		struct buffer trace = {0};
		size_t packet = packet_begin(&trace, 1, CLEARED);
		size_t interned = proto_begin(&trace, INTERNED_DATA);
		interned_number(&trace, links[i].table, 1, links[i].field, 9);
		proto_end(&trace, interned);
		proto_end(&trace, packet);
		assert_only(&trace, "interned-id");
	}
}

static void test_a_frame_with_a_mapping_needs_an_address(void **state) {
	struct buffer trace = {0};
	size_t packet = packet_begin(&trace, 1, CLEARED);
	size_t interned = proto_begin(&trace, INTERNED_DATA);
	interned_number(&trace, 19, 1, 4, 0x1000);
	interned_number(&trace, 6, 1, 3, 1);
	proto_end(&trace, interned);
	proto_end(&trace, packet);
	assert_only(&trace, "frame-pc");
}

static void test_the_callstack_of_a_sample_resolves(void **state) {
	static const uint32_t kinds[][2] = {{PERF_SAMPLE, 4}, {STACK_SAMPLE, 6}, {54, 1}};
	for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
		struct buffer trace = {0};
		cleared(&trace);
		size_t packet = packet_begin(&trace, 1, NEEDS_STATE);
		size_t sample = proto_begin(&trace, kinds[i][0]);
		proto_uint(&trace, kinds[i][1], 5);
		proto_end(&trace, sample);
		proto_end(&trace, packet);
		assert_only(&trace, "interned-id");
	}
}

// ---- clocks ----

static void timed_packet(struct buffer *trace, uint32_t clock) {
	size_t packet = packet_begin(trace, 1, 0);
	proto_uint(trace, TIMESTAMP, 1);
	proto_uint(trace, TIMESTAMP_CLOCK, clock);
	proto_end(trace, packet);
}

static void test_a_clock_needs_a_snapshot(void **state) {
	struct buffer trace = {0};
	timed_packet(&trace, BOOTTIME); // the trace's own clock does not
	timed_packet(&trace, 3);
	assert_only(&trace, "clock");
}

static void test_a_clock_of_a_sequence_needs_a_snapshot_on_it(void **state) {
	struct buffer trace = {0};
	size_t packet = packet_begin(&trace, 2, 0);
	size_t snapshot = proto_begin(&trace, CLOCK_SNAPSHOT);
	clock_reading(&trace, OWN_CLOCK, 1, false);
	proto_end(&trace, snapshot);
	proto_end(&trace, packet);
	timed_packet(&trace, OWN_CLOCK);
	assert_only(&trace, "sequence-clock");
}

static void test_heap_dumps_need_clock_4(void **state) {
	struct buffer trace = {0};
	size_t packet = packet_begin(&trace, 1, 0);
	size_t profile = proto_begin(&trace, PROFILE_PACKET);
	proto_end(&trace, proto_begin(&trace, 5));
	proto_end(&trace, profile);
	proto_end(&trace, packet);
	assert_only(&trace, "clock");
}

int main(void) {
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_flags_need_a_sequence),
		cmocka_unit_test(test_state_is_needed_before_it_was_cleared),
		cmocka_unit_test(test_interned_data_before_the_first_clear_is_ignored),
		cmocka_unit_test(test_an_interned_entry_without_id),
		cmocka_unit_test(test_ids_of_track_events_resolve),
		cmocka_unit_test(test_an_id_of_another_sequence_does_not_resolve),
		cmocka_unit_test(test_an_id_from_before_the_last_clear_does_not_resolve),
		cmocka_unit_test(test_an_annotation_name_deep_inside_resolves),
		cmocka_unit_test(test_ids_between_interned_entries_resolve),
		cmocka_unit_test(test_a_frame_with_a_mapping_needs_an_address),
		cmocka_unit_test(test_the_callstack_of_a_sample_resolves),
		cmocka_unit_test(test_a_clock_needs_a_snapshot),
		cmocka_unit_test(test_a_clock_of_a_sequence_needs_a_snapshot_on_it),
		cmocka_unit_test(test_heap_dumps_need_clock_4),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
