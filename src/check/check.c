// Checks that a file is a Perfetto trace that an importer will accept completely. The file is a sequence of
// packets, each a length-delimited message; one packet at a time is in memory. A packet's header fields
// (sequence, flags, time) may come after what they apply to, so each packet is walked twice: first the
// header, then interned data, defaults and payloads, in that order.
//
//   wire.c      protobuf's wire format, and walking messages by rules
//   rules.c     what the messages look like
//   sequence.c  sequences, interned ids, clocks
//   sched.c     ftrace bundles: what CPUs did
//   tracks.c    track descriptors and events
#include "check/check.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>

enum {
	SMALLEST_TRACE = 4, // a packet of one field
	MOST_FINDINGS = 20, // reported by default
	MOST_PAYLOADS = 8,
};

// ---- findings ----

// Each text may contain the value given to check_defect().
static const struct {
	const char *kind, *text;
} texts[DEFECT_COUNT] = {
	[DEFECT_TOO_SMALL] = {"too-small", "%" PRIu64 " bytes are too few for a trace"},
	[DEFECT_FIRST_TAG] = {"first-tag",
			      "not a Perfetto trace: it begins with byte 0x%02" PRIx64 ", not 0x0a"},
	[DEFECT_TAG] = {"tag",
			"byte 0x%02" PRIx64 " where a packet should begin (0x0a); the rest was not read"},
	[DEFECT_TRUNCATED] = {"truncated", "the file ends inside a packet: %" PRIu64 " bytes are missing"},
	[DEFECT_PACKET_SIZE] = {"packet-size",
				"a packet of %" PRIu64 " bytes is too large; the rest was not read"},
	[DEFECT_PACKET_LENGTH] = {"packet-length", "the length of a packet is cut off or malformed"},
	[DEFECT_OVERRUN] = {"overrun", "a field runs past the end of its message"},
	[DEFECT_VARINT] = {"varint", "a number is longer than 64 bits"},
	[DEFECT_FIELD_NUMBER] = {"field-number", "%" PRIu64 " is not a valid field number"},
	[DEFECT_WIRE_TYPE] = {"wire-type", "invalid wire type %" PRIu64},
	[DEFECT_FIELD_TYPE] = {"field-type", "field %" PRIu64 " has the wrong wire type"},
	[DEFECT_TOO_DEEP] = {"too-deep", "messages are nested more than %" PRIu64 " deep"},
	[DEFECT_PAYLOADS] = {"payloads", "a packet holds more than %" PRIu64 " messages"},
	[DEFECT_NO_SEQUENCE] = {"no-sequence", "a packet needs a trusted_packet_sequence_id and has none"},
	[DEFECT_NOT_CLEARED] = {"not-cleared", "a packet needs the state of sequence %" PRIu64
					       ", which was never cleared: it will be dropped"},
	[DEFECT_STATE_IGNORED] = {"state-ignored", "interned data or defaults on sequence %" PRIu64
						   ", which was never cleared: they will be ignored"},
	[DEFECT_INTERNED_ZERO] = {"interned-zero", "an entry of interned data (field %" PRIu64 ") has no id"},
	[DEFECT_INTERNED_ID] = {"interned-id", "interned id %" PRIu64
					       " was not defined on this sequence since it was last cleared"},
	[DEFECT_FRAME_PC] = {"frame-pc", "a frame has a mapping but no rel_pc"},
	[DEFECT_SEQUENCE_CLOCK] = {"sequence-clock", "clock %" PRIu64 " was not defined on this sequence"},
	[DEFECT_CLOCK] = {"clock", "clock %" PRIu64 " is used but is in no ClockSnapshot"},
	[DEFECT_NO_CPU] = {"no-cpu", "an ftrace bundle has no CPU number"},
	[DEFECT_SWITCH_ARRAYS] = {"switch-arrays", "the arrays of %" PRIu64 " switches differ in length"},
	[DEFECT_WAKING_ARRAYS] = {"waking-arrays", "the arrays of %" PRIu64 " wakeups differ in length"},
	[DEFECT_COMM_INDEX] = {"comm-index", "thread name %" PRIu64 " is not in the bundle's table of names"},
	[DEFECT_SWITCH_TIME] = {"switch-time",
				"time goes backwards on this CPU at switch %" PRIu64 " of the bundle"},
	[DEFECT_WAKING_TIME] = {"waking-time",
				"time goes backwards on this CPU at wakeup %" PRIu64 " of the bundle"},
	[DEFECT_EVENT_TIME] = {"event-time",
			       "time goes backwards on this CPU at the ftrace event of %" PRIu64 " ns"},
	[DEFECT_THREAD_IDS] = {"thread-ids", "a thread track has no pid and tid"},
	[DEFECT_IDLE_TRACK] = {"idle-track", "a thread track for tid 0, which is idle in scheduling data"},
	[DEFECT_NO_TRACK] = {"no-track", "events on track %" PRIu64 ", which has no descriptor"},
	[DEFECT_NO_PARENT] = {"no-parent", "the parent track %" PRIu64 " has no descriptor"},
	[DEFECT_PARENT_CYCLE] = {"parent-cycle", "track %" PRIu64 " is its own ancestor"},
	[DEFECT_COUNTER_ELSEWHERE] = {"counter-elsewhere",
				      "a counter on track %" PRIu64 ", which is not a counter track"},
	[DEFECT_SLICE_ON_COUNTER] = {"slice-on-counter", "a slice or instant on the counter track %" PRIu64},
	[DEFECT_COUNTER_VALUE] = {"counter-value", "a counter event has no value"},
	[DEFECT_TRACK_EVENT_TIME] = {"track-event-time", "a track event has no time"},
	[DEFECT_EXTRA_COUNTERS] = {"extra-counters",
				   "%" PRIu64 " extra counter values, but fewer tracks for them"},
	[DEFECT_END_FIRST] = {"end-first", "a slice ends on track %" PRIu64 " when none is open"},
	[DEFECT_NEVER_ENDS] = {"never-ends", "a slice on track %" PRIu64 " begins and never ends"},
	[DEFECT_TOO_MANY_ENDS] = {"too-many-ends", "more slices end than begin on track %" PRIu64},
	[NOTE_COMPRESSED] = {"compressed", "compressed packets were not checked"},
	[NOTE_NO_RELEASE] = {"no-release",
			     "scheduling without SystemInfo.utsname.release: thread states may be wrong"},
};

