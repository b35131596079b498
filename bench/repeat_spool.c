// repeat_spool IN OUT BYTES: writes a spool of about BYTES bytes that repeats the
// batches of IN, each time later than before. Prints the number of events.
#include "base/cursor.h"
#include "base/file.h"
#include "format/spool_format.h"

#include <inttypes.h>
#include <stdio.h>

static uint64_t count_records(struct cursor records) {
	uint64_t count = 0;
	while (cursor_left(&records)) {
		struct record head;
		cursor_copy(&records, &head, sizeof(head));
		cursor_take(&records, (size_t)head.size - sizeof(head));
		count += !records.failed;
	}
	return count;
}

// Copies one block, with its times moved by `shift`. Returns the last time seen.
static uint64_t copy_block(struct output *out, struct spool_block block, const uint8_t *content,
			   uint64_t shift, uint64_t *events) {
	uint64_t time = 0;
	struct buffer copy = {0};
	buffer_append(&copy, &block, sizeof(block));
	buffer_append(&copy, content, (block.size + 7) & ~7u);
	if (block.type == SPOOL_BATCH || block.type == SPOOL_WATERMARK) { // both begin with a time
		memcpy(&time, content, sizeof(time));
		time += shift;
		memcpy(copy.data + sizeof(block), &time, sizeof(time));
	}
	if (block.type == SPOOL_BATCH)
		*events += count_records(
			cursor_of(content + sizeof(struct batch), block.size - sizeof(struct batch)));
	output_write(out, copy.data, copy.size);
	buffer_free(&copy);
	return time;
}

int main(int argc, char **argv) {
	struct input in;
	struct output out;
	if (argc != 4 || input_open(&in, argv[1]) || output_open(&out, argv[2], OUTPUT_REPLACE)) {
		fprintf(stderr, "usage: repeat_spool IN OUT BYTES\n");
		return 2;
	}
	uint64_t wanted = strtoull(argv[3], NULL, 10), events = 0, shift = 0, first = 0, last = 0;
	output_write(&out, in.data, sizeof(struct spool_header));
	for (int round = 0; out.written < wanted; round++) {
		struct cursor cursor = cursor_of(in.data, in.size);
		cursor_take(&cursor, sizeof(struct spool_header));
		while (cursor_left(&cursor) && (round == 0 || out.written < wanted)) {
			struct spool_block block;
			cursor_copy(&cursor, &block, sizeof(block));
			const uint8_t *content = cursor_take(&cursor, (block.size + 7) & ~7u);
			bool timed = block.type == SPOOL_BATCH || block.type == SPOOL_WATERMARK;
			if (!content || (!timed && (round > 0 || block.type == SPOOL_LOST)))
				continue;
			uint64_t time = copy_block(&out, block, content, shift, &events);
			first = first || !time ? first : time;
			last = MAX(last, time);
		}
		shift += last - first - shift + 1000000;
	}
	input_close(&in);
	printf("%" PRIu64 "\n", events);
	return output_commit(&out) ? 1 : 0;
}
