// repeat_etl IN.etl OUT.etl BYTES: makes a large ETL file from a small one, for
// benches. Buffers are written uncompressed and repeated; times advance with each
// repetition, so that the result is one long recording and not the same moment
// many times. Prints the number of events.
#include "base/file.h"
#include "base/log.h"
#include "read/etl/etl.h"

#include <inttypes.h>
#include <string.h>

struct times { // offsets of the times in the content
	ARRAY(uint32_t) places;
	uint64_t events;
};

static void add_place(struct times *times, const struct etl_records *records, const uint8_t *at) {
	array_push(&times->places, (uint32_t)(at - records->bytes));
}

// The time comes before the payload, at an offset that depends on the kind of record.
static void find_times(struct times *times, struct etl_records *records) {
	struct etl_record record;
	for (uint32_t begin = records->at; etl_records_next(records, &record); begin = records->at) {
		const uint8_t *at = records->bytes + begin;
		bool perfinfo = record.kind == ETL_PERFINFO32 || record.kind == ETL_PERFINFO64;
		if (record.kind != ETL_WPP)
			add_place(times, records, at + (perfinfo ? 8 : 16));
		// A stack's record refers to its event by time.
		if (etl_is_kernel(&record) && record.group == 0x18 && record.opcode != 35 &&
		    record.opcode != 36 && record.size >= 8)
			add_place(times, records, record.payload);
		times->events++;
	}
}

static void shift(uint8_t *at, uint64_t by) {
	uint64_t time;
	memcpy(&time, at, sizeof(time));
	time += by;
	memcpy(at, &time, sizeof(time));
}

int main(int argc, char **argv) {
	struct stream input;
	struct output output;
	struct etl_file file;
	struct buffer memory = {0}, content = {0};
	ARRAY(struct times) all = {0};
	ARRAY(size_t) begins = {0};
	if (argc != 4 || stream_open(&input, argv[1]) || etl_file_open(&file, &input, argv[1]) ||
	    output_open(&output, argv[2], OUTPUT_REPLACE))
		return 1;
	uint32_t stride = MAX(file.header.buffer_size, 65536u);
	uint64_t first = UINT64_MAX, last = 0, events = 0, lost = 0;
	for (size_t i = 0; i < file.buffers.count; i++) {
		struct etl_records records;
		struct times times = {0};
		etl_buffer_load(&file, &file.buffers.items[i], &memory, &records, &lost);
		array_push(&begins, content.size);
		uint8_t *out = buffer_room(&content, stride);
		memset(out, 0xff, stride);
		stream_read_at(&input, file.buffers.items[i].offset, out, ETL_BUFFER_HEADER);
		uint32_t filled = ETL_BUFFER_HEADER + records.size;
		memcpy(out, &stride, 4);
		memcpy(out + 0x30, &filled, 4);
		out[0x34] &= (uint8_t)~ETL_FLAG_COMPRESSED;
		memcpy(out + ETL_BUFFER_HEADER, records.bytes, records.size);
		content.size += stride;
		find_times(&times, &records);
		for (size_t k = 0; k < times.places.count; k++) {
			uint64_t time;
			memcpy(&time, records.bytes + times.places.items[k], sizeof(time));
			first = MIN(first, time);
			last = MAX(last, time);
		}
		array_push(&all, times);
	}
	// The session's header: no longer compressed, and of this size.
	for (size_t i = 0; i < file.buffers.count; i++) {
		uint8_t *header = content.data + begins.items[i];
		if (file.buffers.items[i].offset != 0)
			continue;
		uint32_t mode = file.header.mode & ~0x04000000u;
		memcpy(header + ETL_BUFFER_HEADER + 32, &stride, 4);
		memcpy(header + ETL_BUFFER_HEADER + 32 + 32, &mode, 4);
		output_write(&output, header, stride);
		events += all.items[i].events;
	}
	uint64_t size = strtoull(argv[3], NULL, 10);
	while (output.written + output.pending.size < size) {
		for (size_t i = 0; i < file.buffers.count; i++) {
			uint8_t *buffer = content.data + begins.items[i];
			if (file.buffers.items[i].offset != 0) {
				output_write(&output, buffer, stride);
				events += all.items[i].events;
			}
			shift(buffer + 0x10, last - first + 1);
			for (size_t k = 0; k < all.items[i].places.count; k++)
				shift(buffer + ETL_BUFFER_HEADER + all.items[i].places.items[k],
				      last - first + 1);
		}
	}
	printf("%" PRIu64 "\n", events);
	return output_commit(&output) != 0;
}
