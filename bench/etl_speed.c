// etl_speed walk|decompress|decode FILE.etl: the speed of the parts of the ETL reader, from memory,
// on one core. Prints MB/s of records, then events/s.
//   walk        all records of all buffers, in file order
//   decompress  the compressed buffers, ten times
//   decode      every record with all its fields, in time order, without output
#include "base/buffer.h"
#include "base/file.h"
#include "read/etl/etl.h"
#include "read/reader.h"

#include <string.h>
#include <time.h>

// CPU time of this process: other load on the machine is not measured.
static double seconds(void) {
	struct timespec now;
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
	return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

struct counter {
	struct sink sink;
	uint64_t events;
};

static int count(struct sink *sink, const struct event *event) {
	CONTAINER_OF(sink, struct counter, sink)->events += event->kind == EVENT_GENERIC;
	return 0;
}

static int finish(struct sink *sink) {
	return 0;
}

static void destroy(struct sink *sink) {
}

static void report(double bytes, double events, double took) {
	printf("%.0f %.0f\n", bytes / 1e6 / took, events / took);
}

static void walk(struct etl_file *file) {
	struct buffer memory = {0};
	uint64_t bytes = 0, events = 0, lost = 0;
	double begun = seconds();
	for (size_t i = 0; i < file->buffers.count; i++) {
		struct etl_records records;
		struct etl_record record;
		etl_buffer_load(file, &file->buffers.items[i], &memory, &records, &lost);
		while (etl_records_next(&records, &record))
			events++;
		bytes += file->buffers.items[i].size;
	}
	report((double)bytes, (double)events, seconds() - begun);
	buffer_free(&memory);
}

static void decompress(struct etl_file *file) {
	enum { TIMES = 10 };
	struct buffer in = {0}, out = {0};
	uint64_t bytes = 0;
	double took = 0;
	for (size_t i = 0; i < file->buffers.count; i++) {
		const struct etl_buffer *buffer = &file->buffers.items[i];
		if (!(buffer->flags & ETL_FLAG_COMPRESSED))
			continue;
		size_t stored = buffer->stored - ETL_BUFFER_HEADER, size = buffer->size - ETL_BUFFER_HEADER;
		in.size = out.size = 0;
		stream_read_at(file->input, buffer->offset + ETL_BUFFER_HEADER, buffer_room(&in, stored),
			       stored);
		buffer_room(&out, size);
		double begun = seconds();
		for (int k = 0; k < TIMES; k++)
			bytes += etl_decompress(ETL_XPRESS, in.data, stored, out.data, size);
		took += seconds() - begun;
	}
	report((double)bytes, 0, took);
	buffer_free(&in);
	buffer_free(&out);
}

int main(int argc, char **argv) {
	struct input whole;
	struct stream input;
	struct etl_file file;
	if (argc != 3 || input_open(&whole, argv[2]))
		return 1;
	stream_of_memory(&input, whole.data, whole.size);
	input_close(&whole);
	if (strcmp(argv[1], "decode") == 0) {
		struct counter counter = {.sink = {.push = count, .finish = finish, .destroy = destroy}};
		struct read_options options = {.records = true};
		struct tables tables = tables_new();
		double begun = seconds();
		if (etl_reader.read_with(&input, argv[2], &options, &tables, &counter.sink))
			return 1;
		report((double)input.total, (double)counter.events, seconds() - begun);
		return 0;
	}
	if (etl_file_open(&file, &input, argv[2]))
		return 1;
	(strcmp(argv[1], "walk") == 0 ? walk : decompress)(&file);
	return 0;
}
