// damage FILE…: reads each file truncated at 4 KB boundaries and with single bits
// flipped: the reader must not crash, hang or use excessive memory, and must
// report how the file ended. Cuts and flips are random but the same in every run.
// The numbers come from the environment: DAMAGE_CUTS (all boundaries if 0) and
// DAMAGE_FLIPS.
#include "base/file.h"
#include "base/log.h"
#include "read/reader.h"

#include <inttypes.h>
#include <stdio.h>
#include <sys/resource.h>

static int count_event(struct sink *sink, const struct event *event) {
	return 0;
}

static int finish(struct sink *sink) {
	return 0;
}

static void destroy(struct sink *sink) {
}

static void read_bytes(const uint8_t *bytes, size_t size) {
	struct sink sink = {.push = count_event, .finish = finish, .destroy = destroy};
	struct read_options options = {.json = true};
	struct stream input;
	struct buffer out = {0};
	stream_of_memory(&input, bytes, size);
	etl_reader.describe(&input, "damaged", &options, &out);
	buffer_free(&out);
	stream_close(&input);
	struct tables tables = tables_new();
	stream_of_memory(&input, bytes, size);
	etl_reader.read_with(&input, "damaged", &options, &tables, &sink);
	stream_close(&input);
	tables_free(&tables);
}

static uint64_t next_random(uint64_t *seed) {
	*seed = *seed * 6364136223846793005u + 1442695040888963407u;
	return *seed >> 20;
}

static unsigned number_from(const char *name, unsigned otherwise) {
	const char *text = getenv(name);
	return text ? (unsigned)atoi(text) : otherwise;
}

int main(int argc, char **argv) {
	unsigned cuts = number_from("DAMAGE_CUTS", 5), flips = number_from("DAMAGE_FLIPS", 20);
	if (!freopen("/dev/null", "w", stderr)) // the reader's messages about damage are not tested here
		return 1;
	for (int i = 1; i < argc; i++) {
		struct input file;
		if (input_open(&file, argv[i]))
			return 1;
		uint64_t seed = file.size;
		size_t boundaries = file.size / 4096 + 1;
		for (size_t cut = 0; cut < (cuts ? cuts : boundaries); cut++)
			read_bytes(file.data,
				   MIN(4096 * (cuts ? next_random(&seed) % boundaries : cut), file.size));
		uint8_t *copy = memory_alloc(file.size + 1);
		memcpy(copy, file.data, file.size);
		for (unsigned flip = 0; flip < flips; flip++) {
			size_t at = next_random(&seed) % file.size;
			uint8_t bit = (uint8_t)(1u << next_random(&seed) % 8);
			copy[at] ^= bit;
			read_bytes(copy, file.size);
			copy[at] ^= bit;
		}
		free(copy);
		input_close(&file);
	}
	struct rusage usage;
	getrusage(RUSAGE_SELF, &usage);
	printf("%d files, largest memory %ld MB\n", argc - 1, usage.ru_maxrss / 1024);
#ifdef __SANITIZE_ADDRESS__
	return 0; // the sanitizer keeps freed memory
#else
	return usage.ru_maxrss > 600 * 1024 ? 2 : 0;
#endif
}
