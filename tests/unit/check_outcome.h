// Runs the checker over bytes and inspects its findings: shared by its unit
// tests, which build for each defect the smallest trace that has it and no other.
#pragma once

#include "unit.h"

#include "check/check.h"
#include "sample_trace.h"

struct outcome {
	struct tl_check_result result;
	ARRAY(const char *) kinds; // of all findings
	uint64_t offset;           // of the first
};

static inline void remember(const struct tl_finding *finding, void *context) {
	struct outcome *outcome = context;
	assert_true(strlen(finding->text) > 10);
	if (!outcome->kinds.count)
		outcome->offset = finding->offset;
	array_push(&outcome->kinds, finding->kind);
}

static inline struct outcome check_bytes(const void *bytes, size_t size) {
	struct outcome outcome = {0};
	struct stream input;
	stream_of_memory(&input, bytes, size);
	struct tl_check_opts options = {.size = sizeof(options), .on_finding = remember, .context = &outcome};
	assert_int_equal(check_stream(&input, &options, &outcome.result), 0);
	stream_close(&input);
	return outcome;
}

static inline void assert_good(struct buffer *trace) {
	struct outcome outcome = check_bytes(trace->data, trace->size);
	if (outcome.kinds.count)
		print_error("found: %s at %d\n", outcome.kinds.items[0], (int)outcome.offset);
	assert_int_equal(outcome.result.defects, 0);
	assert_int_equal(outcome.kinds.count, 0);
	assert_int_equal(outcome.result.bytes, trace->size);
	array_free(&outcome.kinds);
	buffer_free(trace);
}

// Expects one finding, of this kind. Frees the trace; returns the finding's offset.
static inline uint64_t assert_only(struct buffer *trace, const char *kind) {
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

static inline void cleared(struct buffer *trace) {
	proto_end(trace, packet_begin(trace, 1, CLEARED));
}

// A packet whose only content is these bytes.
static inline void raw_packet(struct buffer *trace, const char *bytes, size_t size) {
	proto_bytes(trace, 1, bytes, size);
}
#define RAW_PACKET(trace, bytes) raw_packet(trace, bytes, sizeof(bytes) - 1)
