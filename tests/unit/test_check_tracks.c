// `tracelet check`: what CPUs did, and tracks.
#include "check_outcome.h"

// ---- CPUs ----

static void kernel_release(struct buffer *trace) {
	size_t packet = packet_begin(trace, 0, 0);
	size_t info = proto_begin(trace, SYSTEM_INFO);
	size_t names = proto_begin(trace, 1);
	proto_string(trace, 3, "6.1");
	proto_end(trace, names);
	proto_end(trace, info);
	proto_end(trace, packet);
}

struct bundle {
	size_t packet, bundle, sched;
};

static struct bundle bundle_begin(struct buffer *trace, const uint64_t *cpu) {
	struct bundle bundle = {.packet = packet_begin(trace, 1, 0)};
	bundle.bundle = proto_begin(trace, FTRACE_EVENTS);
	if (cpu)
		proto_uint(trace, 1, *cpu);
	bundle.sched = proto_begin(trace, 4);
	return bundle;
}

static void bundle_end(struct buffer *trace, struct bundle bundle) {
	proto_end(trace, bundle.sched);
	proto_end(trace, bundle.bundle);
	proto_end(trace, bundle.packet);
}

// Switches (or wakeups) at these times, otherwise valid.
static void columns_at(struct buffer *trace, bool waking, uint64_t first, uint64_t delta) {
	uint32_t base = waking ? 7 : 1;
	PACKED(trace, base, first, delta);
	for (uint32_t field = 1; field <= (waking ? 4u : 3u); field++)
		PACKED(trace, base + field, 0, 0);
	if (!waking)
		PACKED(trace, 6, 0, 0);
	proto_string(trace, 5, "name");
}

static void test_a_number_of_eleven_bytes_in_an_array(void **state) {
	struct buffer trace = {0};
	kernel_release(&trace);
	struct bundle bundle = bundle_begin(&trace, &(uint64_t){0});
	static const char values[] =
		"\x01\x01\x01\x01\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x01\x01\x01\x01";
	proto_bytes(&trace, 3, values, sizeof(values) - 1);
	bundle_end(&trace, bundle);
	assert_only(&trace, "varint");
}

static void test_ten_bytes_of_a_negative_number_are_one_of_the_array(void **state) {
	struct buffer trace = {0};
	kernel_release(&trace);
	struct bundle bundle = bundle_begin(&trace, &(uint64_t){0});
	PACKED(&trace, 1, 1, 1, 1);
	PACKED(&trace, 2, (uint64_t)-1, (uint64_t)-1, (uint64_t)-1);
	PACKED(&trace, 3, 300, (uint64_t)-1, 300);
	PACKED(&trace, 4, 120, 120, (uint64_t)-1);
	PACKED(&trace, 6, 0, 0, 0);
	proto_string(&trace, 5, "name");
	bundle_end(&trace, bundle);
	assert_good(&trace);
}

static void test_ids_that_are_packed_are_not_taken(void **state) {
	struct buffer trace = {0};
	size_t packet = packet_begin(&trace, 1, CLEARED);
	size_t interned = proto_begin(&trace, INTERNED_DATA);
	size_t callstack = proto_begin(&trace, 7);
	proto_uint(&trace, 1, 1);
	PACKED(&trace, 2, 1, 2);
	proto_end(&trace, callstack);
	proto_end(&trace, interned);
	proto_end(&trace, packet);
	assert_only(&trace, "field-type");
}

static void test_scheduling_that_is_not_packed_is_not_taken(void **state) {
	struct buffer trace = {0};
	kernel_release(&trace);
	struct bundle bundle = bundle_begin(&trace, &(uint64_t){0});
	proto_uint(&trace, 1, 1);
	bundle_end(&trace, bundle);
	assert_only(&trace, "field-type");
}

static void test_scheduling_without_a_kernel_release_is_noted(void **state) {
	struct buffer trace = {0};
	bundle_end(&trace, bundle_begin(&trace, &(uint64_t){0}));
	assert_only(&trace, "no-release");
}

static void test_a_bundle_names_its_cpu(void **state) {
	struct buffer trace = {0};
	kernel_release(&trace);
	bundle_end(&trace, bundle_begin(&trace, NULL));
	assert_only(&trace, "no-cpu");
}

static void test_columns_of_scheduling_have_equal_length(void **state) {
	for (unsigned waking = 0; waking < 2; waking++) {
		struct buffer trace = {0};
		kernel_release(&trace);
		struct bundle bundle = bundle_begin(&trace, &(uint64_t){0});
		columns_at(&trace, waking, 1, 1);
		PACKED(&trace, waking ? 8 : 2, 0);
		bundle_end(&trace, bundle);
		assert_only(&trace, waking ? "waking-arrays" : "switch-arrays");
	}
}

