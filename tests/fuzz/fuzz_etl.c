#include "fuzz.h"

#include "../etl/etl_sample.h"
#include "base/log.h"
#include "read/reader.h"

enum { LARGEST = 150000 }; // what is larger only takes longer

static int push(struct sink *sink, const struct event *event) {
	// The fields must be there as long as the push.
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

// The last byte says how it is read: real files are seeds too, and begin with themselves.
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

void fuzz_seeds(void) {
	static const char *const names[] = {"plain", "xpress", "lznt1", "huffman"};
	for (int compression = WRITER_PLAIN; compression <= WRITER_HUFFMAN; compression++) {
		for (int mode = 0; mode < 3; mode++) {
			struct etl_writer writer;
			etl_writer_begin(&writer, compression, mode == 1 ? 4 : 8);
			sample_etl(&writer);
			struct buffer file = etl_writer_end(&writer), seed = {0};
			char name[24] = "";
			strcat(strcpy(name, names[compression]), mode == 0 ? "-0" : mode == 1 ? "-1" : "-2");
			buffer_append(&seed, file.data, file.size);
			buffer_append(&seed, (uint8_t[]){(uint8_t)mode}, 1);
			buffer_free(&file);
			fuzz_seed(name, &seed);
		}
	}
}
