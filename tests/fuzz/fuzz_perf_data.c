// A recording of perf goes through its reader into a profile, which is folded.
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
					&(struct profile_options){.every_event = true, .addresses = true});
	if (!perf_data_reader.read(&input, "fuzz", &tables, sink))
		sink_finish(sink);
	sink_destroy(sink);
	tables_free(&tables);
	stream_close(&input);
	output_abandon(&output);
	return 0;
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