static void test_thread_names_lie_inside_the_table(void **state) {
	static const uint32_t fields[] = {6, 11};
	for (size_t i = 0; i < ARRAY_SIZE(fields); i++) {
		struct buffer trace = {0};
		kernel_release(&trace);
		struct bundle bundle = bundle_begin(&trace, &(uint64_t){0});
		proto_string(&trace, 5, "only one");
		PACKED(&trace, fields[i], 0, 1);
		bundle_end(&trace, bundle);
		assert_only(&trace, "comm-index");
	}
}

static void test_a_negative_step_of_time_goes_backwards(void **state) {
	for (unsigned waking = 0; waking < 2; waking++) {
		struct buffer trace = {0};
		kernel_release(&trace);
		struct bundle bundle = bundle_begin(&trace, &(uint64_t){0});
		columns_at(&trace, waking, 100, (uint64_t)-1);
		bundle_end(&trace, bundle);
		assert_only(&trace, waking ? "waking-time" : "switch-time");
	}
}

static void test_time_goes_on_from_bundle_to_bundle_of_a_cpu(void **state) {
	struct buffer trace = {0};
	kernel_release(&trace);
	static const struct { uint64_t cpu, time; } bundles[] = {{0, 100}, {1, 50}, {0, 101}, {0, 99}};
	for (size_t i = 0; i < ARRAY_SIZE(bundles); i++) {
		struct bundle bundle = bundle_begin(&trace, &bundles[i].cpu);
		columns_at(&trace, false, bundles[i].time, 0);
		bundle_end(&trace, bundle);
	}
	assert_only(&trace, "switch-time");
}

static void test_ftrace_events_of_a_cpu_are_in_order(void **state) {
	struct buffer trace = {0};
	size_t packet = packet_begin(&trace, 1, 0);
	size_t bundle = proto_begin(&trace, FTRACE_EVENTS);
	for (uint64_t time = 20; time >= 10; time -= 10) {
		size_t event = proto_begin(&trace, 2);
		proto_uint(&trace, 1, time);
		proto_end(&trace, event);
	}
	proto_uint(&trace, 1, 0); // the CPU may come last
	proto_end(&trace, bundle);
	proto_end(&trace, packet);
	assert_only(&trace, "event-time");
}

// ---- tracks ----

static void test_thread_tracks_have_pid_and_tid(void **state) {
	struct buffer without_pid = {0}, without_tid = {0};
	describe_thread(&without_pid, 5, NULL, &(uint64_t){7});
	assert_only(&without_pid, "thread-ids");
	describe_thread(&without_tid, 5, &(uint64_t){7}, NULL);
	assert_only(&without_tid, "thread-ids");
}

static void test_idle_has_no_track(void **state) {
	struct buffer trace = {0};
	describe_thread(&trace, 5, &(uint64_t){7}, &(uint64_t){0});
	assert_only(&trace, "idle-track");
}

static void test_a_track_event_needs_a_sequence(void **state) {
	struct buffer trace = {0};
	size_t packet = packet_begin(&trace, 0, 0);
	proto_end(&trace, proto_begin(&trace, TRACK_EVENT));
	proto_end(&trace, packet);
	assert_only(&trace, "no-sequence");
}

static void test_a_track_event_has_a_time(void **state) {
	struct buffer trace = {0}, own = {0};
	size_t packet = proto_begin(&trace, 1);
	proto_uint(&trace, SEQUENCE, 1);
	proto_end(&trace, proto_begin(&trace, TRACK_EVENT));
	proto_end(&trace, packet);
	assert_only(&trace, "track-event-time");
	packet = proto_begin(&own, 1);
	proto_uint(&own, SEQUENCE, 1);
	size_t event = proto_begin(&own, TRACK_EVENT);
	proto_uint(&own, 16, 7); // in microseconds
	proto_end(&own, event);
	proto_end(&own, packet);
	assert_good(&own);
}

static void test_a_track_needs_a_descriptor(void **state) {
	struct buffer trace = {0};
	track_event(&trace, 1, 0, INSTANT); // the track of the whole trace does not
	track_event(&trace, 1, 5, INSTANT);
	assert_only(&trace, "no-track");
}

static void test_a_parent_needs_a_descriptor(void **state) {
	struct buffer trace = {0};
	describe_track(&trace, 5, 6, false);
	assert_only(&trace, "no-parent");
}

static void test_parents_do_not_go_in_circles(void **state) {
	struct buffer trace = {0};
	describe_track(&trace, 4, 5, false);
	describe_track(&trace, 5, 6, false);
	describe_track(&trace, 6, 5, false);
	assert_only(&trace, "parent-cycle");
}

static void test_a_counter_needs_a_counter_track(void **state) {
	struct buffer trace = {0};
	describe_track(&trace, 5, 0, false);
	track_event(&trace, 1, 5, COUNTER);
	assert_only(&trace, "counter-elsewhere");
}

