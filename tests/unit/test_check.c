// Each defect has the smallest trace that has it and no other.
#include "unit.h"

#include "read/check.h"
#include "sample_trace.h"

#include <errno.h>
#include <stdio.h>
#include <unistd.h>

struct outcome {
	struct tl_check_result result;
	ARRAY(const char *) kinds; // of all findings
	uint64_t offset;           // of the first
};

static void remember(const struct tl_finding *finding, void *context) {
	struct outcome *outcome = context;
	assert_true(strlen(finding->text) > 10);
	if (!outcome->kinds.count)
		outcome->offset = finding->offset;
	array_push(&outcome->kinds, finding->kind);
}

static struct outcome check_bytes(const void *bytes, size_t size) {
	struct outcome outcome = {0};
	struct stream input;
	stream_of_memory(&input, bytes, size);
	struct tl_check_opts options = {.size = sizeof(options), .on_finding = remember, .context = &outcome};
	assert_int_equal(check_stream(&input, &options, &outcome.result), 0);
	stream_close(&input);
	return outcome;
}

static void assert_good(struct buffer *trace) {
	struct outcome outcome = check_bytes(trace->data, trace->size);
	if (outcome.kinds.count)
		print_error("found: %s at %d\n", outcome.kinds.items[0], (int)outcome.offset);
	assert_int_equal(outcome.result.defects, 0);
	assert_int_equal(outcome.kinds.count, 0);
	assert_int_equal(outcome.result.bytes, trace->size);
	array_free(&outcome.kinds);
	buffer_free(trace);
}

// One finding, of this kind. Frees the trace; returns the finding's offset.
static uint64_t assert_only(struct buffer *trace, const char *kind) {
	struct outcome outcome = check_bytes(trace->data, trace->size);
	for (size_t i = 0; i < outcome.kinds.count; i++)
		if (strcmp(outcome.kinds.items[i], kind) != 0)
			print_error("also found: %s\n", outcome.kinds.items[i]);
	assert_int_equal(outcome.kinds.count, 1);
	assert_string_equal(outcome.kinds.items[0], kind);
	array_free(&outcome.kinds);
	buffer_free(trace);
	return outcome.offset;
}

static void cleared(struct buffer *trace) {
	proto_end(trace, packet_begin(trace, 1, CLEARED));
}

// A packet whose only content is these bytes.
static void raw_packet(struct buffer *trace, const char *bytes, size_t size) {
	proto_bytes(trace, 1, bytes, size);
}
#define RAW_PACKET(trace, bytes) raw_packet(trace, bytes, sizeof(bytes) - 1)

// ---- good traces ----

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
		// At a boundary the packet before is whole, one byte less and it is not.
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
	// process_tree { process { pid cut off } }
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

// Switches (or wakeups) at these times, without a fault otherwise.
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

// ---- the public door ----

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
		cmocka_unit_test(test_only_the_first_twenty_defects_are_reported),
		cmocka_unit_test(test_a_missing_file_cannot_be_read),
		cmocka_unit_test(test_structs_without_a_size_are_refused),
		cmocka_unit_test(test_an_older_callers_result_is_not_overrun),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
