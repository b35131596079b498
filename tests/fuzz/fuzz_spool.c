// Takes a spool through reader, names and Perfetto writer. Everything the reader
// accepts must result in a trace in which `check` finds nothing.
#include "fuzz.h"

#include "../unit/sample_spool.h"
#include "check/check.h"
#include "event/blocked.h"
#include "event/locate.h"
#include "read/reader.h"
#include "write/writer.h"

#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

static void tell(const struct tl_finding *finding, void *context) {
	fprintf(stderr, "fuzz_spool: %s at %llu: %s\n", finding->kind, (unsigned long long)finding->offset,
		finding->text);
}

static void check_trace(const void *bytes, size_t size) {
	struct stream trace;
	struct tl_check_result result = {.size = sizeof(result)};
	struct tl_check_opts options = {.size = sizeof(options), .on_finding = tell};
	stream_of_memory(&trace, bytes, size);
	check_stream(&trace, &options, &result);
	stream_close(&trace);
	if (result.defects || result.notes || result.bytes != size)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size) {
	struct stream input;
	struct tables tables = tables_new();
	struct output output = {.fd = memfd_create("trace", 0)};
	stream_of_memory(&input, bytes, size);
	struct sink *sink = locate_new(&tables, blocked_new(&tables, perfetto_writer.open(&output, &tables)));
	int error = spool_reader.read(&input, "fuzz", &tables, sink);
	if (!error)
		error = sink_finish(sink);
	if (!error && !output.written) {
		check_trace(output.pending.data, output.pending.size);
	} else if (!error) {
		size_t total = output.written + output.pending.size;
		if (file_write_all(output.fd, output.pending.data, output.pending.size))
			abort();
		void *trace = mmap(NULL, total, PROT_READ, MAP_PRIVATE, output.fd, 0);
		if (trace == MAP_FAILED)
			abort();
		check_trace(trace, total);
		munmap(trace, total);
	}
	sink_destroy(sink);
	tables_free(&tables);
	stream_close(&input);
	output_abandon(&output);
	return 0;
}

void fuzz_seeds(void) {
	static void (*const parts[])(struct buffer *) = {sample_facts, sample_life, sample_marks,
							 sample_counts, sample_end};
	struct buffer seed = {0};
	sample_spool(&seed);
	fuzz_seed("whole", &seed);
	spool_begin(&seed, 0);
	fuzz_seed("header", &seed);
	for (size_t i = 0; i < ARRAY_SIZE(parts); i++) {
		char name[16] = "part-";
		name[5] = (char)('0' + i);
		spool_begin(&seed, SAMPLE_START);
		parts[i](&seed);
		fuzz_seed(name, &seed);
	}
}
