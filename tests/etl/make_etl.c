// make_etl FILE [plain|xpress|lznt1|huffman] [32]: writes the hand-made trace; with "waits", one with stacks
// at events; with "kernel" or "clr", only the part that such a session would record; "wall": the latter with
// the system time as its clock; "tables": events of the kernel for tables;
// "activities": those of a provider; "counters": a time line of WindowsPerf.
#include "stacks_sample.h"
#include "tables_sample.h"

#include <stdio.h>

int main(int argc, char **argv) {
	static const char *const names[] = {"plain", "xpress", "lznt1", "huffman"};
	int compression = WRITER_PLAIN;
	struct etl_writer writer;
	for (int i = 0; i < 4; i++)
		if (argc > 2 && strcmp(argv[2], names[i]) == 0)
			compression = i;
	static const struct {
		const char *word;
		unsigned parts;
	} waits[] = {{"waits", WAITS_KERNEL | WAITS_CLR},
		     {"kernel", WAITS_KERNEL},
		     {"clr", WAITS_CLR},
		     {"wall", WAITS_CLR}};
	unsigned parts = 0;
	for (int i = 0; i < 4; i++)
		if (argc > 2 && strcmp(argv[2], waits[i].word) == 0)
			parts = waits[i].parts;
	etl_writer_begin_clock(&writer, compression, argc > 3 ? 4 : 8,
			       argc > 2 && strcmp(argv[2], "wall") == 0);
	if (parts)
		sample_waits(&writer, parts);
	else if (argc > 2 && strcmp(argv[2], "tables") == 0)
		sample_tables(&writer);
	else if (argc > 2 && strcmp(argv[2], "activities") == 0)
		sample_activities(&writer);
	else if (argc > 2 && strcmp(argv[2], "counters") == 0)
		sample_time_line(&writer);
	else
		sample_etl(&writer);
	struct buffer file = etl_writer_end(&writer);
	FILE *out = argc > 1 ? fopen(argv[1], "wb") : NULL;
	int failed = !out || fwrite(file.data, 1, file.size, out) != file.size || fclose(out);
	if (failed)
		perror("make_etl");
	buffer_free(&file);
	return failed;
}
