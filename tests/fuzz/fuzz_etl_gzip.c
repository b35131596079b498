#include "fuzz.h"

#include "../etl/etl_sample.h"
#include "base/log.h"
#include "read/reader.h"

#include <zlib.h>

// This tests unpacking: the checksum keeps most damaged content from the ETL reader.
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size) {
	struct stream input;
	struct read_options options = {.json = true};
	struct buffer out = {0};
	log_set_level(LOG_QUIET);
	etl_gzip_reader.probe(bytes, size);
	stream_of_memory(&input, bytes, size);
	etl_gzip_reader.describe(&input, "fuzz", &options, &out);
	buffer_free(&out);
	stream_close(&input);
	return 0;
}

void fuzz_seeds(void) {
	enum { GZIP = MAX_WBITS + 16, MOST = 8192 };
	struct etl_writer writer;
	etl_writer_begin(&writer, WRITER_PLAIN, 8);
	writer.buffer_size = 1536;
	sample_kinds(&writer, 2540);
	struct buffer file = etl_writer_end(&writer), seed = {0};
	for (int level = 0; level <= 9; level += 9) {
		z_stream stream = {.next_in = file.data,
				   .avail_in = (uInt)file.size,
				   .next_out = buffer_room(&seed, MOST),
				   .avail_out = MOST};
		deflateInit2(&stream, level, Z_DEFLATED, GZIP, 8, Z_DEFAULT_STRATEGY);
		deflate(&stream, Z_FINISH);
		deflateEnd(&stream);
		seed.size = MOST - stream.avail_out;
		CLEANUP_FREE char *name = memory_format("level-%d", level);
		fuzz_seed(name, &seed);
		seed = (struct buffer){0};
	}
	buffer_free(&file);
}
