#include "fuzz.h"

#include "../etl/etl_sample.h"
#include "base/log.h"
#include "read/reader.h"

// This tests the zip file: the checksum keeps most damaged content from the ETL reader.
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size) {
	struct stream input;
	struct read_options options = {.json = true};
	struct buffer out = {0};
	log_set_level(LOG_QUIET);
	stream_of_memory(&input, bytes, size);
	etl_zip_reader.describe(&input, "fuzz", &options, &out);
	buffer_free(&out);
	stream_close(&input);
	return 0;
}

static uint32_t checksum(const uint8_t *bytes, size_t size) {
	uint32_t rest = UINT32_MAX;
	for (size_t i = 0; i < size; i++) {
		rest ^= bytes[i];
		for (int bit = 0; bit < 8; bit++)
			rest = rest >> 1 ^ (rest & 1 ? 0xedb88320u : 0);
	}
	return ~rest;
}

// What the headers of a member and of the directory share.
static void put_member(struct buffer *out, const struct buffer *file) {
	put32(out, 20); // version, flags
	put16(out, 0);  // stored
	put32(out, 0);  // time
	put32(out, checksum(file->data, file->size));
	put32(out, (uint32_t)file->size);
	put32(out, (uint32_t)file->size);
	put16(out, 5);
	put16(out, 0);
}

void fuzz_seeds(void) {
	struct etl_writer writer;
	struct buffer seed = {0};
	etl_writer_begin(&writer, WRITER_XPRESS, 8);
	sample_etl(&writer);
	struct buffer file = etl_writer_end(&writer);
	put32(&seed, 0x04034b50);
	put_member(&seed, &file);
	buffer_append(&seed, "a.etl", 5);
	buffer_append(&seed, file.data, file.size);
	size_t directory = seed.size;
	put32(&seed, 0x02014b50);
	put16(&seed, 20);
	put_member(&seed, &file);
	for (int i = 0; i < 2; i++) { // two members that share their data
		put_zeros(&seed, 10); // comment, disk, attributes
		put32(&seed, 0);      // offset of the member
		buffer_append(&seed, i ? "b.etl" : "a.etl", 5);
		if (i)
			break;
		put32(&seed, 0x02014b50);
		put16(&seed, 20);
		put_member(&seed, &file);
	}
	size_t end = seed.size;
	put32(&seed, 0x06054b50);
	put_zeros(&seed, 4);
	put16(&seed, 2);
	put16(&seed, 2);
	put32(&seed, (uint32_t)(end - directory));
	put32(&seed, (uint32_t)directory);
	put16(&seed, 0);
	buffer_free(&file);
	fuzz_seed("stored", &seed);
}
