// Turns folded stacks into a flame graph.
#include "fuzz.h"

#include "base/log.h"
#include "read/reader.h"
#include "write/flame/flame.h"

#include <fcntl.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size) {
	struct stream input;
	struct tables tables = tables_new();
	static int nowhere = -1;
	if (nowhere < 0)
		nowhere = open("/dev/null", O_WRONLY);
	struct output output = {.fd = dup(nowhere)};
	stream_of_memory(&input, bytes, size);
	struct sink *sink = flame_open(&output, &tables, &flame_defaults);
	if (!folded_reader.read(&input, "fuzz", &tables, sink))
		sink_finish(sink);
	sink_destroy(sink);
	tables_free(&tables);
	stream_close(&input);
	output_abandon(&output);
	return 0;
}

void fuzz_seeds(void) {
	static const char *const texts[] = {"a;b;c_[k] 10\na;b;d 20\na;b 3.5\n", "a;b 1 2\na;c 3 4\n",
					    "# x\n;;; 1\nx\n"};
	for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
		struct buffer seed = {0};
		char name[] = "text-0";
		name[5] = (char)('0' + i);
		buffer_append(&seed, texts[i], strlen(texts[i]));
		fuzz_seed(name, &seed);
	}
}