static void test_a_counter_track_takes_no_slices(void **state) {
	struct buffer trace = {0};
	describe_track(&trace, 5, 0, true);
	track_event(&trace, 1, 5, INSTANT);
	assert_only(&trace, "slice-on-counter");
}

static void test_a_counter_has_a_value(void **state) {
	struct buffer trace = {0};
	describe_track(&trace, 5, 0, true);
	size_t packet = packet_begin(&trace, 1, 0);
	size_t event = proto_begin(&trace, TRACK_EVENT);
	proto_uint(&trace, 9, COUNTER);
	proto_uint(&trace, 11, 5);
	proto_end(&trace, event);
	proto_end(&trace, packet);
	assert_only(&trace, "counter-value");
}

static void test_extra_counter_values_have_tracks(void **state) {
	struct buffer trace = {0};
	size_t packet = packet_begin(&trace, 1, 0);
	size_t event = proto_begin(&trace, TRACK_EVENT);
	proto_uint(&trace, 31, 5);
	proto_uint(&trace, 12, 1);
	proto_uint(&trace, 12, 2);
	proto_end(&trace, event);
	proto_end(&trace, packet);
	assert_only(&trace, "extra-counters");
}

static void test_an_end_needs_a_begin(void **state) {
	struct buffer trace = {0};
	describe_track(&trace, 5, 0, false);
	track_event(&trace, 1, 5, SLICE_END);
	assert_only(&trace, "end-first");
}

static void test_an_end_before_its_begin_is_both(void **state) {
	struct buffer trace = {0};
	describe_track(&trace, 5, 0, false);
	track_event(&trace, 1, 5, SLICE_END);
	track_event(&trace, 2, 5, SLICE_BEGIN);
	struct outcome outcome = check_bytes(trace.data, trace.size);
	assert_int_equal(outcome.kinds.count, 2);
	assert_string_equal(outcome.kinds.items[0], "end-first");
	assert_string_equal(outcome.kinds.items[1], "never-ends");
	array_free(&outcome.kinds);
	buffer_free(&trace);
}

static void test_a_slice_that_never_ends(void **state) {
	struct buffer trace = {0};
	describe_track(&trace, 5, 0, false);
	track_event(&trace, 1, 5, SLICE_BEGIN);
	track_event(&trace, 2, 5, SLICE_END);
	uint64_t end = trace.size;
	track_event(&trace, 3, 5, SLICE_BEGIN);
	assert_true(assert_only(&trace, "never-ends") > end);
}

static void test_more_ends_than_begins_out_of_order(void **state) {
	struct buffer trace = {0};
	describe_track(&trace, 5, 0, false);
	track_event(&trace, 20, 5, SLICE_END);
	track_event(&trace, 10, 5, SLICE_BEGIN);
	track_event(&trace, 30, 5, SLICE_END);
	assert_only(&trace, "too-many-ends");
}

int main(void) {
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_number_of_eleven_bytes_in_an_array),
		cmocka_unit_test(test_ten_bytes_of_a_negative_number_are_one_of_the_array),
		cmocka_unit_test(test_ids_that_are_packed_are_not_taken),
		cmocka_unit_test(test_scheduling_that_is_not_packed_is_not_taken),
		cmocka_unit_test(test_scheduling_without_a_kernel_release_is_noted),
		cmocka_unit_test(test_a_bundle_names_its_cpu),
		cmocka_unit_test(test_columns_of_scheduling_have_equal_length),
		cmocka_unit_test(test_thread_names_lie_inside_the_table),
		cmocka_unit_test(test_a_negative_step_of_time_goes_backwards),
		cmocka_unit_test(test_time_goes_on_from_bundle_to_bundle_of_a_cpu),
		cmocka_unit_test(test_ftrace_events_of_a_cpu_are_in_order),
		cmocka_unit_test(test_thread_tracks_have_pid_and_tid),
		cmocka_unit_test(test_idle_has_no_track),
		cmocka_unit_test(test_a_track_event_needs_a_sequence),
		cmocka_unit_test(test_a_track_event_has_a_time),
		cmocka_unit_test(test_a_track_needs_a_descriptor),
		cmocka_unit_test(test_a_parent_needs_a_descriptor),
		cmocka_unit_test(test_parents_do_not_go_in_circles),
		cmocka_unit_test(test_a_counter_needs_a_counter_track),
		cmocka_unit_test(test_a_counter_track_takes_no_slices),
		cmocka_unit_test(test_a_counter_has_a_value),
		cmocka_unit_test(test_extra_counter_values_have_tracks),
		cmocka_unit_test(test_an_end_needs_a_begin),
		cmocka_unit_test(test_an_end_before_its_begin_is_both),
		cmocka_unit_test(test_a_slice_that_never_ends),
		cmocka_unit_test(test_more_ends_than_begins_out_of_order),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
