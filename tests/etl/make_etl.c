// make_etl FILE [plain|xpress|lznt1|huffman] [32]: writes the hand-made trace.
#include "etl_sample.h"

#include <stdio.h>

int main(int argc, char **argv) {
	static const char *const names[] = {"plain", "xpress", "lznt1", "huffman"};
	int compression = WRITER_PLAIN;
	struct etl_writer writer;
	for (int i = 0; i < 4; i++)
		if (argc > 2 && strcmp(argv[2], names[i]) == 0)
			compression = i;
	etl_writer_begin(&writer, compression, argc > 3 ? 4 : 8);
	sample_etl(&writer);
	struct buffer file = etl_writer_end(&writer);
	FILE *out = argc > 1 ? fopen(argv[1], "wb") : NULL;
	int failed = !out || fwrite(file.data, 1, file.size, out) != file.size || fclose(out);
	if (failed)
		perror("make_etl");
	buffer_free(&file);
	return failed;
}
