// make_samples FILE IMAGE PDB GUID AGE TIME SIZE: writes a trace with a process that has loaded an image, and
// a sample at each address on standard input: hexadecimal, relative to the image's start. GUID "-" leaves out
// which PDB file belongs to the image. Samples of one line, separated by blanks, are a stack, innermost
// first.
#include "etl_sample.h"

#include <inttypes.h>
#include <stdio.h>

static void write_image(struct etl_writer *writer, char **argv) {
	struct buffer p = {0};
	put64(&p, SAMPLE_APP_BASE);
	put64(&p, strtoull(argv[7], NULL, 0));
	put32(&p, APP);
	put32(&p, 0); // checksum
	put32(&p, (uint32_t)strtoull(argv[6], NULL, 0));
	put32(&p, 0);
	put64(&p, SAMPLE_APP_BASE);
	put_zeros(&p, 16);
	put_utf16(&p, argv[2]);
	etl_system(writer, 0x14, 3, 2, 100, 4, 2, &p);
	if (strcmp(argv[4], "-") != 0) {
		put64(&p, SAMPLE_APP_BASE);
		put32(&p, APP);
		put_guid(&p, argv[4]);
		put32(&p, (uint32_t)atoi(argv[5]));
		buffer_append(&p, argv[3], strlen(argv[3]) + 1);
		etl_full(writer, false, "b3e675d7-2554-4f18-830b-2762732560de", 36, 2, APP_MAIN, APP, 3, &p);
	}
	buffer_free(&p);
}

static void write_samples(struct etl_writer *writer) {
	enum { MOST = 64 };
	char line[4096];
	for (uint64_t time = 100; fgets(line, sizeof(line), stdin); time += 10) {
		uint64_t addresses[MOST];
		size_t count = 0;
		for (char *at = line, *end; count < MOST; at = end) {
			addresses[count] = SAMPLE_APP_BASE + strtoull(at, &end, 16);
			if (end == at)
				break;
			count++;
		}
		if (!count)
			continue;
		sample_sample(writer, addresses[0], APP_MAIN, 0, time);
		sample_stack(writer, 32, time, APP, APP_MAIN, addresses, count, time + 1);
	}
}

int main(int argc, char **argv) {
	struct etl_writer writer;
	if (argc != 8)
		return 2;
	etl_writer_begin(&writer, WRITER_PLAIN, 8);
	etl_writer_cpu(&writer, 0, 1);
	sample_process(&writer, 3, 100, APP, 4, 0, "app.exe", "app.exe", 1);
	sample_thread(&writer, 3, 100, 4, APP, APP_MAIN, NULL, 1);
	write_image(&writer, argv);
	write_samples(&writer);
	struct buffer file = etl_writer_end(&writer);
	FILE *out = fopen(argv[1], "wb");
	int failed = !out || fwrite(file.data, 1, file.size, out) != file.size || fclose(out);
	buffer_free(&file);
	return failed;
}
