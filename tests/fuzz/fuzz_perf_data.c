// Reads a recording from perf into a profile, and folds it.
#include "fuzz.h"

#include "../unit/sample_perf_data.h"
#include "base/log.h"
#include "read/reader.h"
#include "write/folded.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size) {
	struct stream input;
	struct tables tables = tables_new();
	struct output output;
	output_open(&output, "/dev/null", OUTPUT_REPLACE);
	stream_of_memory(&input, bytes, size);
	struct sink *sink = folded_open(&output, &tables,
					&(struct sample_options){.every_event = true, .addresses = true});
	if (!perf_data_reader.read(&input, "fuzz", &tables, sink))
		sink_finish(sink);
	sink_destroy(sink);
	tables_free(&tables);
	stream_close(&input);
	output_abandon(&output);
	return 0;
}

// ---- mutations that keep a file readable ----

static uint64_t get(const uint8_t *at, size_t size) {
	uint64_t value = 0;
	memcpy(&value, at, size);
	return value;
}

static void set(uint8_t *at, size_t size, uint64_t value) {
	memcpy(at, &value, size);
}

// Repairs the sizes of records: a wrong size ends the reading.
static void mend_records(uint8_t *bytes, size_t size, size_t at) {
	enum { RECORD_HEAD = 8, RECORD_SIZE = 6 };
	while (at + RECORD_HEAD <= size) {
		uint64_t claimed = get(bytes + at + RECORD_SIZE, 2), left = size - at;
		if (claimed < RECORD_HEAD || claimed > left)
			claimed = MIN(left, (uint64_t)RECORD_HEAD + claimed % 64);
		set(bytes + at + RECORD_SIZE, 2, claimed);
		at += claimed;
	}
}

// "PERFILE2", the size of the header, that of an attr, then two sections: attrs and data.
static void mend(uint8_t *bytes, size_t size) {
	enum { PIPE_HEAD = 16, HEAD = 104, ATTR = 128, ATTRS_AT = 24, DATA_AT = 40 };
	if (size < PIPE_HEAD)
		return;
	memcpy(bytes, "PERFILE2", 8);
	if (get(bytes + 8, 8) == PIPE_HEAD || size < HEAD + ATTR) {
		set(bytes + 8, 8, PIPE_HEAD);
		mend_records(bytes, size, PIPE_HEAD);
		return;
	}
	set(bytes + 8, 8, HEAD);
	set(bytes + 16, 8, ATTR);
	uint64_t begin = get(bytes + DATA_AT, 8);
	if (begin < HEAD || begin > size)
		begin = HEAD + ATTR;
	set(bytes + DATA_AT, 8, begin);
	if (get(bytes + ATTRS_AT, 8) > size - ATTR || get(bytes + ATTRS_AT + 8, 8) != ATTR) {
		set(bytes + ATTRS_AT, 8, HEAD);
		set(bytes + ATTRS_AT + 8, 8, ATTR);
	}
	if (get(bytes + DATA_AT + 8, 8) > size - begin)
		set(bytes + DATA_AT + 8, 8, size - begin);
	mend_records(bytes, begin + get(bytes + DATA_AT + 8, 8), begin);
}

size_t LLVMFuzzerCustomMutator(uint8_t *bytes, size_t size, size_t most, unsigned seed) {
	size = LLVMFuzzerMutate(bytes, size, most);
	if (seed % 8)
		mend(bytes, size);
	return size;
}

void fuzz_seeds(void) {
	struct buffer seed = {0}, records = {0};
	put_records(&records);
	put_file(&seed, &records);
	fuzz_seed("file", &seed);
	put_pipe_header(&seed);
	buffer_append(&seed, records.data, records.size);
	fuzz_seed("pipe", &seed);
	buffer_free(&records);
}