static void report(struct check *check, uint64_t offset, enum defect defect, uint64_t value) {
	if (!check->options->on_finding)
		return;
	char text[160];
	// The formats are the table's own, with one 64-bit value or none.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wformat-nonliteral"
	snprintf(text, sizeof(text), texts[defect].text, value);
#pragma GCC diagnostic pop
	struct tl_finding finding = {.size = sizeof(finding),
				     .note = defect >= NOTE_FIRST,
				     .offset = offset,
				     .kind = texts[defect].kind,
				     .text = text};
	struct memory_guard *guard = memory_suspend_try();
	check->options->on_finding(&finding, check->options->context);
	memory_resume_try(guard);
}

void check_defect_at(struct check *check, uint64_t offset, enum defect defect, uint64_t value) {
	uint64_t most = check->options->max_findings ? check->options->max_findings : MOST_FINDINGS;
	check->result->defects++;
	if (check->reported++ < most)
		report(check, offset, defect, value);
}

uint64_t check_offset(const struct check *check, const uint8_t *at) {
	return check->input->offset + (uint64_t)(at - (check->input->data + check->input->begin));
}

void check_defect(struct check *check, const uint8_t *at, enum defect defect, uint64_t value) {
	check_defect_at(check, check_offset(check, at), defect, value);
}

// Each note is reported once.
static void check_note(struct check *check, uint64_t offset, enum defect note) {
	if (check->noted[note - NOTE_FIRST])
		return;
	check->noted[note - NOTE_FIRST] = true;
	check->result->notes++;
	report(check, offset, note, 0);
}

// ---- payloads ----

static void compressed(struct check *check, const struct wire_field *field) {
	check->opaque = true;
	check_note(check, check_offset(check, field->at), NOTE_COMPRESSED);
}

