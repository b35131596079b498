// Which ETL files an input holds: itself, or what is packed in it. A temporary file replaces each packed one,
// because the reader walks through a file more than once.
#include "read/etl/inputs.h"
#include "read/etl/etl.h"

#include <errno.h>
#include <unistd.h>

enum { HEAD = 4096 };

// Looks at the first bytes; consumes nothing.
static size_t look(struct stream *input) {
	const uint8_t *head = stream_need(input, HEAD);
	return head ? HEAD : stream_available(input);
}

static void add(struct etl_inputs *inputs, struct etl_input *input) {
	array_push(&inputs->items, input);
}

int etl_inputs_add_file(struct etl_inputs *inputs, FILE *file, const char *name) {
	struct stream stream = {.fd = fileno(file)};
	lseek(stream.fd, 0, SEEK_SET);
	size_t size = look(&stream);
	if (!size || !etl_file_probe(stream.data + stream.begin, size)) {
		stream.fd = -1; // owned by the file
		stream_close(&stream);
		fclose(file);
		return -EINVAL;
	}
	struct etl_input *input = memory_alloc(sizeof(*input));
	input->file = file;
	input->of_file = stream;
	input->stream = &input->of_file;
	input->name = memory_string(name);
	add(inputs, input);
	return 0;
}

static int add_input(struct etl_inputs *inputs, struct stream *stream, const char *name) {
	size_t size = look(stream);
	const uint8_t *head = stream->data + stream->begin;
	if (size && etl_zip_probe(head, size))
		return etl_unpack_zip(inputs, stream, name);
	if (size && etl_gzip_probe(head, size))
		return etl_unpack_gzip(inputs, stream, name);
	struct etl_input *input = memory_alloc(sizeof(*input));
	input->stream = stream;
	input->name = memory_string(name);
	add(inputs, input);
	return 0;
}

int etl_inputs_open(struct etl_inputs *inputs, struct stream *input, const char *name,
		    const struct read_options *options) {
	int error = add_input(inputs, input, name);
	for (size_t i = 0; !error && i < options->more_count; i++)
		error = add_input(inputs, options->more[i].input, options->more[i].name);
	return error;
}

void etl_inputs_close(struct etl_inputs *inputs) {
	for (size_t i = 0; i < inputs->items.count; i++) {
		struct etl_input *input = inputs->items.items[i];
		if (input->file) {
			input->of_file.fd = -1; // owned by the file
			stream_close(&input->of_file);
			fclose(input->file);
		}
		free(input->name);
		free(input);
	}
	array_free(&inputs->items);
}
