// Packets of a guest's trace in its host's.
#include "unit.h"

#include "base/cursor.h"
#include "flow/merge.h"
#include "format/perfetto_fields.h"
#include "read/perfetto/wire.h"

#include <errno.h>

// ---- packets ----

struct merged {
	struct merge_machine machine;
	struct buffer in, out;
	uint64_t time;
};

// Rewrites `in`, a whole packet, and returns the fields one level below the message that `path`
// names; `path` ends with a zero.
static struct cursor rewrite(struct merged *merged, const uint32_t *path) {
	struct cursor packet = cursor_of(merged->in.data, merged->in.size);
	struct wire_field field;
	assert_true(guest_clock_parse("1000 50000 7", &merged->machine.clock));
	merged->machine.id = 3;
	assert_int_equal(merge_packet(&merged->machine, packet, &merged->out, &merged->time), 0);
	struct cursor at = cursor_of(merged->out.data, merged->out.size);
	for (; *path; path++) {
		bool found = false;
		while (!found && wire_each(&at, &field))
			found = field.number == *path;
		assert_true(found);
		at = field.bytes;
	}
	return at;
}

static uint64_t number(struct cursor message, uint32_t wanted) {
	struct wire_field field;
	while (wire_each(&message, &field))
		if (field.number == wanted)
			return field.value;
	fail_msg("there is no field %u", wanted);
	return 0;
}

static void merged_free(struct merged *merged) {
	buffer_free(&merged->in);
	buffer_free(&merged->out);
	map_free(&merged->machine.default_clocks);
}

static void test_packet_has_machine_time_and_sequence(void **state) {
	struct merged merged = {0};
	proto_uint(&merged.in, PACKET_TIMESTAMP, 1234);
	proto_uint(&merged.in, PACKET_SEQUENCE_ID, 5);
	proto_uint(&merged.in, 777, 42); // an unknown field
	struct cursor packet = rewrite(&merged, (uint32_t[]){TRACE_PACKET, 0});
	assert_int_equal(number(packet, PACKET_MACHINE), 3);
	assert_int_equal(number(packet, PACKET_TIMESTAMP), 51234);
	assert_int_equal(merged.time, 51234);
	assert_int_equal(number(packet, 777), 42);
	assert_int_not_equal(number(packet, PACKET_SEQUENCE_ID), 5);
	merged_free(&merged);
}

static void test_time_of_another_clock_stays(void **state) {
	struct merged merged = {0};
	proto_uint(&merged.in, PACKET_TIMESTAMP, 1234);
	proto_uint(&merged.in, PACKET_CLOCK, CLOCK_ID_MONOTONIC);
	struct cursor packet = rewrite(&merged, (uint32_t[]){TRACE_PACKET, 0});
	assert_int_equal(number(packet, PACKET_TIMESTAMP), 1234);
	merged_free(&merged);
}

static void test_times_of_switches_are_the_hosts(void **state) {
	struct merged merged = {0};
	static const uint64_t deltas[] = {1100, 10, 20};
	size_t bundle = proto_begin(&merged.in, PACKET_FTRACE_EVENTS);
	proto_uint(&merged.in, BUNDLE_CPU, 1);
	size_t event = proto_begin(&merged.in, BUNDLE_EVENT);
	proto_uint(&merged.in, FTRACE_TIMESTAMP, 1050);
	proto_uint(&merged.in, FTRACE_PID, 9);
	proto_end(&merged.in, event);
	size_t sched = proto_begin(&merged.in, BUNDLE_COMPACT_SCHED);
	size_t times = proto_begin(&merged.in, COMPACT_SWITCH_TIMESTAMP);
	for (size_t i = 0; i < ARRAY_SIZE(deltas); i++)
		buffer_varint(&merged.in, deltas[i]);
	proto_end(&merged.in, times);
	proto_end(&merged.in, sched);
	proto_end(&merged.in, bundle);
	struct cursor found = rewrite(&merged,
				      (uint32_t[]){TRACE_PACKET, PACKET_FTRACE_EVENTS, BUNDLE_COMPACT_SCHED,
						   COMPACT_SWITCH_TIMESTAMP, 0});
	assert_int_equal(cursor_varint(&found), 51100);
	assert_int_equal(cursor_varint(&found), 10);
	assert_int_equal(cursor_varint(&found), 20);
	assert_int_equal(cursor_left(&found), 0);
	merged.out.size = 0;
	found = rewrite(&merged, (uint32_t[]){TRACE_PACKET, PACKET_FTRACE_EVENTS, BUNDLE_EVENT, 0});
	assert_int_equal(number(found, FTRACE_TIMESTAMP), 51050);
	assert_int_equal(number(found, FTRACE_PID), 9);
	merged_free(&merged);
}

static void test_tracks_are_the_machines_own(void **state) {
	struct merged merged = {0};
	size_t track = proto_begin(&merged.in, PACKET_TRACK_DESCRIPTOR);
	proto_uint(&merged.in, TRACK_UUID, 77);
	proto_uint(&merged.in, TRACK_PARENT, 0);
	proto_end(&merged.in, track);
	struct cursor found = rewrite(&merged, (uint32_t[]){TRACE_PACKET, PACKET_TRACK_DESCRIPTOR, 0});
	uint64_t uuid = number(found, TRACK_UUID);
	assert_int_not_equal(uuid, 77);
	assert_int_equal(number(found, TRACK_PARENT), 0);
	merged.in.size = merged.out.size = 0;
	size_t event = proto_begin(&merged.in, PACKET_TRACK_EVENT);
	proto_uint(&merged.in, TRACK_EVENT_TRACK, 77);
	proto_end(&merged.in, event);
	found = rewrite(&merged, (uint32_t[]){TRACE_PACKET, PACKET_TRACK_EVENT, 0});
	assert_int_equal(number(found, TRACK_EVENT_TRACK), uuid);
	merged_free(&merged);
}

static void test_what_cannot_be_merged_is_refused(void **state) {
	struct merged merged = {.machine.id = 1};
	proto_uint(&merged.in, PACKET_MACHINE, 1);
	struct cursor packet = cursor_of(merged.in.data, merged.in.size);
	assert_int_equal(merge_packet(&merged.machine, packet, &merged.out, &merged.time), -EEXIST);
	merged.in.size = 0;
	proto_string(&merged.in, PACKET_COMPRESSED, "x");
	packet = cursor_of(merged.in.data, merged.in.size);
	assert_int_equal(merge_packet(&merged.machine, packet, &merged.out, &merged.time), -ENOTSUP);
	packet = cursor_of("\x0a\x7f", 2);
	assert_int_equal(merge_packet(&merged.machine, packet, &merged.out, &merged.time), -EINVAL);
	merged_free(&merged);
}

int main(void) {
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_packet_has_machine_time_and_sequence),
		cmocka_unit_test(test_time_of_another_clock_stays),
		cmocka_unit_test(test_times_of_switches_are_the_hosts),
		cmocka_unit_test(test_tracks_are_the_machines_own),
		cmocka_unit_test(test_what_cannot_be_merged_is_refused),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
