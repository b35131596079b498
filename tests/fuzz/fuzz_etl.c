#include "fuzz.h"

#include "../etl/etl_sample.h"
#include "base/log.h"
#include "read/reader.h"

enum { LARGEST = 16384 }; // larger inputs only take longer

static int push(struct sink *sink, const struct event *event) {
	// The fields must be valid during the push.
	for (uint32_t i = 0; event->kind == EVENT_GENERIC && i < event->generic.field_count; i++) {
		const struct event_field *field = &event->generic.fields[i];
		if (field->type == FIELD_TEXT && field->size &&
		    field->text[0] + field->text[field->size - 1] == 1000)
			abort();
	}
	return 0;
}

static int finish(struct sink *sink) {
	return 0;
}

static void destroy(struct sink *sink) {
}

// The last byte says how to read the file: real files are seeds too, and must begin as they are.
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size) {
	struct stream input;
	log_set_level(LOG_QUIET);
	if (!size || size > LARGEST)
		return 0;
	uint8_t mode = bytes[--size];
	stream_of_memory(&input, bytes, size);
	if (mode % 3 == 0) {
		struct read_options options = {.json = mode & 4};
		struct buffer out = {0};
		etl_reader.describe(&input, "fuzz", &options, &out);
		buffer_free(&out);
	} else {
		struct read_options options = {.records = mode % 3 == 1, .images = true};
		struct sink sink = {.push = push, .finish = finish, .destroy = destroy};
		struct tables tables = tables_new();
		etl_reader.read_with(&input, "fuzz", &options, &tables, &sink);
		tables_free(&tables);
	}
	stream_close(&input);
	return 0;
}

// ---- seeds: a few events each, because the time grows with the events ----

static void tasks(struct etl_writer *writer) {
	sample_process(writer, 3, 100, APP, 4, 259, "app.exe", "app.exe --go", 1010);
	sample_thread(writer, 3, 100, 4, APP, APP_MAIN, "main loop", 1011);
	sample_switch(writer, 0, APP_MAIN, 1, 0, 1800);
	sample_ready(writer, APP_MAIN, 1900);
	sample_process(writer, 2, APP_MAIN, APP, 4, 3, "app.exe", "app.exe", 2395);
}

static void samples(struct etl_writer *writer) {
	const uint64_t user[] = {SAMPLE_APP_BASE + 0x500, SAMPLE_APP_BASE + 0x900};
	sample_image(writer, APP, SAMPLE_APP_BASE, "\\Device\\HarddiskVolume1\\app.exe", 1014);
	sample_image_id(writer, APP, SAMPLE_APP_BASE, 1014);
	sample_sample(writer, SAMPLE_APP_BASE + 0x500, APP_WORKER, 0, 3100);
	sample_stack(writer, 38, 3100, APP, APP_WORKER, (const uint64_t[]){SAMPLE_KEY}, 1, 3110);
	sample_definition(writer, SAMPLE_KEY, user, 2, 3500);
}

static void kernel_events(struct etl_writer *writer) {
	sample_interrupt(writer, 67, 1590, 1600);
	sample_disk(writer, 300, 2600);
	sample_fault(writer, 11, 2610);
	sample_alloc(writer, 98, 2620);
	sample_pmu(writer, 3, 1000, 2630);
}

static void providers(struct etl_writer *writer) {
	sample_method(writer, 0x20000, "Hand.Made", "Run", 1020);
	sample_tracelogging(writer, 2520);
	sample_eventsource(writer, 2530);
}

static void kinds(struct etl_writer *writer) {
	sample_kinds(writer, 2540);
}

// A file with compressed buffers may contain others, too, and needs no padding.
static void write_seed(int compression, void (*events)(struct etl_writer *), unsigned group, unsigned mode) {
	static const char *const names[] = {"plain", "xpress", "lznt1", "huffman"};
	struct etl_writer writer;
	etl_writer_begin(&writer, WRITER_XPRESS, mode == 1 ? 4 : 8);
	writer.compression = compression;
	writer.buffer_size = 1536;
	events(&writer);
	struct buffer file = etl_writer_end(&writer), seed = {0};
	CLEANUP_FREE char *name = memory_format("%s-%u-%u", names[compression], group, mode);
	buffer_append(&seed, file.data, file.size);
	buffer_append(&seed, (uint8_t[]){(uint8_t)mode}, 1);
	buffer_free(&file);
	fuzz_seed(name, &seed);
}

void fuzz_seeds(void) {
	static void (*const groups[])(struct etl_writer *) = {tasks, samples, kernel_events, providers,
							      kinds};
	for (unsigned mode = 0; mode < 3; mode++)
		for (unsigned group = 0; group < ARRAY_SIZE(groups); group++) {
			write_seed(WRITER_PLAIN, groups[group], group, mode);
			if (mode != group % 3)
				continue;
			write_seed(WRITER_XPRESS, groups[group], group, mode);
			write_seed(WRITER_LZNT1, groups[group], group, mode);
		}
	write_seed(WRITER_HUFFMAN, tasks, 0, 1); // only one: it takes three times as long
}
