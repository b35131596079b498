// Reads a Perfetto trace and writes it again. Everything the reader accepts must
// come in time order and result in a trace in which `check` finds nothing.
#include "fuzz.h"

#include "../unit/sample_spool.h"
#include "../unit/sample_trace.h"
#include "check/check.h"
#include "read/reader.h"
#include "write/writer.h"

#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

static void tell(const struct tl_finding *finding, void *context) {
	fprintf(stderr, "fuzz_perfetto: %s at %llu: %s\n", finding->kind, (unsigned long long)finding->offset,
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

// The bytes that a writer has written, mapped from its file.
static void *written(struct output *output, size_t *size) {
	*size = output->written + output->pending.size;
	if (file_write_all(output->fd, output->pending.data, output->pending.size))
		abort();
	void *bytes = mmap(NULL, *size, PROT_READ, MAP_PRIVATE, output->fd, 0);
	if (bytes == MAP_FAILED)
		abort();
	return bytes;
}

// A sink in front of the writer: are events in time order?
struct in_order {
	struct sink sink, *next;
	uint64_t time;
};

static int push_in_order(struct sink *sink, const struct event *event) {
	struct in_order *in_order = CONTAINER_OF(sink, struct in_order, sink);
	bool timed = event->kind > EVENT_TASK;
	if (timed && event->time < in_order->time)
		abort();
	if (timed)
		in_order->time = event->time;
	return sink_push(in_order->next, event);
}

// For what does not stay in memory. The same file each time: making one takes longer than most runs.
static int empty_file(void) {
	static int file = -1;
	if (file < 0)
		file = memfd_create("trace", 0);
	else if (lseek(file, 0, SEEK_CUR) && (ftruncate(file, 0) || lseek(file, 0, SEEK_SET)))
		abort();
	return dup(file);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size) {
	struct stream input;
	struct tables tables = tables_new();
	struct output output = {.fd = empty_file()};
	struct in_order first = {.sink = {.push = push_in_order}};
	stream_of_memory(&input, bytes, size);
	perfetto_reader.probe(bytes, size < 4096 ? size : 4096);
	first.next = perfetto_writer.open(&output, &tables);
	int error = perfetto_reader.read(&input, "fuzz", &tables, &first.sink);
	if (!error)
		error = sink_finish(first.next);
	if (!error && !output.written) {
		check_trace(output.pending.data, output.pending.size);
	} else if (!error) {
		size_t total;
		void *trace = written(&output, &total);
		check_trace(trace, total);
		munmap(trace, total);
	}
	sink_destroy(first.next);
	tables_free(&tables);
	stream_close(&input);
	output_abandon(&output);
	return 0;
}

// ---- seeds ----

static void from_spool(const char *name, void (*fill)(struct buffer *)) {
	struct buffer spool = {0}, seed = {0};
	struct stream input;
	struct tables tables = tables_new();
	struct output output = {.fd = memfd_create("seed", 0)};
	size_t size;
	fill(&spool);
	stream_of_memory(&input, spool.data, spool.size);
	struct sink *sink = perfetto_writer.open(&output, &tables);
	if (spool_reader.read(&input, name, &tables, sink) || sink_finish(sink))
		abort();
	void *bytes = written(&output, &size);
	buffer_append(&seed, bytes, size);
	munmap(bytes, size);
	fuzz_seed(name, &seed);
	sink_destroy(sink);
	tables_free(&tables);
	stream_close(&input);
	output_abandon(&output);
	buffer_free(&spool);
}

static void spool_with_marks(struct buffer *spool) {
	spool_begin(spool, SAMPLE_START);
	sample_facts(spool);
	sample_life(spool);
	sample_marks(spool);
	sample_counts(spool);
	sample_end(spool);
}

void fuzz_seeds(void) {
	struct buffer seed = {0};
	from_spool("own", sample_spool);
	from_spool("own-marks", spool_with_marks);
	sample_trace(&seed);
	fuzz_seed("other", &seed);
}