static void system_info(struct check *check, const struct wire_field *info) {
	struct cursor message = info->bytes;
	struct wire_field field, nested;
	if (!wire_check_message(check, &rule_system_info, message, 1))
		return;
	while (wire_next(check, &message, &field))
		while (field.number == 1 && wire_next(check, &field.bytes, &nested))
			check->kernel_release |= nested.number == 3 && nested.value;
}

// Messages that refer to interned data are useless without a sequence.
static void sample(struct check *check, const struct wire_field *field) {
	if (!check->packet.sequence)
		check_defect(check, field->at, DEFECT_NO_SEQUENCE, 0);
}

static void etw_bundle(struct check *check, const struct wire_field *bundle) {
	struct cursor message = bundle->bytes;
	struct wire_field field;
	if (!wire_check_message(check, &rule_etw_bundle, message, 1))
		return;
	while (wire_next(check, &message, &field))
		check->result->events += field.number == 2;
}

// What a packet may carry, by field number: checked by a rule, by its own function, or both; a
// sequence's state before what may refer to it.
enum payload_kind { PAYLOAD_UNKNOWN, PAYLOAD_STATE, PAYLOAD_DATA, PAYLOAD_EVENT };

static const struct payload {
	enum payload_kind kind; // PAYLOAD_EVENT counts as one event
	const struct message_rule *rule;
	void (*look)(struct check *check, const struct wire_field *field);
} payloads[] = {
	[1] = {PAYLOAD_DATA, NULL, check_ftrace_bundle},
	[2] = {PAYLOAD_DATA, &rule_process_tree},
	[6] = {PAYLOAD_DATA, NULL, check_clock_snapshot},
	[9] = {PAYLOAD_DATA, &rule_process_stats},
	[11] = {PAYLOAD_EVENT, NULL, check_track_event},
	[12] = {PAYLOAD_STATE, NULL, check_interned_data},
	[37] = {PAYLOAD_DATA, NULL, check_profile_packet},
	[45] = {PAYLOAD_DATA, NULL, system_info},
	[50] = {PAYLOAD_DATA, NULL, compressed},
	[54] = {PAYLOAD_EVENT, &rule_streaming_profile, sample},
	[59] = {PAYLOAD_STATE, NULL, check_packet_defaults},
	[60] = {PAYLOAD_DATA, NULL, check_track_descriptor},
	[61] = {PAYLOAD_DATA, &rule_module_symbols},
	[66] = {PAYLOAD_EVENT, &rule_perf_sample, sample},
	[89] = {PAYLOAD_DATA, &rule_trace_uuid},
	[95] = {PAYLOAD_DATA, NULL, etw_bundle},
	[117] = {PAYLOAD_EVENT, &rule_kernel_task_state},
	[122] = {PAYLOAD_DATA, &rule_kernel_process_tree},
	[133] = {PAYLOAD_DATA, NULL, compressed},
	[135] = {PAYLOAD_EVENT, &rule_stack_sample, sample},
};

// ---- packets ----

static void look_at_payload(struct check *check, const struct wire_field *field) {
	const struct payload *payload = &payloads[field->number];
	if (payload->rule)
		wire_check_message(check, payload->rule, field->bytes, 1);
	if (payload->look)
		payload->look(check, field);
	check->result->events += payload->kind == PAYLOAD_EVENT;
}

// Fields are decoded directly into the array of known messages.
static void check_packet(struct check *check, const uint8_t *begin, size_t size) {
	struct cursor message = cursor_of(begin, size);
	struct wire_field kept[MOST_PAYLOADS + 1];
	size_t count = 0;
	check->packet = (struct packet){.sequence = check->packet.sequence, .begin = begin};
	while (wire_next(check, &message, &kept[count])) {
		const struct wire_field *field = &kept[count];
		bool known = field->number < ARRAY_SIZE(payloads) &&
			     payloads[field->number].kind != PAYLOAD_UNKNOWN;
		if (!known) {
			wire_check_field(check, &rule_packet_header, field, 0);
			packet_header_take(&check->packet.head, field);
		} else if (field->wire != PROTO_BYTES)
			check_defect(check, field->at, DEFECT_FIELD_TYPE, field->number);
		else if (count < MOST_PAYLOADS)
			count++;
		else
			check_defect(check, field->at, DEFECT_PAYLOADS, MOST_PAYLOADS);
	}
	if (message.failed)
		return;
	sequence_enter(check);
	for (enum payload_kind kind = PAYLOAD_STATE; kind <= PAYLOAD_EVENT; kind++)
		for (size_t i = 0; i < count; i++)
			if (payloads[kept[i].number].kind == kind)
				look_at_payload(check, &kept[i]);
}

