// `tracelet check`: the file, the wire format, the public interface.
#include "check_outcome.h"

#include <errno.h>
#include <stdio.h>
#include <unistd.h>

// ---- valid traces ----

static void test_a_trace_with_everything_is_good(void **state) {
	struct buffer trace = {0};
	sample_trace(&trace);
	struct outcome outcome = check_bytes(trace.data, trace.size);
	assert_int_equal(outcome.result.packets, 14);
	// two bundles of 1 + 3 + 2, three samples, three track events
	assert_int_equal(outcome.result.events, 12 + 3 + 3);
	assert_good(&trace);
}

static void test_unknown_fields_are_fine(void **state) {
	struct buffer trace = {0};
	size_t packet = packet_begin(&trace, 0, 0);
	proto_string(&trace, 900, "something new");
	proto_double(&trace, 901, 1);
	proto_end(&trace, packet);
	assert_good(&trace);
}

static void test_descriptors_may_come_after_their_events(void **state) {
	struct buffer trace = {0};
	track_event(&trace, 1, 5, INSTANT);
	describe_track(&trace, 5, 0, false);
	assert_good(&trace);
}

static void test_slices_written_out_of_order_are_counted_only(void **state) {
	struct buffer trace = {0};
	describe_track(&trace, 5, 0, false);
	track_event(&trace, 20, 5, SLICE_END);
	track_event(&trace, 10, 5, SLICE_BEGIN);
	assert_good(&trace);
}

static void test_what_a_lost_packet_held_is_not_asked_for(void **state) {
	struct buffer trace = {0};
	size_t packet = packet_begin(&trace, 1, NEEDS_STATE);
	proto_uint(&trace, 42, 1);
	size_t sample = proto_begin(&trace, PERF_SAMPLE);
	proto_uint(&trace, 4, 9);
	proto_end(&trace, sample);
	proto_end(&trace, packet);
	assert_good(&trace);
}

static void test_compressed_packets_are_noted_and_what_seems_missing_is_not(void **state) {
	struct buffer trace = {0};
	size_t packet = packet_begin(&trace, 0, 0);
	proto_string(&trace, COMPRESSED, "deflated");
	proto_end(&trace, packet);
	track_event(&trace, 1, 5, SLICE_BEGIN);
	struct outcome outcome = check_bytes(trace.data, trace.size);
	assert_int_equal(outcome.result.defects, 0);
	assert_int_equal(outcome.result.notes, 1);
	array_free(&outcome.kinds);
	assert_only(&trace, "compressed");
}

static void test_equal_ids_of_two_machines_are_two_sequences(void **state) {
	struct buffer trace = {0};
	cleared(&trace);
	size_t packet = packet_begin(&trace, 1, NEEDS_STATE);
	proto_uint(&trace, 98, 2);
	proto_end(&trace, packet);
	assert_only(&trace, "not-cleared");
}

// ---- the file ----

static void test_an_empty_file_is_too_small(void **state) {
	struct buffer trace = {0};
	assert_only(&trace, "too-small");
}

static void test_the_smallest_size_can_be_asked_for(void **state) {
	struct buffer trace = {0};
	struct outcome outcome = {0};
	struct stream input;
	sample_trace(&trace);
	stream_of_memory(&input, trace.data, trace.size);
	struct tl_check_opts options = {
		.on_finding = remember, .context = &outcome, .min_size = trace.size + 1};
	check_stream(&input, &options, &outcome.result);
	assert_int_equal(outcome.kinds.count, 1);
	assert_string_equal(outcome.kinds.items[0], "too-small");
	stream_close(&input);
	array_free(&outcome.kinds);
	buffer_free(&trace);
}

static void test_another_first_byte_is_not_a_trace(void **state) {
	struct buffer trace = {0};
	buffer_append(&trace, "PERFILE2", 8);
	assert_only(&trace, "first-tag");
}

static void test_something_between_packets_is_named_with_its_offset(void **state) {
	struct buffer trace = {0};
	cleared(&trace);
	uint64_t end = trace.size;
	buffer_append(&trace, "\x12\x01x", 3);
	assert_int_equal(assert_only(&trace, "tag"), end);
}

static void test_a_packet_that_is_cut_off_is_truncated(void **state) {
	struct buffer trace = {0};
	cleared(&trace);
	uint64_t end = trace.size;
	describe_track(&trace, 5, 0, false);
	trace.size -= 3;
	assert_int_equal(assert_only(&trace, "truncated"), end);
}

static void test_a_packet_length_that_is_cut_off(void **state) {
	struct buffer trace = {0};
	cleared(&trace);
	buffer_append(&trace, "\x0a\x80", 2);
	assert_only(&trace, "packet-length");
}

