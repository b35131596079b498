#include "fuzz.h"

#include "../etl/etl_writer.h"
#include "read/perf/data.h"

// The first bytes are a record of each tracepoint, the rest the formats.
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size) {
	enum { RECORD = 64 };
	struct trace_formats formats = {0};
	struct tables tables = tables_new();
	if (size < RECORD) {
		tables_free(&tables);
		return 0;
	}
	uint8_t *record = memory_alloc(RECORD);
	memcpy(record, bytes, RECORD);
	trace_formats_read(&formats, cursor_of(bytes + RECORD, size - RECORD), tables.strings);
	for (size_t i = 0; i < formats.items.count; i++) {
		const struct trace_format *format = &formats.items.items[i];
		for (size_t k = 0; k < format->fields.count; k++) {
			size_t length = 0;
			int64_t value;
			const uint8_t *found = trace_field_bytes(&format->fields.items[k], record, RECORD,
								 &length);
			if (found && (found < record || length > RECORD || found + length > record + RECORD))
				abort();
			trace_field_number(&format->fields.items[k], record, RECORD, &value);
		}
	}
	free(record);
	trace_formats_free(&formats);
	tables_free(&tables);
	return 0;
}

void fuzz_seeds(void) {
	static const char format[] = "name: sched_switch\nID: 316\nformat:\n"
				     "\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n"
				     "\tfield:char prev_comm[16];\toffset:8;\tsize:16;\tsigned:0;\n"
				     "\tfield:__data_loc char[] name;\toffset:24;\tsize:4;\tsigned:1;\n"
				     "\tfield:__rel_loc u32[] list;\toffset:28;\tsize:4;\tsigned:0;\n"
				     "\tfield:void * lock;\toffset:32;\tsize:8;\tsigned:0;\n";
	struct buffer seed = {0};
	put_zeros(&seed, 24);
	put32(&seed, 40 | 8 << 16);
	put32(&seed, 4 | 16 << 16);
	put_zeros(&seed, 64 - seed.size);
	buffer_append(&seed, "\x17\x08\x44tracing0.6", 14);
	buffer_append(&seed, "\0\10", 2);
	put32(&seed, 4096);
	buffer_append(&seed, "header_page", 12);
	put64(&seed, 0);
	buffer_append(&seed, "header_event", 13);
	put64(&seed, 0);
	put32(&seed, 0);
	put32(&seed, 1);
	buffer_append(&seed, "sched", 6);
	put32(&seed, 1);
	put64(&seed, strlen(format));
	buffer_append(&seed, format, strlen(format));
	fuzz_seed("formats", &seed);
}