// ---- the file ----

// The length of the next packet, which is completely in memory; 0 at the end of the file, or if it
// cannot be walked further. A packet's length is never 0 here: it includes `head`.
static size_t next_packet(struct check *check, size_t *head) {
	struct stream *input = check->input;
	if (!stream_need(input, 1))
		return 0;
	stream_need(input, PACKET_HEAD_MOST); // if the file has that much
	const uint8_t *at = input->data + input->begin;
	uint64_t length;
	switch (packet_frame(at, stream_available(input), head, &length)) {
	case FRAME_TAG:
		check_defect(check, at, input->offset ? DEFECT_TAG : DEFECT_FIRST_TAG, *at);
		return 0;
	case FRAME_LENGTH:
		check_defect(check, at, DEFECT_PACKET_LENGTH, 0);
		return 0;
	case FRAME_SIZE:
		check_defect(check, at, DEFECT_PACKET_SIZE, length);
		return 0;
	case FRAME_GOOD:
		break;
	}
	size_t whole = *head + (size_t)length;
	if (!stream_need(input, whole)) {
		if (!input->error)
			check_defect_at(check, input->offset, DEFECT_TRUNCATED,
					whole - stream_available(input));
		return 0;
	}
	return whole;
}

static void walk(struct check *check) {
	struct stream *input = check->input;
	size_t head = 0, whole;
	while ((whole = next_packet(check, &head))) {
		const uint8_t *at = input->data + input->begin;
		check_packet(check, at + head, whole - head);
		check->result->packets++;
		stream_consume(input, whole);
	}
	check->result->bytes = input->offset + stream_available(input);
}

static void check_all(void *context) {
	struct check *check = context;
	struct stream *input = check->input;
	uint64_t least = check->options->min_size ? check->options->min_size : SMALLEST_TRACE;
	walk(check);
	uint64_t size = input->total ? input->total : check->result->bytes;
	if (size < least && (input->total || input->at_end) && !input->error)
		check_defect_at(check, 0, DEFECT_TOO_SMALL, size);
	if (check->sched_at && !check->kernel_release && !check->opaque)
		check_note(check, check->sched_at - 1, NOTE_NO_RELEASE);
	clocks_finish(check);
	tracks_finish(check);
}

int check_stream(struct stream *input, const struct tl_check_opts *options, struct tl_check_result *result) {
	struct check check = {.options = options, .result = result, .input = input};
	int error = memory_try(check_all, &check);
	tracks_free_all(&check);
	sequence_free_all(&check);
	return error ? error : input->error;
}

// ---- the public interface ----

// Copies the members that the caller's struct has; the rest stays zero.
static void copy_known(void *to, size_t to_size, const void *from, size_t from_size) {
	memcpy(to, from, MIN(to_size, from_size));
}

int tl_check_trace(const char *path, const struct tl_check_opts *options, struct tl_check_result *result) {
	struct tl_check_opts known = {0};
	struct tl_check_result found = {0};
	if (!path || !result || result->size < sizeof(result->size) ||
	    (options && options->size < sizeof(known.size)))
		return -EINVAL;
	if (options)
		copy_known(&known, sizeof(known), options, options->size);
	struct stream input;
	int error = stream_open(&input, path);
	if (error)
		return error;
	error = check_stream(&input, &known, &found);
	stream_close(&input);
	found.size = result->size;
	copy_known(result, result->size, &found, sizeof(found));
	return error;
}