static void test_a_packet_of_a_gigabyte_is_refused(void **state) {
	struct buffer trace = {0};
	proto_tag(&trace, 1, PROTO_BYTES);
	buffer_varint(&trace, 1u << 30);
	assert_only(&trace, "packet-size");
}

static void test_truncation_anywhere_is_found(void **state) {
	struct buffer trace = {0};
	sample_trace(&trace);
	size_t boundary = 0;
	for (size_t size = 0; size < trace.size; size++) {
		struct outcome outcome = check_bytes(trace.data, size);
		uint64_t packets = outcome.result.packets;
		array_free(&outcome.kinds);
		// At a boundary the packet before it is complete; one byte less and it is not.
		struct outcome more = check_bytes(trace.data, size + 1);
		array_free(&more.kinds);
		if (size != boundary)
			assert_true(outcome.result.defects > 0);
		if (more.result.packets > packets)
			boundary = size + 1;
	}
	assert_int_equal(boundary, trace.size);
	buffer_free(&trace);
}

static void test_any_changed_byte_is_survived(void **state) {
	struct buffer trace = {0};
	sample_trace(&trace);
	for (size_t at = 0; at < trace.size; at++) {
		for (unsigned bit = 0; bit < 8; bit++) {
			trace.data[at] ^= (uint8_t)(1u << bit);
			struct outcome outcome = check_bytes(trace.data, trace.size);
			assert_int_equal(outcome.result.bytes, trace.size);
			array_free(&outcome.kinds);
			trace.data[at] ^= (uint8_t)(1u << bit);
		}
	}
	assert_good(&trace);
}

// ---- wire format ----

static void test_a_nested_length_past_its_parent(void **state) {
	struct buffer trace = {0};
	RAW_PACKET(&trace, "\x12\x7f\x08\x01");
	assert_int_equal(assert_only(&trace, "overrun"), 2);
}

static void test_a_fault_inside_a_nested_message_is_said_once(void **state) {
	struct buffer trace = {0};
	// process_tree { process { truncated pid } }
	RAW_PACKET(&trace, "\x12\x03\x0a\x01\x08");
	assert_int_equal(assert_only(&trace, "overrun"), 6);
}

static void test_a_fault_does_not_hide_the_packets_behind_it(void **state) {
	struct buffer trace = {0};
	RAW_PACKET(&trace, "\x12\x7f\x08\x01");
	RAW_PACKET(&trace, "\x12\x7f\x08\x01");
	struct outcome outcome = check_bytes(trace.data, trace.size);
	assert_int_equal(outcome.result.packets, 2);
	assert_int_equal(outcome.result.defects, 2);
	array_free(&outcome.kinds);
	buffer_free(&trace);
}

static void test_a_number_of_eleven_bytes(void **state) {
	struct buffer trace = {0};
	RAW_PACKET(&trace, "\x40\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01");
	assert_only(&trace, "varint");
}

static void test_field_number_zero(void **state) {
	struct buffer trace = {0};
	RAW_PACKET(&trace, "\x00\x01");
	assert_only(&trace, "field-number");
}

static void test_groups_do_not_exist_in_a_trace(void **state) {
	struct buffer trace = {0};
	RAW_PACKET(&trace, "\x43\x44");
	assert_only(&trace, "wire-type");
}

static void test_a_known_field_of_another_type(void **state) {
	struct buffer trace = {0};
	size_t packet = packet_begin(&trace, 0, 0);
	size_t tree = proto_begin(&trace, PROCESS_TREE);
	proto_uint(&trace, 1, 10); // a message
	proto_end(&trace, tree);
	proto_end(&trace, packet);
	assert_only(&trace, "field-type");
}

static void test_a_timestamp_of_another_type(void **state) {
	struct buffer trace = {0};
	size_t packet = packet_begin(&trace, 1, 0);
	proto_fixed64(&trace, TIMESTAMP, 1);
	proto_end(&trace, packet);
	assert_only(&trace, "field-type");
}

static void test_annotations_nested_without_end(void **state) {
	struct buffer trace = {0};
	size_t marks[100];
	size_t packet = packet_begin(&trace, 1, CLEARED);
	size_t event = proto_begin(&trace, TRACK_EVENT);
	for (size_t i = 0; i < ARRAY_SIZE(marks); i++)
		marks[i] = proto_begin(&trace, i ? 11 : 4);
	for (size_t i = ARRAY_SIZE(marks); i-- > 0;)
		proto_end(&trace, marks[i]);
	proto_end(&trace, event);
	proto_end(&trace, packet);
	assert_only(&trace, "too-deep");
}

static void test_a_packet_with_many_payloads(void **state) {
	struct buffer trace = {0};
	size_t packet = packet_begin(&trace, 0, 0);
	for (int i = 0; i < 9; i++)
		proto_end(&trace, proto_begin(&trace, PROCESS_TREE));
	proto_end(&trace, packet);
	assert_only(&trace, "payloads");
}

// ---- the public interface ----

static void test_only_the_first_twenty_defects_are_reported(void **state) {
	struct buffer trace = {0};
	for (int i = 0; i < 50; i++)
		proto_end(&trace, packet_begin(&trace, 1, NEEDS_STATE));
	struct outcome outcome = check_bytes(trace.data, trace.size);
	assert_int_equal(outcome.result.defects, 50);
	assert_int_equal(outcome.kinds.count, 20);
	array_free(&outcome.kinds);
	buffer_free(&trace);
}

static void test_a_missing_file_cannot_be_read(void **state) {
	struct tl_check_result result = TL_INIT(result);
	assert_int_equal(tl_check_trace("no/such/file", NULL, &result), -ENOENT);
	assert_int_equal(tl_check_trace(".", NULL, &result), -EISDIR);
}

static void test_structs_without_a_size_are_refused(void **state) {
	struct tl_check_result result = {0};
	assert_int_equal(tl_check_trace("any", NULL, &result), -EINVAL);
	struct tl_check_opts options = {0};
	result.size = sizeof(result);
	assert_int_equal(tl_check_trace("any", &options, &result), -EINVAL);
}

static void test_an_older_callers_result_is_not_overrun(void **state) {
	char path[] = P_tmpdir "/tracelet-check-XXXXXX";
	int fd = mkstemp(path);
	assert_true(fd >= 0);
	struct buffer trace = {0};
	sample_trace(&trace);
	assert_int_equal(write(fd, trace.data, trace.size), trace.size);
	close(fd);
	struct tl_check_result result = {.size = offsetof(struct tl_check_result, events), .events = 4711};
	int error = tl_check_trace(path, NULL, &result);
	unlink(path);
	assert_int_equal(error, 0);
	assert_int_equal(result.bytes, trace.size);
	assert_int_equal(result.packets, 14);
	assert_int_equal(result.events, 4711);
	buffer_free(&trace);
}

int main(void) {
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_a_trace_with_everything_is_good),
		cmocka_unit_test(test_unknown_fields_are_fine),
		cmocka_unit_test(test_descriptors_may_come_after_their_events),
		cmocka_unit_test(test_slices_written_out_of_order_are_counted_only),
		cmocka_unit_test(test_what_a_lost_packet_held_is_not_asked_for),
		cmocka_unit_test(test_compressed_packets_are_noted_and_what_seems_missing_is_not),
		cmocka_unit_test(test_equal_ids_of_two_machines_are_two_sequences),
		cmocka_unit_test(test_an_empty_file_is_too_small),
		cmocka_unit_test(test_the_smallest_size_can_be_asked_for),
		cmocka_unit_test(test_another_first_byte_is_not_a_trace),
		cmocka_unit_test(test_something_between_packets_is_named_with_its_offset),
		cmocka_unit_test(test_a_packet_that_is_cut_off_is_truncated),
		cmocka_unit_test(test_a_packet_length_that_is_cut_off),
		cmocka_unit_test(test_a_packet_of_a_gigabyte_is_refused),
		cmocka_unit_test(test_truncation_anywhere_is_found),
		cmocka_unit_test(test_any_changed_byte_is_survived),
		cmocka_unit_test(test_a_nested_length_past_its_parent),
		cmocka_unit_test(test_a_fault_inside_a_nested_message_is_said_once),
		cmocka_unit_test(test_a_fault_does_not_hide_the_packets_behind_it),
		cmocka_unit_test(test_a_number_of_eleven_bytes),
		cmocka_unit_test(test_field_number_zero),
		cmocka_unit_test(test_groups_do_not_exist_in_a_trace),
		cmocka_unit_test(test_a_known_field_of_another_type),
		cmocka_unit_test(test_a_timestamp_of_another_type),
		cmocka_unit_test(test_annotations_nested_without_end),
		cmocka_unit_test(test_a_packet_with_many_payloads),
		cmocka_unit_test(test_only_the_first_twenty_defects_are_reported),
		cmocka_unit_test(test_a_missing_file_cannot_be_read),
		cmocka_unit_test(test_structs_without_a_size_are_refused),
		cmocka_unit_test(test_an_older_callers_result_is_not_overrun),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
